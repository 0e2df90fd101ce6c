// SPDX-License-Identifier: Apache-2.0
// Tests `mote emit` from outside: C that compiles, of ops, files, steps and loops.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <iterator>
#include <string>

#include "mote/macroops/catalogue.h"
#include "tool_run.h"

namespace mote {
namespace {

using test::bad;
using test::expect_compiles;
using test::expect_has;
using test::good;
using test::kRelu6;
using test::shell;

namespace fs = std::filesystem;

using Folder = test::TemporaryFolder;

TEST(Emit, PrintsTheTypedFunction) {
  const std::string text = good("emit gemm --dtype f64 --without c");
  expect_has(text, "mote_gemm_a_b_f64(");
  EXPECT_EQ(text.find("#include"), std::string::npos);
  expect_has(good("emit gemm --standalone"), "#include");
}

/// Returns the line of the contract in a plug-in's C.
std::string accumulator_in(const std::string& arguments) {
  const std::string text = good("emit " + arguments);
  const std::string mark = ".accumulator = ";
  const std::size_t at = text.find(mark);
  if (at == std::string::npos) return "";
  return text.substr(at + mark.size(), text.find(',', at) - at - mark.size());
}

TEST(Emit, APluginOfTensorsOf16BitsPromisesSumsInF32) {
  for (const char* dtype : {"f16", "bf16"}) {
    const std::string matmul = fmt::format("matmul --plugin mine --dtype {}", dtype);
    EXPECT_EQ(accumulator_in(matmul), "MOTE_ACC_F32") << dtype;
    EXPECT_EQ(accumulator_in(matmul + " --accumulator native"), "MOTE_ACC_NATIVE") << dtype;
  }
  for (const char* dtype : {"f32", "f64", "i32"})
    EXPECT_EQ(accumulator_in(fmt::format("matmul --plugin mine --dtype {}", dtype)),
              "MOTE_ACC_NATIVE");
  const std::string half = "op halves \"y = 2 x\"\ninput x f16[N]\noutput y = x + x\n";
  EXPECT_NE(good("emit - --plugin mine", half).find("MOTE_ACC_F32"), std::string::npos);
}

TEST(Emit, TheDtypeIsTheFirstThatTheOpOffersWhereThatIsNotF32) {
  expect_has(good("emit logical_and"), "mote_logical_and_bool(");
  expect_has(good("emit exp"), "mote_exp_f32(");
}

TEST(Emit, AFileNeedsNoSuffixAndAnOpIsNotHiddenByAFile) {
  const Folder folder;
  const fs::path file = folder.write("relu6", kRelu6);
  expect_has(good(fmt::format("emit '{}'", file.string())), "mote_relu6(");
  folder.write("exp", kRelu6);
  const std::string there = fmt::format("cd '{}' && '{}' emit ", folder.path().string(), MOTE_TOOL);
  expect_has(shell(there + "relu6").out, "mote_relu6(");
  expect_has(shell(there + "exp").out, "mote_exp_f32(");
}

class EmitEveryInstance : public testing::TestWithParam<DType> {};

std::string emit_arguments(const OpRecord& record, const Instance& instance, const fs::path& to) {
  std::string text = fmt::format("emit {} --lang c --standalone --dtype {} -o '{}'", record.name,
                                 name(instance.dtype), to.string());
  for (std::size_t k = 0; k < record.inputs.size(); ++k) {
    const bool present = is_in(instance.input_mask, k);
    if (!present) text += " --without " + record.inputs[k].name;
  }
  return text;
}

TEST_P(EmitEveryInstance, CompilesAlone) {
  const Folder folder;
  std::ptrdiff_t files = 0;
  for (const OpRecord& record : catalogue()) {
    for (const Instance& instance : instances(record)) {
      if (instance.dtype != GetParam()) continue;
      std::string path = good(emit_arguments(record, instance, folder.path()));
      ASSERT_TRUE(path.ends_with(".c\n")) << path;
      path.pop_back();
      EXPECT_TRUE(fs::exists(path)) << path;
      ++files;
    }
  }
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), {}), files);
  expect_compiles("*.c", folder.path());
}

INSTANTIATE_TEST_SUITE_P(Dtypes, EmitEveryInstance,
                         testing::Values(DType::f32, DType::f64, DType::i32, DType::i64,
                                         DType::boolean),
                         [](const auto& param) { return std::string(name(param.param)); });

TEST(Emit, AnOpThatMoteHasNeverHeardOf) {
  const Folder folder;
  const fs::path file = folder.write("relu6.mote", kRelu6);
  const std::string text = good(fmt::format("emit '{}' --lang c --standalone", file.string()));
  expect_has(text, "mote_relu6(");
  EXPECT_EQ(good("emit - --standalone", kRelu6), text);
  folder.write("relu6.c", text);
  expect_compiles("relu6.c", folder.path());
}

