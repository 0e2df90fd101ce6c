// SPDX-License-Identifier: Apache-2.0
// Tests the tool, `mote ops` and `mote explain` from outside: exit codes, and the output on each
// stream.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "mote/macroops/catalogue.h"
#include "tool_run.h"

namespace mote {
namespace {

using test::bad;
using test::expect_compiles;
using test::expect_has;
using test::good;
using test::kRelu6;
using test::read;
using test::Result;
using test::shell;

namespace fs = std::filesystem;

using Folder = test::TemporaryFolder;

TEST(Tool, HelpAndVersionAreData) {
  const std::string help = good("--help");
  for (const char* command : {"check", "doctor", "emit", "explain", "ops", "replay", "run"}) {
    expect_has(help, command);
  }
  expect_has(good("emit --help"), "--standalone");
  for (const char* command : {"check", "emit", "explain", "replay"}) {
    const std::string one = good(std::string(command) + " --help");
    expect_has(one, "(repeat, or a,b)");
    for (const char* option : {"--backend NAME ...", "--without INPUT ..."}) {
      EXPECT_EQ(one.find(option), std::string::npos) << one;
    }
  }
  EXPECT_TRUE(good("--version").starts_with("mote "));
}

TEST(Tool, UsageErrorsSayWhatIsKnown) {
  expect_has(bad(""),
             "no command (known: bench, check, completion, doctor, emit, explain, graph, mutants, "
             "ops, replay, run)");
  expect_has(bad("frobnicate"),
             "unknown command 'frobnicate' (known: bench, check, completion, doctor, emit, ");
  expect_has(bad("--frobnicate"), "unknown option --frobnicate (known: ");
  expect_has(bad("emit gemm --frob"), "emit: unknown option --frob (known: ");
  expect_has(bad("emit gemm --frob"), "--standalone");
  expect_has(bad("emit gemm extra"), "unexpected argument 'extra'");
  expect_has(bad("emit"), "emit: OP is required");
  expect_has(bad("emit gemm --dtype"), "--dtype");
  expect_has(bad("explain softmax --stage loops --passes"), "--stage");
}

TEST(Tool, UnknownNamesSayWhatIsKnown) {
  for (const char* command : {"ops", "explain", "emit"}) {
    expect_has(bad(fmt::format("{} sotfmax", command)), "did you mean softmax? `mote ops`");
  }
  expect_has(bad("emit gemm --dtype f8"),
             "unknown dtype 'f8' (known: f32, f64, f16, bf16, i32, i64, i8, u8, bool)");
  expect_has(bad("emit softmax --dtype i32"),
             "dtype i32 is not offered (known: f32, f64, f16, bf16)");
  expect_has(
      bad("explain softmax --stage asm"),
      "unknown stage 'asm' (known: uops, loops, fused, c, schedule, bound, bound-loops, bound-c)");
  expect_has(bad("emit softmax --lang ptx"), "unknown language 'ptx' (known: c, cuda)");
  expect_has(bad("emit softmax --lang cuda --variant quick"),
             "unknown variant 'quick' of cuda (known: reference, gen, tf32)");
  EXPECT_EQ(good("emit softmax --variant oracle"), good("emit softmax --variant reference"));
  EXPECT_EQ(good("emit softmax --variant fast"), good("emit softmax --variant gen"));
  expect_has(bad("emit softmax --lang cuda --variant tf32"),
             "softmax: no product of it is one of tf32");
  expect_has(good("emit gemm --lang cuda --variant tf32"), "mote_mma_m16n8k8_tf32(");
  const std::string explain = "explain gemm --stage schedule --variant tf32";
  expect_has(good(explain + " --lang cuda"), " in fragments");
  expect_has(bad(explain), "explain: --variant tf32 goes with --lang cuda");
  expect_has(bad(explain + " --lang cuda --schedule ''"), "gemm: these steps make no tile of f32");
  expect_has(bad("explain gemm --variant quick"), "unknown variant 'quick' (known: gen, tf32)");
  expect_has(bad("emit gemm --plugin mine --schedule 'threads m'"),
             "--plugin: --schedule is of mote's kernel, not of your own");
  expect_has(bad("emit gemm --without a"), "'a' is not an optional input (optional: c)");
  expect_has(bad("emit softmax --without q"), "(optional: none)");
}

TEST(Tool, ShowsGradients) {
  const std::string all = good("explain mean --grad");
  expect_has(all, "---- needs ----\ngy value\nx shape\n");
  expect_has(all, "op mean.grad ");
  expect_has(good("explain conv2d --grad --stage loops"), "conv2d.grad(gy f32[");
  EXPECT_EQ(good("explain conv2d --grad --stage fused"), good("explain conv2d.grad --stage fused"));
  expect_has(good("explain matmul --grad --grad --stage uops"), "op matmul.grad.grad ");
  expect_has(good("explain - --grad --stage uops", kRelu6), "op relu6.grad\n");
  expect_has(good("ops mean"), "|gy|(x)| -> |gx|");
  expect_has(good("ops mean --json"), R"({"name":"x","need":"shape"})");
  EXPECT_EQ(good("emit layer_norm --grad --lang c --without beta,gamma").find("ggamma"),
            std::string::npos);
  expect_has(bad("explain floor --grad"), "op floor has no gradient");
  expect_has(bad("emit softmax --grad --dtype f16"), "dtype f16 is not offered (known: f32, f64)");
}

TEST(Emit, EveryGradientCompilesAlone) {
  const Folder folder;
  for (const OpRecord* record : generated_ops()) {
    if (gradient_order(*record) == 0) continue;
    good(
        fmt::format("emit {} --lang c --standalone -o '{}'", record->name, folder.path().string()));
  }
  expect_compiles("*.c", folder.path());
}

TEST(Tool, BadFilesAreNamed) {
  const Folder folder;
  expect_has(bad("emit none/such.mote"), "none/such.mote: cannot be read: No such file");
  expect_has(bad(fmt::format("emit '{}'", folder.path().string())), "is a directory");
  const fs::path file = folder.write("broken.mote", "op broken\ninput x f32[N]\noutput y = x +\n");
  expect_has(bad(fmt::format("emit '{}'", file.string())),
             "broken.mote: program text: line 3, column ");
  expect_has(bad("emit -", ""), "standard input: program text: line 1, column ");
  expect_has(bad("emit -", std::string("\0\xff\x01", 3)), "standard input: program text: line 1");
  const fs::path fine = folder.write("fine.mote", kRelu6);
  expect_has(good(fmt::format("emit '{}' --dtype f64", fine.string())), "mote_relu6_f64(");
  const fs::path smooth =
      folder.write("smooth.mote", "op smooth\ninput x f32[N]\noutput y = exp(x)\n");
  expect_has(bad(fmt::format("emit '{}' --dtype i32", smooth.string())),
             "smooth.mote: with i32 in place of f32: program text: line 3, column 12: Map exp: ");
  expect_has(bad(fmt::format("emit '{}' --without x", fine.string())), "states its own inputs");
  expect_has(bad("emit softmax -o /dev/null/folder"), "/dev/null/folder: cannot be made: ");
}

TEST(Tool, AFullDiskIsAnError) {
  const Result r = shell(fmt::format("'{}' ops >/dev/full", MOTE_TOOL));
  EXPECT_EQ(r.code, 2);
  expect_has(r.err, "standard output cannot be written");
}

TEST(Ops, ListsEveryOpWithItsEquation) {
  std::istringstream lines(good("ops"));
  std::string line;
  std::getline(lines, line);
  EXPECT_TRUE(line.starts_with("OP ")) << line;
  for (const OpRecord& record : catalogue()) {
    ASSERT_TRUE(std::getline(lines, line));
    EXPECT_TRUE(line.starts_with(record.name + " ")) << line;
    EXPECT_TRUE(line.ends_with(record.equation)) << line;
  }
  EXPECT_FALSE(std::getline(lines, line)) << line;
}

TEST(Ops, SaysEverythingAboutOne) {
  const std::string text = good("ops conv2d");
  for (const char* part :
       {"conv2d (linear)", "[N, CG*$groups, H, W]", "[N, CO*$groups, OH, OW]", "dilation1",
        "int >= 1, default 1", "optional", "ONNX opset 17 Conv", "f32 f64"}) {
    expect_has(text, part);
  }
  expect_has(good("ops gemm"), "c -> y");
  expect_has(good("ops matmul"), "[1|P, 1|Q, M, K]");
  expect_has(good("ops max_pool2d"), "int >= 1, required");
  expect_has(good("ops -", kRelu6), "min(max(x, 0), 6)");
}

TEST(Ops, JsonIsOneObjectALine) {
  std::istringstream lines(good("ops --json"));
  std::string line;
  for (const OpRecord& record : catalogue()) {
    ASSERT_TRUE(std::getline(lines, line));
    const auto op = nlohmann::json::parse(line);
    EXPECT_EQ(op.at("op"), record.name);
    EXPECT_EQ(op.at("inputs").size(), record.inputs.size());
    EXPECT_EQ(op.at("params").size(), record.params.size());
    EXPECT_EQ(op.at("dtypes").size(), record.dtypes.size());
  }
  EXPECT_FALSE(std::getline(lines, line)) << line;
  const auto gemm = nlohmann::json::parse(good("ops gemm --json"));
  EXPECT_EQ(gemm.at("inputs").at(2).at("optional"), true);
  EXPECT_EQ(gemm.at("inputs").at(0).at("shape"), nlohmann::json::parse(R"(["M", "K"])"));
  EXPECT_EQ(gemm.at("in_place"), nlohmann::json::parse(R"([["c", "y"]])"));
}

/// Expects that a page of docs/ is what the command prints.
void expect_page(const std::string& command, const std::string& page) {
  const std::string want = good(command), got = read(MOTE_DOCS_FOLDER "/" + page);
  // EXPECT_EQ would print the whole page; the first difference is enough.
  const auto [w, g] = std::ranges::mismatch(want, got);
  const std::size_t begin = want.rfind('\n', static_cast<std::size_t>(w - want.begin()));
  EXPECT_TRUE(want == got) << "docs/" << page << " is not up to date; regenerate it with\n  mote "
                           << command << " > docs/" << page
                           << "\nThe tool writes:" << want.substr(begin + 1, 200);
}

TEST(Ops, TheDocumentationIsWhatTheToolWrites) {
  expect_page("ops --markdown", "ops.md");
  expect_page("ops --gradients", "gradient-orders.md");
}

TEST(Ops, TheDocumentationHasEveryOp) {
  const std::string page = good("ops --markdown");
  for (const OpRecord& record : catalogue()) {
    const bool in_table = page.find(fmt::format("\n| **{}** |", record.name)) != page.npos;
    const bool in_section = page.find(fmt::format("\n### {}\n", record.name)) != page.npos;
    EXPECT_NE(in_table, in_section) << record.name;
  }
  expect_has(page, "| **abs** | `y = \\|x\\|` |");
  expect_has(page, "| `stride0`, `stride1` | int >= 1, default 1 |");
  expect_has(page, "`b T[CO*$groups]` (optional)");
}

TEST(Explain, ShowsTheStagesInTheirOrder) {
  const std::string all = good("explain softmax");
  std::size_t from = 0;
  for (const char* stage : {"uops", "loops", "fused", "c"}) {
    const std::size_t heading = all.find(fmt::format("---- {} ----\n", stage), from);
    ASSERT_NE(heading, std::string::npos) << stage << " in:\n" << all;
    from = heading + 1;
    const std::string one = good(fmt::format("explain softmax --stage {}", stage));
    EXPECT_EQ(one.find("----"), std::string::npos);
    expect_has(all, one);
  }
}

TEST(Explain, TheUopsAreAProgramFile) {
  const std::string text = good("explain layer_norm --stage uops --dtype f64 --without beta");
  EXPECT_EQ(good("explain - --stage uops", text), text);
  expect_has(text, "input gamma f64");
  EXPECT_EQ(text.find("input beta"), std::string::npos) << text;
}

/// The bound uses a backend's contract: its functions' accuracy, its form, its rounding.
TEST(Explain, BoundsAreThoseOfABackendsContract) {
  const std::string softmax = good("explain softmax --stage bound --backend gen");
  EXPECT_TRUE(
      softmax.starts_with("---- contract of gen ----\naccumulator f32\n"
                          "operands of summed products all bits\ndenormals kept\n"
                          "exp 1 ulp\nform direct\n\n---- bound ----\n"))
      << softmax;
  expect_has(softmax, "param ulp_exp real = 1 ");
  expect_has(good("explain softmax --stage bound"), "param ulp_exp real = 4 ");

  const std::string conv2d =
      good("explain conv2d --stage bound --backend winograd --plugin " MOTE_WINOGRAD_PLUGIN);
  expect_has(conv2d, "form winograd_f4\n");
  expect_has(conv2d, good("explain conv2d --stage bound --form winograd_f4"));

  const std::string promises = "--backend promises --plugin " MOTE_TEST_PLUGINS "/promises.so";
  const std::string matmul = good("explain matmul --dtype f16 --stage bound " + promises);
  expect_has(matmul,
             "accumulator f16\noperands of summed products 11 bits\n"
             "denormals may become 0\ndot 2 ulp\nform direct\n");
  EXPECT_EQ(matmul.find(good("explain matmul --dtype f16 --stage bound")), std::string::npos);
  expect_has(good("explain matmul --stage bound-c " + promises), "mote_bound_matmul_f32(");

  EXPECT_EQ(
      good("explain matmul --dtype f16 --stage bound --plugin " MOTE_TEST_PLUGINS "/promises.so"),
      matmul);
  expect_has(bad("explain matmul --plugin " MOTE_TEST_PLUGINS "/promises.so"),
             "--plugin goes with --stage bound");

  expect_has(bad("explain softmax --stage bound " + promises),
             "softmax: backend promises has no kernel for it");
  expect_has(bad("explain softmax --backend gen --stage uops"),
             "--backend goes with --stage bound");
  expect_has(bad("explain softmax --backend gen"), "--backend requires --stage");
  expect_has(bad("explain softmax --stage bound --backend gnu"), "unknown backend 'gnu'");
}

TEST(Explain, PassesStartsFromTheLoopsAndEndsWithTheFusedOnes) {
  const std::string text = good("explain softmax --passes");
  const std::string lowered = "---- after lower ----\n" + good("explain softmax --stage loops");
  EXPECT_TRUE(text.starts_with(lowered)) << text;
  EXPECT_TRUE(text.ends_with(good("explain softmax --stage fused"))) << text;
  expect_has(text, "---- after fuse ----\n");
}

TEST(Examples, SoftmaxAndConv2dAreTheCataloguesDefinitions) {
  for (const char* op : {"softmax", "conv2d"}) {
    const OpRecord& record = find_op(op);
    const fs::path file = fs::path(MOTE_EXAMPLES_FOLDER) / (std::string(op) + ".mote");
    const Program mine = parse_program(read(file));
    EXPECT_TRUE(equal(mine, *instantiate(record, {DType::f32, full_mask(record)})))
        << to_string(mine);
  }
}

}  // namespace
}  // namespace mote
