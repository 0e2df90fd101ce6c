// SPDX-License-Identifier: Apache-2.0
// Tests the emitted C: it compiles without a warning as a file of its own, computes the same bits
// as the interpreter, and is well formatted.
#include "mote/codegen/emit_c.h"

#include <gtest/gtest.h>

#include <array>
#include <map>

#include "c_library.h"
#include "compiled_c.h"
#include "mote/base/error.h"
#include "mote/codegen/passes.h"
#include "mote/codegen/schedule.h"
#include "mote/macroops/catalogue.h"
#include "trial.h"

namespace mote {
namespace {

using namespace test;

/// The programs by name; T stands for the dtype.
const std::map<std::string, std::string>& programs() {
  static const std::map<std::string, std::string> all = {
      {"matmul", R"(op matmul
input a T[M, K]; input b T[K, N]
output y = sum[2](a[i0, i2 over M, N, K] * b[i2, i1 over M, N, K])
)"},
      {"pool", R"(op pool "y[i] = max_k x[i*s + k - p]"
param s int = 1 in 1..3
param p int = 0 in 0..2
input x T[H]
size OH = (H + 2*$p - 3)/$s + 1
output y = max[1](x[i0*$s + i1 - $p over OH, 3 else 0])
)"},
      {"broadcast", R"(op broadcast
input a T[1|A, 1|B]
input b T[1|A, 1|B]
output y = where(a < b, a*2, b - a)
output z = max(a, b)
)"},
      {"scores", R"(op scores
input x T[R, C]
e = x - max[1 keep](x)
output y = e*e - sum[1 keep](e*e)
output at = argmax[1](where(iota(i1 over R, C) < iota(i0 over R, C) + 1, x, 0))
)"},
      {"picked", R"(op picked
input x T[R, C]
input n i32[R, 2]
output y = select[1](x, i64(n) else 3)
output all_of = all[1](x >= 0)
output negated = -x[R - 1 - i0, C - 1 - i1 over R, C]
)"},
      {"itself", R"(op itself
input x T[N]; input b bool[N]
output less = x < x
output same = x == x
output other = x != x || logical_xor(b, b)
positive = x > 0
output never = logical_xor(positive, positive)
output y = where(b == b && (x < 1) == (x < 2), x, x + x)
)"},
      {"split", R"(op split
param g int = 2 in 1..3
input x T[$g*C, N]
output y = x[i0/C*C + (C - 1 - i0%C), i1 over $g*C, N] + x[i0/2, i1/3 over $g*C, N]
)"},
      {"scalar", R"(op scalar
input x T[N]; input s T[]
output y = sum[0](x) * s
output z = x * sum[0](x*x) - s[over N]
)"}};
  return all;
}

std::shared_ptr<const Program> parsed(std::string text, const std::string& dtype) {
  for (std::size_t at = text.find("T["); at != std::string::npos; at = text.find("T[", at + 1))
    text.replace(at, 1, dtype);
  return std::make_shared<const Program>(parse_program(text));
}

const std::vector<std::string> kDTypes = {"f32", "f64", "i32", "i64"};

/// Returns the loops of every program for every dtype, after the passes and the plainest ones.
std::vector<LoopProgram> all_loops() {
  std::vector<LoopProgram> all;
  for (const auto& [name, text] : programs())
    for (const std::string& dtype : kDTypes) {
      all.push_back(compile(parsed(text, dtype)));
      all.push_back(lower_per_uop(parsed(text, dtype)));
    }
  return all;
}

bool identical_arrays(const Array& a, const Array& b) {
  if (a.dtype != b.dtype || a.shape != b.shape || a.values.size() != b.values.size()) return false;
  for (std::size_t k = 0; k < a.values.size(); ++k)
    if (!identical(a.values[k], b.values[k])) return false;
  return true;
}

/// Expects that the C and the interpreter agree bit for bit on trials of every kind.
void expect_right_c(const std::vector<LoopProgram>& all, int trials) {
  CBatch batch;
  for (const LoopProgram& p : all) batch.add(p);
  batch.compile();
  for (std::size_t k = 0; k < all.size(); ++k) {
    const Program& source = *all[k].source;
    for (const Trial& t : make_trials(source, 17 * k + 1, trials)) {
      const std::vector<Array> inputs = make_inputs(source, t);
      std::vector<Array> expected;
      try {
        expected = interpret(all[k], inputs, t.params);
      } catch (const Error&) {
        continue;  // these sizes are not legal: for example, an argmax of no elements
      }
      const std::vector<Array> got = batch.run(static_cast<int>(k), source, inputs, t);
      ASSERT_EQ(got.size(), expected.size());
      for (std::size_t o = 0; o < got.size(); ++o)
        EXPECT_TRUE(identical_arrays(got[o], expected[o]))
            << source.outputs[o].name << " of\n"
            << to_string(source) << to_string(t) << "\n"
            << emit_c(all[k], {});
    }
  }
}

TEST(EmitC, StandaloneFilesCompileWithoutWarnings) {
  std::vector<std::string> texts;
  for (const LoopProgram& p : all_loops()) {
    EmitOptions options;
    options.standalone = true;
    texts.push_back(emit_c(p, options));
  }
  EXPECT_EQ(strict_complaints("cc", texts), "");
  if (has_compiler("clang")) {
    EXPECT_EQ(strict_complaints("clang", texts), "");
  }
}

TEST(EmitC, EqualsTheInterpreterBitForBit) { expect_right_c(all_loops(), 12); }

TEST(EmitC, NamesThatCollideWithHelpersAreRenamed) {
  const LoopProgram expf =
      compile(parsed("op expf\ninput fabsf T[I]\noutput y = exp(abs(fabsf))\n", "f32"));
  const LoopProgram add = compile(parsed("op add\ninput x T[I]\noutput y = x + x\n", "i64"));
  EXPECT_EQ(strict_complaints("cc", {emit_c(schedule(expf), {.function = "", .standalone = true}),
                                     emit_c(expf, {.function = "", .standalone = true}),
                                     emit_c(add, {.function = "", .standalone = true})}),
            "");
}

TEST(EmitC, NamesThatCollideWithCAreRenamed) {
  const std::string text = R"(op collisions
param signbit int = 1 in 1..2
param double real = 2
input fabs T[I, long]
input malloc T[I, long]
input sfabs T[I, long]
size isnan = I*$signbit + 1
m = max[1 keep](fabs)
output j1 = abs(exp(fabs - m)) * $double + malloc + sfabs
output y0 = malloc[i0 - 1, i1 over isnan, long else 1]
)";
  std::vector<LoopProgram> all;
  std::vector<std::string> texts;
  for (const std::string dtype : {"f32", "f64"}) {
    all.push_back(compile(parsed(text, dtype)));
    texts.push_back(emit_c(all.back(), {.function = "mote_collisions", .standalone = true}));
  }
  EXPECT_EQ(strict_complaints("cc", texts), "");
  EXPECT_EQ(
      emit_c_prototype(all[0], {.function = "f"}),
      "int f(const float *fabs_, const int64_t sfabs_[2],\n"
      "      const float *malloc_, const int64_t smalloc_[2],\n"
      "      const float *sfabs, const int64_t ssfabs[2], float *j1_, const int64_t sj1_[2],\n"
      "      float *y0_, const int64_t sy0_[2], int64_t I_, int64_t long_, int64_t signbit_,\n"
      "      double double_);\n");
  expect_right_c(all, 6);
}

TEST(EmitC, LoopVariablesThatCollideWithCAreRenamed) {
  const auto p = parsed("op v\ninput x T[exp: N, log: M]\noutput y = tanh(x)\n", "f64");
  const std::string text = emit_c(compile(p), {});
  EXPECT_NE(text.find("for (int64_t exp_ = 0; exp_ < N; exp_++)"), std::string::npos) << text;
  EXPECT_NE(text.find("tanh(x[exp_ * sx[0] + log_ * sx[1]])"), std::string::npos) << text;
}

TEST(EmitC, StandaloneFunctionRunsOnAnyStrides) {
  const LoopProgram p = compile(parsed(programs().at("matmul"), "f32"));
  const std::string prototype = emit_c_prototype(p, {.function = "product"});
  EXPECT_EQ(
      prototype,
      "int product(const float *a, const int64_t sa[2], const float *b, const int64_t sb[2],\n"
      "            float *y, const int64_t sy[2], int64_t M, int64_t K, int64_t N);\n");
  const CLibrary library(emit_c(p, {.function = "product", .standalone = true}) + prototype);
  using Strides = std::array<std::int64_t, 2>;
  auto* product =
      library.function<int(const float*, const std::int64_t*, const float*, const std::int64_t*,
                           float*, const std::int64_t*, std::int64_t, std::int64_t, std::int64_t)>(
          "product");
  const std::array<float, 6> a = {1, 2, 3, 4, 5, 6};
  const std::array<float, 6> b = {1, -1, 2, 0.5F, 3, 4};
  std::array<float, 8> y{};
  const Strides sa = {1, 2};   // a is stored by columns
  const Strides sb = {0, 1};   // the row of b repeats
  const Strides sy = {-4, 2};  // y upside down, with gaps
  ASSERT_EQ(product(a.data(), sa.data(), b.data(), sb.data(), y.data() + 4, sy.data(), 2, 3, 2), 0);
  EXPECT_EQ(y, (std::array<float, 8>{12, 0, -12, 0, 9, 0, -9, 0}));
}

TEST(EmitC, ReturnsMinusOneWhenMemoryRanOut) {
  const auto p = parsed(
      "op outer\ninput a T[N]\ninput b T[M]\n"
      "t = a[i0 over N, M] * b[i1 over N, M]\noutput y = sum[0, 1](t + t)\n",
      "f64");
  const LoopProgram loops = lower_per_uop(p);
  ASSERT_GT(count(loops).temporaries, 0);
  const CLibrary library(emit_c(loops, {.function = "outer", .standalone = true}));
  auto* outer =
      library.function<int(const double*, const std::int64_t*, const double*, const std::int64_t*,
                           double*, std::int64_t, std::int64_t)>("outer");
  const double one = 1;
  const std::int64_t stride = 0;
  double y = 7;
  for (const std::int64_t n : {std::int64_t{1} << 31U, std::int64_t{1} << 40U, INT64_MAX}) {
    EXPECT_EQ(outer(&one, &stride, &one, &stride, &y, n, n), -1);
    EXPECT_EQ(y, 7);
  }
  EXPECT_EQ(outer(&one, &stride, &one, &stride, &y, 3, 4), 0);
  EXPECT_EQ(y, 24);
  EXPECT_EQ(outer(&one, &stride, &one, &stride, &y, 3, 0), 0);
  EXPECT_EQ(y, 0);
}

/// A compiler knows which elements of x a constant condition leaves out, and gcc 12 reads them all.
TEST(EmitC, RunsNoLoopInVectorsWhoseConditionsAreConstant) {
  const auto has_vectors = [](const char* columns) {
    const Program p = parse_program(std::string("op rows\ninput x f32[N, ") + columns +
                                    "]\noutput y = x[i0, i1 over N, 4 else 0]\n");
    const Schedule s = schedule(compile(std::make_shared<const Program>(p)));
    EXPECT_EQ(to_string(steps_of(s.versions.front())), "simd j, threads n");
    return emit_c(s, {}).find("omp simd") != std::string::npos;
  };
  EXPECT_FALSE(has_vectors("3"));
  EXPECT_TRUE(has_vectors("K"));
  EXPECT_TRUE(has_vectors("4"));
}

TEST(EmitC, StandaloneHasOnlyTheHelpersThatItCalls) {
  const auto helpers = [](const std::string& name, const std::string& dtype) {
    const std::string text =
        emit_c(compile(parsed(programs().at(name), dtype)), {.function = "f", .standalone = true});
    std::vector<std::string> found;
    for (std::size_t at = text.find("static inline"); at != std::string::npos;
         at = text.find("static inline", at + 1)) {
      const std::size_t name_at = text.find("mote_", at);
      found.push_back(text.substr(name_at, text.find('(', name_at) - name_at));
    }
    return found;
  };
  EXPECT_EQ(helpers("matmul", "f32"), std::vector<std::string>{});
  EXPECT_EQ(helpers("matmul", "i64"), (std::vector<std::string>{"mote_add", "mote_mul"}));
  EXPECT_EQ(helpers("broadcast", "f64"), (std::vector<std::string>{"mote_max"}));
}

TEST(EmitC, DerivedSizesAreBoundToTheirNames) {
  const std::string text = emit_c(compile(parsed(programs().at("pool"), "f32")), {});
  EXPECT_NE(text.find("  const int64_t OH = mote_floor_div(H + 2 * p - 3, s) + 1;\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("< OH; "), std::string::npos) << text;
}

TEST(EmitC, PlainDivisionOnlyWhereNothingIsNegative) {
  const auto text = [](const std::string& index) {
    return emit_c(
        compile(parsed("op d\ninput x T[N]\noutput y = x[" + index + " over M: N]\n", "f32")), {});
  };
  EXPECT_NE(text("i0/2").find("x[(M / 2) * sx[0]]"), std::string::npos) << text("i0/2");
  EXPECT_NE(text("N - 1 + (-i0)/2").find("mote_floor_div("), std::string::npos);
  EXPECT_NE(text("i0 % 3").find("M % 3"), std::string::npos) << text("i0 % 3");
}

/// A dilation is 1 in most calls, and the limits of a window change with each position.
TEST(EmitC, GenDividesMovingLimitsByAParameterOnlyWhereItIsNotOne) {
  const OpRecord& op = find_op("max_pool2d");
  const auto p = instantiate(op, {DType::f32, full_mask(op)});
  const std::string gen = emit_c(schedule(compile(p)), {.function = "f", .standalone = true});
  EXPECT_NE(gen.find("static MOTE_COLD int64_t mote_rare_div("), std::string::npos) << gen;
  EXPECT_NE(gen.find("mote_param_div(H + pads0 - oh * stride0 - 1, dilation0)"), std::string::npos)
      << gen;
  EXPECT_EQ(strict_complaints("cc", {gen}), "");
  const std::string reference = emit_c(compile(p), {.function = "f", .standalone = true});
  EXPECT_EQ(reference.find("mote_param_div("), std::string::npos) << reference;
}

TEST(EmitC, SumsOfFloatsAreComputedInDouble) {
  const std::string text = emit_c(compile(parsed(programs().at("matmul"), "f32")), {});
  EXPECT_NE(text.find("sum += (double)a[m * sa[0] + k * sa[1]] * b[k * sb[0] + n * sb[1]];"),
            std::string::npos)
      << text;
}

TEST(EmitC, AnEquationCannotEndTheComment) {
  auto p = parsed(programs().at("matmul"), "f32");
  Program evil = *p;
  evil.equation = "y = a */ int x; /* b";
  const LoopProgram loops = compile(std::make_shared<const Program>(evil));
  EXPECT_EQ(strict_complaints("cc", {emit_c(loops, {.function = "f", .standalone = true})}), "");
}

TEST(EmitC, LinesAreAtMostAHundredColumns) {
  for (const LoopProgram& p : all_loops()) {
    const std::string text = emit_c(p, {.function = "mote_kernel", .standalone = true});
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = text.find('\n', at);
      EXPECT_LE(end - at, 101U) << text.substr(at, end - at);
      at = end + 1;
    }
  }
}

}  // namespace
}  // namespace mote