TEST(Emit, TheExamplesCompile) {
  const Folder folder;
  int files = 0;
  for (const auto& entry : fs::directory_iterator(MOTE_EXAMPLES_FOLDER)) {
    if (entry.path().extension() != ".mote") continue;
    good(fmt::format("emit '{}' --standalone -o '{}'", entry.path().string(),
                     folder.path().string()));
    ++files;
  }
  EXPECT_GE(files, 3);
  expect_compiles("*.c", folder.path());
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << "no '" << from << "' in:\n" << text;
  if (at != std::string::npos) text.replace(at, from.size(), to);
  return text;
}

TEST(Emit, TheKernelOfLoopsInAFile) {
  const std::string loops = good("explain softmax --stage fused");
  EXPECT_EQ(good("emit softmax --loops -", loops), good("emit softmax"));
  const std::string layer_norm = good("explain layer_norm --grad --dtype f64 --stage fused");
  const Folder folder;
  const std::string file = folder.write("layer_norm.loops", layer_norm);
  EXPECT_EQ(good("emit layer_norm --grad --dtype f64 --loops '" + file + "'"),
            good("emit layer_norm --grad --dtype f64"));

  const std::string versions = good("explain matmul --stage schedule");
  for (std::size_t at = versions.find("\nmatmul("); at != std::string::npos;) {
    const std::size_t end = versions.find("\n\n", at);
    const std::string one = versions.substr(at, end == std::string::npos ? end : end - at);
    folder.write("kernel.c", good("emit matmul --standalone --loops -", one));
    expect_compiles("kernel.c", folder.path());
    at = versions.find("\nmatmul(", at + 1);
  }
  const std::string halved = replaced(loops, "for r in 0..R", "for r in 0..R step 2");
  expect_has(good("emit softmax --loops -", halved), "r += 2");
}

TEST(Emit, LoopsInAFileKeepTheRules) {
  const std::string loops = good("explain softmax --stage fused");
  const auto refused = [&](const std::string& from, const std::string& to) {
    return bad("emit softmax --loops -", replaced(loops, from, to));
  };
  expect_has(bad("emit softmax --loops /nowhere"), "/nowhere: cannot be read: No such file");
  expect_has(refused("exp(", "exq("),
             "standard input: loops: line 8, column 14: unknown function 'exq', did you mean");
  expect_has(refused("y[r, n3, c] =", "y[r, n3] ="), "y has rank 3, its index has 2");
  expect_has(refused("exp(x[r, n2", "exp(x[r, n"), "in loops r, c, n2: variable n is used outside");
  expect_has(refused("x f32[R, N, C]", "x f32[R, N]"), "x has rank 2, its index has 3");
  expect_has(refused("y f32[R, N, C]", "y f32[R, C, N]"), "expected y[R, N, C], got [R, C, N]");
  expect_has(refused("softmax(", "softmin("), "expected loops of softmax, got those of softmin");
  expect_has(refused("for r in", "threads for r in"),
             "`threads for r in 0..R {`: loops that do not");
  const std::string relu =
      replaced(good("explain relu --stage fused"), "for i in", "native\ngrid for i in");
  expect_has(bad("emit relu --loops -", replaced(relu, "for j in", "block_threads for j in")),
             "`grid for i in 0..I {` is for a GPU, and C does not have it");
  expect_has(refused("for r in", "part of a program\nfor r in"), "it is a part of a program");
  expect_has(refused("for r in", "vectors of 32 bytes\nfor r in"), "with the line `native`");
  expect_has(bad("emit softmax --dtype f64 --loops -", loops),
             "inputs are x f32, the source's are x f64");
  expect_has(bad("emit softmax --lang cuda --loops -", loops),
             "--loops: only of C, got --lang cuda");
  expect_has(bad("emit softmax --variant gen --loops -", loops),
             "--loops: the loops say their variant");
  expect_has(bad("emit softmax --plugin mine --loops -", loops),
             "--plugin: --loops is of mote's kernel");
  expect_has(bad("emit softmax --schedule 'simd n' --loops -", loops), "--loops");
}

TEST(Emit, RefusesStepsThatDoNothing) {
  expect_has(bad("emit softmax --schedule 'inward c 8, jam 1'"),
             "softmax: step 'jam 1' cannot be taken: expected at least 2 iterations, got 1");
  for (const char* command : {"emit", "explain --stage schedule"})
    expect_has(
        bad(fmt::format("{} softmax --schedule 'vectors 64, threads r'", command)),
        "softmax: step 'vectors 64' does nothing: no step behind it makes tiles in registers");
  expect_has(good("emit matmul --schedule 'vectors 32, tile m 6 n 16'"), "32");
}

}  // namespace
}  // namespace mote
