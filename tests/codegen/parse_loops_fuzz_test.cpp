// SPDX-License-Identifier: Apache-2.0
// Tests that no text harms the parser of loop programs: printed programs are changed at random, and
// only Error with line and column may come of them. What verify() accepts prints as text that reads
// back as the same program. MOTE_LOOP_TEXTS sets the number of texts, MOTE_SEED the seed.
#include <gtest/gtest.h>

#include <array>
#include <random>
#include <string>
#include <vector>

#include "mote/base/error.h"
#include "mote/codegen/emit_cuda.h"
#include "mote/codegen/parse_loops.h"
#include "mote/codegen/passes.h"
#include "mote/codegen/schedule.h"
#include "support/random_run.h"

namespace mote {
namespace {

constexpr std::array kPrograms = {
    "op softmax\ninput x f32[N, C]\ne = exp(x - max[1 keep](x))\noutput y = e / sum[1 keep](e)\n",
    "op matmul\nparam alpha real = 1\ninput a f32[M, K]\ninput b f32[K, N]\n"
    "output c = $alpha * sum[2](a[i0, i2 over M, N, K] * b[i2, i1 over M, N, K])\n",
    "op conv\nparam s int = 1 in 1..\ninput x f32[H]\ninput w f32[K]\nsize OH = (H - K)/$s + 1\n"
    "output y = sum[1](x[i0*$s + i1 - 1 over OH, K] * w[i1 over OH, K])\n",
    "op take\ninput x f64[N, C]\ninput i i32[T]\n"
    "output y = select[0](x, i64(i)[i0 over T, C] else 0)\n",
    "op best\ninput x f16[N, C]\noutput y = argmax[1](x)\noutput z = any[1](x > 0)\n",
    "op place\ninput x i32[N]\noutput y = x * i32(iota(i0*i0 over N)) - 7\n",
};

struct Original {
  std::shared_ptr<const Program> source;
  std::string text;
};

/// Returns the text of programs at several stages.
std::vector<Original> originals() {
  std::vector<Original> all;
  for (const char* text : kPrograms) {
    std::shared_ptr<const Program> source;
    try {
      source = std::make_shared<const Program>(parse_program(text));
    } catch (const Error& e) {
      ADD_FAILURE() << e.what() << " in\n" << text;
      continue;
    }
    all.push_back({source, to_string(lower_per_uop(source))});
    const LoopProgram loops = compile(source);
    all.push_back({source, to_string(loops)});
    for (const Version& v : schedule(loops).versions) all.push_back({source, to_string(v.program)});
    const CudaProgram cuda = cuda_program(loops, CudaVariant::gen);
    for (const CudaKernel* k : all_kernels(cuda))
      all.push_back({k->loops().source, to_string(k->loops())});
  }
  return all;
}

class Changes {
 public:
  explicit Changes(std::uint64_t seed) : random_(seed) {}

  std::size_t below(std::size_t end) { return end == 0 ? 0 : random_() % end; }

  std::string change(std::string text, const std::vector<Original>& all) {
    for (std::size_t count = 1 + below(3); count > 0; --count) one(text, all);
    return text;
  }

 private:
  void one(std::string& text, const std::vector<Original>& all) {
    static const std::vector<std::string> kPieces = {"(",
                                                     ")",
                                                     "[",
                                                     "]",
                                                     "{",
                                                     "}",
                                                     "\n",
                                                     ", ",
                                                     "..",
                                                     " + ",
                                                     "-",
                                                     "*",
                                                     "/0",
                                                     "%",
                                                     "%0",
                                                     " == ",
                                                     " && ",
                                                     " ? 1 : 0)",
                                                     "f32(",
                                                     "index(",
                                                     "min(",
                                                     "$",
                                                     "$?y",
                                                     "for ",
                                                     "if ",
                                                     "simd for i in ",
                                                     " with t = sum",
                                                     " of i8",
                                                     " at ",
                                                     "barrier\n",
                                                     "wait until at most 1 copies are under way\n",
                                                     "9223372036854775807",
                                                     "-9223372036854775808",
                                                     "99999999999999999999",
                                                     "1e308",
                                                     "1e-400",
                                                     "nan",
                                                     "-inf",
                                                     "where",
                                                     "native\n",
                                                     "part of a program\n",
                                                     "temporary q f32[2]\n",
                                                     "#",
                                                     "\"",
                                                     "x",
                                                     "N",
                                                     "t",
                                                     "\0\xff\n",
                                                     " step 0",
                                                     "-0",
                                                     "exp(",
                                                     "0..5"};
    const std::size_t at = below(text.size() + 1);
    const std::size_t size = below(12);
    switch (below(8)) {
      case 0:
        if (at < text.size()) text[at] = static_cast<char>(below(256));
        return;
      case 1:
        return void(text.erase(at, size));
      case 2:
        return text.resize(at);
      case 3:
        return void(text.insert(at, text.substr(below(text.size() + 1), 4 * size)));
      case 4: {
        const std::string& other = all[below(all.size())].text;
        return void(text.insert(at, other.substr(below(other.size() + 1), 8 * size)));
      }
      default:
        return void(text.insert(at, kPieces[below(kPieces.size())]));
    }
  }

