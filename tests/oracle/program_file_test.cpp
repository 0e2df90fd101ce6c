// SPDX-License-Identifier: Apache-2.0
// Tests program files in place of ops: their gen kernels as the backend gen, other element types
// than their own, plug-ins around functions for them, and the reference's results by `mote run`.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "mote/npz/npz.h"
#include "oracle/temporary_folder.h"
#include "support/shell.h"

namespace mote {
namespace {

namespace fs = std::filesystem;

constexpr const char* kTwice =
    "op twice \"y = 2*x + b\"\nparam b real = 1\ninput x f32[N, M]\n"
    "output y = x*2 + $b\n";

struct Files {
  test::TemporaryFolder folder;
  std::string write(const std::string& name, const std::string& text) const {
    return folder.write(name, text);
  }
  /// Runs mote in the folder.
  test::Ran mote(const std::string& arguments, const std::string& environment = "") const {
    return test::run_in_shell(fmt::format("cd '{}' && {} '{}' {}", folder.path().string(),
                                          environment, MOTE_TOOL, arguments));
  }
};

void expect_has(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << text;
}

TEST(ProgramFile, ItsFastKernelIsTheBackendGen) {
  const Files files;
  files.write("twice.mote", kTwice);
  const test::Ran r = files.mote("check twice.mote --backend gen --count 60 --seed 1");
  EXPECT_EQ(r.code, 0) << r.out;
  expect_has(r.out, "twice.mote");
  EXPECT_EQ(r.out.find("not judged"), std::string::npos) << r.out;
}

/// The compiler changes the text of that kernel, which shows that the kernel that runs is not the
/// reference.
TEST(ProgramFile, ItsFastKernelIsWhatRuns) {
  const Files files;
  files.write("twice.mote", kTwice);
  const std::string compiler = files.write(
      "cc.sh",
      "for a; do case $a in */kernel_f32.c) sed -i 's/\\* 2\\.0f/* 3.0f/' $a;; esac; done\n"
      "exec cc \"$@\"\n");
  const test::Ran r = files.mote("check twice.mote --backend gen --count 8 --shrink 3s --seed 1",
                                 fmt::format("CC='sh {}'", compiler));
  EXPECT_EQ(r.code, 1) << r.out;
  expect_has(r.out, "smallest case: twice.mote x=f32[1,1]");
  expect_has(r.out, "backend=gen");
  // The replay line compiles the kernel again: correctly now.
  const test::Ran again = files.mote("replay 'twice.mote x=f32[2,2] fill=index:0 backend=gen'");
  EXPECT_EQ(again.code, 0) << again.out;
  const test::Ran wrong = files.mote("replay 'twice.mote x=f32[2,2] fill=index:0 backend=gen'",
                                     fmt::format("CC='sh {}'", compiler));
  EXPECT_EQ(wrong.code, 1) << wrong.out;
}

/// Rows of a tile, and windows of rows, are copied in one run where the input's elements lie so.
/// Whether an element exists, and what is computed from its position, changes within the run.
TEST(ProgramFile, CopiesInOneRunUnderConditions) {
  const Files files;
  const auto expect_right = [&](const std::string& program) {
    files.write("copies.mote", "op copies \"y\"\ninput x f32[N, L, C]\n" + program);
    const test::Ran r = files.mote("check copies.mote --backend gen --count 60 --seed 1");
    EXPECT_EQ(r.code, 0) << program << r.out;
  };
  for (const char* read : {"x[i0, i1 + i3 - 1, i4 over N, L, O, K, C else 0]",
                           "x[i0, i1 + 2*i3 - 2, i4 over N, L, O, K, C else 0]",
                           "x[i0, i1 + i3, i4 over N, L - K, O, K, C] * "
                           "f32(iota(i1 + i3 over N, L - K, O, K, C))"}) {
    const bool has_all = std::string_view(read).find("else") != std::string_view::npos;
    expect_right(std::string("input w f32[K, C, O]\noutput y = sum[3, 4](") + read +
                 " * w[i3, i4, i2 over N, " + (has_all ? "L" : "L - K") + ", O, K, C])\n");
  }
  expect_right(
      "input w f32[C, O]\n"
      "t = iota(i1 over N, L, O, C) >= iota(3 over N, L, O, C)\n"
      "output y = sum[3](where(t, x[i0, i1, i3 over N, L, O, C], 0) * w[i3, i2 over N, L, O, "
      "C])\n");
}

TEST(ProgramFile, AKernelOfTheCatalogueIsNotItsOwn) {
  const Files files;
  files.write("softmax.mote", "op softmax \"y = 3*x\"\ninput x f32[R, N, C]\noutput y = x*3\n");
  const test::Ran r = files.mote("check softmax.mote --backend gen --count 40 --seed 1");
  EXPECT_EQ(r.code, 0) << r.out;
  const test::Ran both =
      files.mote("check softmax softmax.mote --backend gen --dtype f32 --count 20 --seed 1");
  EXPECT_EQ(both.code, 0) << both.out;
  expect_has(both.out, "softmax.mote");
  expect_has(both.out, "softmax ");
}

TEST(ProgramFile, MayHaveMoreOrFewerInputsThanTheOpOfItsName) {
  const Files files;
  files.write("neg.mote",
              "op neg \"y = a + b\"\ninput a f32[N]\ninput b f32[N]\noutput y = a + b\n");
  files.write("add.mote", "op add \"y = 3*a\"\ninput a f32[N]\noutput y = a*3\n");
  for (const char* file : {"neg.mote", "add.mote"}) {
    const test::Ran r = files.mote(fmt::format("check {} --backend gen --count 20 --seed 1", file));
    EXPECT_EQ(r.code, 0) << r.out;
    EXPECT_EQ(r.out.find("not judged"), std::string::npos) << r.out;
  }
}

TEST(ProgramFile, HasTheElementTypesThatItsTextCanBeReadWith) {
  const Files files;
  files.write("twice.mote", kTwice);
  const test::Ran r =
      files.mote("check twice.mote --backend gen --dtype f32,f64,bf16,i32 --count 80 --seed 1");
  EXPECT_EQ(r.code, 2) << r.out;
  expect_has(r.out, "twice.mote: with i32 in place of f32: program text: line 4, column ");
  const test::Ran reals =
      files.mote("check twice.mote --backend gen --dtype f32,f64,bf16,f16 --count 80 --seed 1");
  EXPECT_EQ(reals.code, 0) << reals.out;
  for (const char* dtype : {" f32 ", " f64 ", " bf16 ", " f16 "}) expect_has(reals.out, dtype);
  const test::Ran replayed =
      files.mote("replay 'twice.mote x=f64[3,2] fill=uniform:1 backend=gen'");
  EXPECT_EQ(replayed.code, 0) << replayed.out;
  expect_has(files.mote("emit twice.mote --dtype f64").out, "mote_twice_f64(const double *x");
  expect_has(files.mote("explain twice.mote --dtype bf16 --stage uops").out, "input x bf16[N, M]");
}

TEST(ProgramFile, WithoutACompilerItsKernelIsLeftOutAndWhy) {
  const Files files;
  files.write("twice.mote", kTwice);
  const test::Ran r = files.mote("check twice.mote --backend gen --count 10", "CC=/nonexistent/cc");
  EXPECT_EQ(r.code, 4) << r.out;
  expect_has(r.out, "left out: gen: twice.mote: its kernels cannot be compiled: ");
  expect_has(r.out, "/nonexistent/cc");
}

TEST(ProgramFile, APluginAroundAFunctionIsCompiledByTheCommandThatIsPrinted) {
  const Files files;
  files.write("twice.mote", kTwice);
  for (const std::string dtype : {"", "--dtype f64 "}) {
    test::Ran r = files.mote("emit twice.mote --standalone -o . " + dtype);
    EXPECT_EQ(r.code, 0) << r.out;
    const std::string source = r.out.substr(0, r.out.size() - 1);
    const std::string function = dtype.empty() ? "mote_twice" : "mote_twice_f64";
    r = files.mote(
        fmt::format("emit twice.mote {}--plugin {} --source {} -o 'a b'", dtype, function, source));
    EXPECT_EQ(r.code, 0) << r.out;
    std::istringstream lines(r.out);
    std::string path, compile, check;
    std::getline(lines, path);
    std::getline(lines, compile);
    std::getline(lines, check);
    EXPECT_EQ(path, fmt::format("a b/{}_plugin.c", function));
    const std::string there =
        fmt::format("cd '{}' && PATH='{}':\"$PATH\"; ", files.folder.path().string(),
                    fs::path(MOTE_TOOL).parent_path().string());
    EXPECT_EQ(test::run_in_shell(there + compile + " -Wall -Wextra -Werror").code, 0) << compile;
    const test::Ran checked = test::run_in_shell(there + check + " --count 40 --seed 1");
    EXPECT_EQ(checked.code, 0) << check << "\n" << checked.out;
    std::ifstream head(files.folder.path() / path);
    std::string text{std::istreambuf_iterator<char>(head), {}};
    expect_has(text, " *   " + compile + "\n *   " + check + "\n */\n");
  }
}

TEST(ProgramFile, EveryStageExplainsIt) {
  const Files files;
  files.write("twice.mote", kTwice);
  for (const char* stage :
       {"uops", "loops", "fused", "c", "schedule", "bound", "bound-loops", "bound-c"}) {
    const test::Ran r = files.mote(fmt::format("explain twice.mote --stage {}", stage));
    EXPECT_EQ(r.code, 0) << stage << r.out;
    EXPECT_FALSE(r.out.empty());
  }
  for (const char* arguments :
       {"explain twice.mote --passes", "explain twice.mote --grad", "emit twice.mote --grad",
        "emit twice.mote --lang cuda", "emit twice.mote --variant gen", "ops twice.mote",
        "explain twice.mote --stage bound --backend gen", "emit twice.mote --grad --plugin f"})
    EXPECT_EQ(files.mote(arguments).code, 0) << arguments;
}

TEST(Run, PrintsWhatTheReferenceGives) {
  const Files files;
  files.write("twice.mote", kTwice);
  test::Ran r = files.mote("run 'twice.mote x=f32[2,3]:t fill=index:0 set=x[1,2]=-inf b=0.5'");
  EXPECT_EQ(r.code, 0) << r.out;
  EXPECT_EQ(r.out, "y f32[2,3]\n[[ 2.5,  4.5,  6.5],\n [ 8.5, 10.5, -inf]]\n");
  r = files.mote("run 'twice.mote x=f32[1,2] fill=zeros:0 set=x[0,1]=nan' --inputs");
  EXPECT_EQ(r.out, "x f32[1,2]\n[[  0, nan]]\ny f32[1,2]\n[[  1, nan]]\n");
  r = files.mote("run 'twice.mote x=f32[1,2] fill=zeros:0 set=x[0,1]=inf' --inputs --json");
  std::istringstream lines(r.out);
  std::string line;
  std::getline(lines, line);
  EXPECT_EQ(nlohmann::json::parse(line).at("role"), "input");
  std::getline(lines, line);
  const nlohmann::json y = nlohmann::json::parse(line);
  EXPECT_EQ(y.at("tensor"), "y");
  EXPECT_EQ(y.at("shape"), nlohmann::json({1, 2}));
  EXPECT_EQ(y.at("values"), nlohmann::json::parse("[[1.0, \"inf\"]]"));
}

TEST(Run, TakesTheLinesOfChecksAndOfFiles) {
  const Files files;
  EXPECT_EQ(
      files.mote("run 'argmax x=f32[1,3,1] fill=index:0 backend=openblas plugin=none.so'").out,
      "y i64[1,1]\n[[2]]\n");
  EXPECT_EQ(files.mote("run mean x=f32[1,0,1]").out, "y f32[1,1]\n[[nan]]\n");
  EXPECT_EQ(files.mote("run neg x=f32[1,1,0,2]").out, "y f32[1,1,0,2]\n[[[]]]\n");
  files.write("two.cases", "neg x=i32[1,1,1,2] fill=index:0\nabs x=f32[1,1,1,1] fill=index:0\n");
  const test::Ran r = files.mote("run two.cases");
  EXPECT_EQ(r.out,
            "neg x=i32[1,1,1,2] fill=index:0\ny i32[1,1,1,2]\n[[[[-1, -2]]]]\n"
            "abs x=f32[1,1,1,1] fill=index:0\ny f32[1,1,1,1]\n[[[[1]]]]\n");
}

TEST(Run, CutsWhatIsLongUnlessItIsAskedFor) {
  const Files files;
  const test::Ran r = files.mote("run neg x=i32[1,1,40,40] fill=index:0");
  expect_has(r.out, "[[[[   -1,    -2,    -3, …,   -38,   -39,   -40],\n");
  EXPECT_EQ(std::count(r.out.begin(), r.out.end(), '\n'), 8) << r.out;
  const test::Ran whole = files.mote("run neg x=i32[1,1,40,40] fill=index:0 --whole");
  expect_has(whole.out, " -1600]]]]\n");
}

TEST(Run, WritesInputsAndOutputs) {
  const Files files;
  files.write("twice.mote", kTwice);
  const test::Ran r =
      files.mote("run 'twice.mote x=bf16[2,2] fill=index:0 set=x[0,0]=0.5' -o values.npz");
  EXPECT_EQ(r.code, 0) << r.out;
  EXPECT_EQ(r.out, "values.npz\n");
  const NamedTensors all = read_npz((files.folder.path() / "values.npz").string());
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all.at("x").dtype(), DType::bf16);
  EXPECT_EQ(all.at("x").real_at({0, 0}), 0.5);
  EXPECT_EQ(all.at("y").real_at({0, 0}), 2);
  EXPECT_EQ(all.at("y").real_at({1, 1}), 9);
}

TEST(Run, MistakesAreUsage) {
  const Files files;
  for (const auto& [arguments, part] :
       {std::pair("run", "CASE"), std::pair("run 'nosuch x=f32[1]'", "unknown op 'nosuch'"),
        std::pair("run 'gemm a=f32[1,2] b=f32[3,1]'", "gemm: "),
        std::pair("run neg x=f32[1,1,1,1] -o /nonexistent/y.npz", "/nonexistent/y.npz"),
        std::pair("run neg x=f32[1,1,1,9000000000000]", "case needs"),
        std::pair("run neg x=f32[1,1,1,1] -o y.npz --json", "--json")}) {
    const test::Ran r = files.mote(arguments);
    EXPECT_EQ(r.code, 2) << arguments << "\n" << r.out;
    expect_has(r.out, part);
  }
}

}  // namespace
}  // namespace mote