  std::mt19937_64 random_;
};

/// Reads the text; returns whether verify() accepts what it says.
bool check(const std::string& text, const std::shared_ptr<const Program>& source) {
  LoopProgram p;
  try {
    p = parse_loops(text, source);
  } catch (const Error& e) {
    const std::string what = e.what();
    EXPECT_TRUE(what.starts_with("loops: line ")) << what;
    EXPECT_EQ(what.find('\n'), std::string::npos) << what;
    return false;
  }
  const std::string printed = to_string(p);
  try {
    verify(p);
  } catch (const std::exception&) {
    return false;
  }
  const LoopProgram again = parse_loops(printed, source);
  EXPECT_EQ(to_string(again), printed);
  EXPECT_TRUE(equal(again, p)) << printed;
  return true;
}

TEST(ParseLoopsFuzz, ChangedTextsAreRefusedOrReadBack) {
  const std::vector<Original> all = originals();
  for (const Original& one : all) EXPECT_TRUE(check(one.text, one.source)) << one.text;
  const std::string wanted = test::environment("MOTE_LOOP_TEXTS");
  const int count = wanted.empty() ? 20000 : std::stoi(wanted);
  const std::uint64_t seed = test::first_seed();
  Changes changes(seed);
  int legal = 0;
  for (int k = 0; k < count && !testing::Test::HasFailure(); ++k) {
    const Original& one = all[changes.below(all.size())];
    const std::string text = changes.change(one.text, all);
    SCOPED_TRACE("MOTE_SEED=" + std::to_string(seed));
    try {
      legal += check(text, one.source) ? 1 : 0;
    } catch (const std::exception& e) {
      ADD_FAILURE() << e.what() << " in\n" << text;
    }
  }
  EXPECT_GT(legal, count / 100);  // some changes are harmless: the test reaches what lies behind
}

std::string error_of(const std::string& value) {
  const auto source = std::make_shared<const Program>(parse_program(kPrograms[0]));
  try {
    parse_loops("softmax(x f32[N, C]) -> (y f32[N, C])\n" + value, source);
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

std::string repeated(const std::string& piece, int count) {
  std::string out;
  for (int k = 0; k < count; ++k) out += piece;
  return out;
}

TEST(ParseLoopsFuzz, NestsOnlyAsDeepAsItCanRead) {
  constexpr int kDeep = 100000;
  for (const std::string& opening : {"t = " + repeated("(", kDeep), "t = " + repeated("-", kDeep),
                                     "t = " + repeated("exp(", kDeep), "y[" + repeated("x[", kDeep),
                                     "t = " + repeated("(N < 1 ? ", kDeep)})
    EXPECT_NE(error_of(opening).find("nested deeper than "), std::string::npos)
        << opening.substr(0, 20);
  EXPECT_NE(error_of("t = x[0, 0]" + repeated(" + x[0, 0]", kDeep)).find("nested deeper than "),
            std::string::npos);
  EXPECT_NE(error_of(repeated("if N >= 1 {\n", kDeep)).find("inside each other"),
            std::string::npos);
  EXPECT_EQ(error_of("for i in 0..N" + repeated(" + 1", kDeep) + " {\n}"), "");
  EXPECT_NE(error_of("for i in 0..(N + C)" + repeated("*(N + C)", kDeep) + " {\n}"), "");
}

}  // namespace
}  // namespace mote
