// SPDX-License-Identifier: Apache-2.0
// Tests `mote graph` from outside: the examples, mistakes in one line, files that it writes, and a
// kernel that a graph's memory leads astray.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "mote/npz/npz.h"
#include "mote/symbolic/evaluate.h"
#include "mote/symbolic/text.h"
#include "shell.h"
#include "temporary_folder.h"

namespace mote {
namespace {

using nlohmann::json;
using test::TemporaryFolder;

const std::string kMlp = MOTE_EXAMPLES_FOLDER "/mlp.graph";
const std::string kBlock = MOTE_EXAMPLES_FOLDER "/attention_block.graph";
const std::string kLstm = MOTE_EXAMPLES_FOLDER "/lstm.graph";

test::Ran graph(const std::string& arguments) {
  return test::run_in_shell(std::string(MOTE_TOOL) + " graph " + arguments);
}

std::string good_graph(const std::string& arguments) {
  const test::Ran ran = graph(arguments);
  EXPECT_EQ(ran.code, 0) << arguments << "\n" << ran.out;
  return ran.out;
}

/// Expects exit code 2 and one line on both streams together, with that part.
void expect_refused(const std::string& arguments, const std::string& part) {
  const test::Ran ran = graph(arguments);
  EXPECT_EQ(ran.code, 2) << arguments << "\n" << ran.out;
  EXPECT_TRUE(ran.out.starts_with("mote: ")) << ran.out;
  EXPECT_EQ(std::ranges::count(ran.out, '\n'), 1) << ran.out;
  EXPECT_NE(ran.out.find(part), std::string::npos) << "no '" << part << "' in " << ran.out;
}

void expect_contains(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << "no '" << part << "' in:\n" << text;
}

TEST(GraphCommand, ShowPrintsWhatReadsBack) {
  const std::string text = good_graph("show " + kBlock + " --grad y");
  EXPECT_EQ(to_text(parse_graph(text)), text);
  EXPECT_EQ(parse_graph(text).outputs().size(), 8U);
  const json line = json::parse(good_graph("show " + kBlock + " --grad y --json"));
  EXPECT_EQ(line.at("text"), text);
  EXPECT_EQ(line.at("graph"), "attention_block");
  EXPECT_GT(line.at("nodes"), 10);
}

TEST(GraphCommand, AGradientIsNamedByBothSymbols) {
  const SymbolicGraph g = parse_graph(good_graph("show " + kMlp + " --grad loss:w,b"));
  ASSERT_EQ(g.outputs().size(), 3U);
  EXPECT_EQ(g.info(g.outputs()[1]).name, "loss/w");
  EXPECT_EQ(g.info(g.outputs()[2]).name, "loss/b");
  expect_refused("show " + kMlp + " --grad loss:w,b,w", "--grad loss:w,b,w: w is named twice");
}

TEST(GraphCommand, EqualGradientsHaveTheirNames) {
  const TemporaryFolder folder;
  const std::string file = folder.write("sum.graph",
                                        "graph sum(a f32[2], b f32[2]) -> (y)\n"
                                        "  y = add(a, b)\n");
  const std::string out = folder.path() / "out.npz";
  good_graph("run " + file + " --grad y -o " + out);
  const NamedTensors values = read_npz(out);
  EXPECT_EQ(values.size(), 3U);
  for (const char* name : {"y", "y/a", "y/b"}) EXPECT_TRUE(values.contains(name)) << name;
}

TEST(GraphCommand, PlanSaysWhereMemoryIsAndDrawsIt) {
  const TemporaryFolder folder;
  const std::string page = folder.path() / "page.html";
  const std::string text = good_graph("plan " + kBlock + " --streams 2 --html " + page);
  expect_contains(text, "attention_block: 10 nodes");
  expect_contains(text, "qkv = matmul(n1, w_qkv)");
  expect_contains(test::read(page), "<svg");
  expect_contains(test::read(page), "attention_block: 10 nodes");
  const json shared = json::parse(good_graph("plan " + kBlock + " --json"));
  const json separate = json::parse(good_graph("plan " + kBlock + " --json --separate"));
  EXPECT_LT(shared.at("arena_bytes"), separate.at("arena_bytes"));
  EXPECT_GT(shared.at("in_place_pairs"), 0);
  EXPECT_EQ(
      json::parse(good_graph("plan " + kBlock + " --json --not-in-place")).at("in_place_pairs"), 0);
}

TEST(GraphCommand, WhatRoundsOtherwiseIsReplacedIfAskedFor) {
  const TemporaryFolder folder;
  const std::string file =
      folder.write("g.graph", "graph g(x f32[3]) -> (y)\n  s = sigmoid(x)\n  y = mul(x, s)\n");
  expect_contains(good_graph("plan " + file), "pass replace: nothing");
  expect_contains(good_graph("plan " + file + " --inexact"), "pass replace: replaced 1 by silu");
  EXPECT_EQ(json::parse(good_graph("plan " + file + " --inexact --json")).at("passes").at(3),
            "replace: replaced 1 by silu");
  expect_contains(good_graph("show " + file), "y = mul(x, s)");
  expect_contains(good_graph("show " + file + " --inexact"), "y = silu(x)");
  expect_contains(good_graph("plan " + file + " --inexact --grad y"), "silu.grad(");
}

TEST(GraphCommand, PlanReadsAndWritesMinimalloc) {
  const TemporaryFolder folder;
  const std::string in =
      folder.write("blocks.csv", "id,lower,upper,size\na,0,2,64\nb,1,3,32\nc,2,4,64\n");
  const std::string out = folder.path() / "out.csv", page = folder.path() / "page.html";
  expect_contains(good_graph("plan " + in + " -o " + out + " --html " + page),
                  "3 blocks: 96 bytes, 1.000 of the lower bound 96; found by ");
  expect_contains(test::read(page), "<svg");
  const std::string planned = test::read(out);
  EXPECT_TRUE(planned.starts_with("id,lower,upper,size,offset\na,0,2,64,")) << planned;
  EXPECT_EQ(std::ranges::count(planned, '\n'), 4);
  expect_contains(good_graph("plan " + out + " --capacity 96"), "; within the capacity 96\n");
  const test::Ran beyond = graph("plan " + in + " --capacity 95 --json");
  EXPECT_EQ(beyond.code, 1) << beyond.out;
  EXPECT_EQ(json::parse(beyond.out).at("fits"), false);
  expect_refused("plan " + folder.write("bad.csv", "id,lower\n"), "bad.csv: ");
  expect_refused("plan " + kMlp + " --capacity 9", "--capacity and -o are for FILE.csv");
  for (const char* capacity : {"-7", "0", "1.5", "x", "18446744073709551616"})
    expect_refused("plan " + in + " --capacity=" + capacity,
                   "capacity '" + std::string(capacity) + "': expected a whole number");
  for (const char* option : {"--grad y", "--streams 2", "--separate", "--not-in-place", "--inexact",
                             "--without-nan", "--inputs in.npz", "--plugin a.so"}) {
    const std::string name = std::string(option).substr(0, std::string(option).find(' '));
    expect_refused("plan " + in + " " + option, name + " is for a graph, and " + in);
  }
}

TEST(GraphCommand, RunGivesWhatTheNodesGive) {
  const TemporaryFolder folder;
  const Tensor x(DType::f32, {2, 3}), w(DType::f32, {3, 2});
  for (std::int64_t k = 0; k < 6; ++k) {
    x.set({k / 3, k % 3}, static_cast<double>(k) - 2.5);
    w.set({k / 2, k % 2}, 0.25 * static_cast<double>(k * k));
  }
  const std::string text =
      "graph g(x f32[2,3], w f32[3,2]:1,3) -> (y)\n  h = matmul(x, w)\n  y = tanh(h)\n";
  const std::string file = folder.write("g.graph", text);
  const std::string in = folder.path() / "in.npz", out = folder.path() / "out.npz";
  write_npz(in, {{"x", x}, {"w", w}});
  EXPECT_EQ(good_graph("run " + file + " --inputs " + in + " -o " + out), out + "\n");
  const SymbolicGraph g = parse_graph(text);
  const TensorForm& form = g.form(g.find("w"));
  const Tensor turned = Tensor::within(Tensor(DType::f32, {6}), 0, form);
  copy(w, turned);
  const std::vector<Tensor> y =
      evaluate(g, {{g.find("x"), x}, {g.find("w"), turned}}, {g.find("y")});
  const Tensor got = read_npz(out).at("y");
  ASSERT_EQ(got.shape(), y[0].shape());
  for (std::int64_t k = 0; k < 4; ++k)
    EXPECT_EQ(got.real_at({k / 2, k % 2}), y[0].real_at({k / 2, k % 2}));
}

TEST(GraphCommand, AnOpenShapeIsThatOfTheInput) {
  const TemporaryFolder folder;
  const std::string file =
      folder.write("open.graph", "graph open(x f32[?]) -> (y)\n  y = neg(x)\n");
  const std::string in = folder.path() / "in.npz";
  const Tensor x(DType::f32, {1, 2});
  x.set({0, 0}, 1.5);
  x.set({0, 1}, -2);
  write_npz(in, {{"x", x}});
  EXPECT_EQ(good_graph("run " + file + " --grad y --inputs " + in),
            "y f32[1,2]\n[[-1.5,    2]]\ny/x f32[1,2]\n[[-1, -1]]\n");
  EXPECT_EQ(graph("check " + file + " --inputs " + in).code, 0);
  expect_contains(good_graph("plan " + file + " --inputs " + in), "open: 1 node, ");
  expect_contains(good_graph("dot " + file + " --inputs " + in), "f32[1,2]");
  expect_contains(good_graph("show " + file), "x f32[?]");
  expect_contains(good_graph("show " + file + " --grad y --inputs " + in), "x f32[1,2]");
  expect_refused("show " + file + " --grad y", "the shape of x is not known");
  for (const std::string command : {"show ", "plan ", "run ", "check ", "dot "}) {
    write_npz(in, {{"x", Tensor(DType::i32, {1, 2})}});
    expect_refused(command + file + " --inputs " + in, "x: expected f32[?], got i32[1,2]");
    write_npz(in, {{"y", x}});
    expect_refused(command + file + " --inputs " + in, "open has no input 'y'");
  }
}

TEST(GraphCommand, RandomInputsFollowTheSeed) {
  const std::string one = good_graph("run " + kMlp + " --grad loss --seed 1 --json");
  EXPECT_EQ(good_graph("run " + kMlp + " --grad loss --seed 1 --json --streams 3 --repeat 4"), one);
  EXPECT_EQ(good_graph("run " + kMlp + " --grad loss --seed 1 --json --separate"), one);
  EXPECT_NE(good_graph("run " + kMlp + " --grad loss --seed 2 --json"), one);
  EXPECT_EQ(std::ranges::count(one, '\n'), 4);
  EXPECT_EQ(json::parse(one.substr(0, one.find('\n'))).at("tensor"), "loss");
}

TEST(GraphCommand, ATraceHasEachNode) {
  const TemporaryFolder folder;
  const std::string trace = folder.path() / "trace.json";
  good_graph("run " + kMlp + " --trace " + trace);
  const std::string text = test::read(trace);
  EXPECT_TRUE(json::accept(text)) << text;
  for (const char* node : {"matmul", "add", "cross_entropy"}) expect_contains(text, node);
}

TEST(GraphCommand, TheExamplesPassTheCheck) {
  EXPECT_EQ(good_graph("check " + kMlp + " --grad loss --streams 2"),
            "passed: mlp: 28 settings give the bits of the nodes run one by one\n");
  EXPECT_EQ(good_graph("check " + kLstm),
            "passed: lstm: 17 settings give the bits of the nodes run one by one\n");
  const json line = json::parse(good_graph("check " + kBlock + " --grad y --json"));
  EXPECT_EQ(line,
            json({{"graph", "attention_block"}, {"settings", 17}, {"seed", 0}, {"passed", true}}));
}

// Newton's iteration has a square root only of what is not negative: seed 2 draws -0.8.
TEST(GraphCommand, CheckLeavesOutRandomInputsThatTheNodesCannotRun) {
  const std::string newton = MOTE_EXAMPLES_FOLDER "/newton.graph";
  const std::string text = good_graph("check " + newton + " --grad root:a --seed 2");
  EXPECT_TRUE(text.starts_with("left out: inputs of seed 2: ")) << text;
  expect_contains(text, "and the limit is 100");
  expect_contains(text, "passed: newton: 17 settings give the bits");
  expect_contains(good_graph("check " + newton + " --seed 2 --json"), "\"seed\":3,");

  const TemporaryFolder folder;
  const std::string file = folder.path() / "in.npz";
  Tensor a(DType::f32, {}), start(DType::f32, {});
  a.set({}, -1), start.set({}, 1);
  write_npz(file, {{"a", a}, {"start", start}});
  expect_refused("check " + newton + " --inputs " + file, "the condition holds after 100");
}

TEST(GraphCommand, DotIsAGraphOfAllNodes) {
  const std::string dot = good_graph("dot " + kMlp + " --grad loss");
  EXPECT_TRUE(dot.starts_with("digraph ")) << dot;
  expect_contains(dot, "cross_entropy.grad");
}

// The kernel repeats its last result where pointers and sizes are those of the last call. In
// memory of their own no two products read the same pointers; in planned memory, r takes p's.
TEST(GraphCommand, CheckFindsAKernelThatPlannedMemoryLeadsAstray) {
  const TemporaryFolder folder;
  const std::string file = folder.write("chain.graph", R"(graph chain(x f32[4,4], w f32[4,4]) -> (z)
  p = relu(x)
  y = gemm(p, w)
  r = tanh(y)
  z = gemm(r, w)
)");
  const std::string plugin = " --plugin " MOTE_MUTANTS_FOLDER "/cheat_cached_pointer.so";
  EXPECT_EQ(graph("check " + file).code, 0);
  const test::Ran ran = graph("check " + file + plugin);
  EXPECT_EQ(ran.code, 1) << ran.out;
  expect_contains(ran.out, "FAILED: chain: z differs first");
  expect_contains(ran.out, "computed by node 3 'z' (gemm)");
  expect_contains(ran.out, "with 1 stream, not in place, planned");
  const test::Ran as_json = graph("check " + file + plugin + " --json");
  EXPECT_EQ(as_json.code, 1) << as_json.out;
  const json line = json::parse(as_json.out);
  EXPECT_EQ(line.at("passed"), false);
  EXPECT_EQ(line.at("symbol"), "z");
  expect_contains(line.at("what"), "element [");
}

// The kernel leaves out the last terms of each sum, in every call alike: the bits of all settings
// are equal, and wrong.
TEST(GraphCommand, TheBoundOfTheWholeGraphFindsAWrongKernel) {
  const TemporaryFolder folder;
  const std::string file = folder.write("sums.graph", R"(graph sums(x f32[4,9], w f32[9,4]) -> (z)
  p = relu(x)
  y = gemm(p, w)
  z = tanh(y)
)");
  const std::string plugin = " --plugin " MOTE_MUTANTS_FOLDER "/";
  expect_contains(good_graph("check " + file + " --bound" + plugin + "gemm_correct.so"),
                  "passed: sums: 16 elements lie in the bound of the whole graph\n");
  good_graph("check " + file + plugin + "gemm_k_tail.so");
  const test::Ran ran = graph("check " + file + " --bound" + plugin + "gemm_k_tail.so");
  EXPECT_EQ(ran.code, 1) << ran.out;
  expect_contains(ran.out, "FAILED: sums: z: element [");
}

TEST(GraphCommand, TheExamplesLieInTheirBound) {
  const std::string lines = good_graph("check " + kMlp + " --grad loss --bound --json");
  EXPECT_EQ(json::parse(lines.substr(lines.find('\n'))),
            json({{"graph", "mlp"}, {"judged", 33}, {"open", 0}, {"passed", true}}));
  expect_contains(good_graph("check " + kBlock + " --bound"), "128 elements lie in the bound");
}

TEST(GraphCommand, WithoutABoundNothingIsJudged) {
  const TemporaryFolder folder;
  const std::string file = folder.write(
      "large.graph", "graph large(x f32[999,999], w f32[999,999]) -> (y)\n  y = matmul(x, w)\n");
  const test::Ran ran = graph("check " + file + " --bound");
  EXPECT_EQ(ran.code, 4) << ran.out;
  expect_contains(ran.out, "nothing was judged by a bound: large: the bound has ");
}

TEST(GraphCommand, MistakesAreOneLineAndExitTwo) {
  expect_refused("", "graph: no command (known: check, dot, plan, run, show)");
  expect_refused("frob", "graph: unknown command 'frob' (known: check, dot, plan, run, show)");
  expect_refused("plan " + kMlp + " --frob", "graph plan: unknown option --frob");
  expect_refused("plan", "graph plan: FILE is required");
  expect_refused("show /nonexistent.graph", "/nonexistent.graph: cannot be read");
  expect_refused("show /tmp", "/tmp: cannot be read");
  expect_refused("run " + kMlp + " --streams 0", "--streams: Value 0 not in range 1 to 64");
  expect_refused("run " + kMlp + " --repeat 0", "--repeat: Value 0 not in range");
  for (const char* command : {"run ", "check "})
    expect_refused(command + kMlp + " --seed=-1", "seed '-1': expected a whole number");
  expect_refused("show " + kMlp + " --grad nothing", "mlp has no symbol 'nothing'");
  expect_refused("show " + kMlp + " --grad loss:w,nothing", "mlp has no symbol 'nothing'");
  expect_refused("show " + kMlp + " --grad t", "t is i64[4], expected reals");
  expect_refused("show " + kMlp + " --grad loss:t", "t is i64[4], expected reals");
  expect_refused("plan " + kMlp + " --html /nonexistent/page",
                 "/nonexistent/page: cannot be written");
  expect_refused("run " + kMlp + " -o /nonexistent/out.npz", "cannot write /nonexistent/out.npz");
  expect_refused("run " + kMlp + " --plugin /nonexistent.so", "No such file");
}

TEST(GraphCommand, BadGraphsAreOneLineAndExitTwo) {
  const TemporaryFolder folder;
  const auto file = [&](const std::string& text) { return folder.write("bad.graph", text); };
  expect_refused("show " + file(""), "bad.graph: graph text: line 1, column 1: expected 'graph'");
  expect_refused("show " + file("graph g(x f32[2]) -> (y)\n  y = frob(x)\n"), "line 2, column ");
  expect_refused("plan " + file("graph g(x f32[2]) -> (z)\n  y = relu(x)\n"), "z");
  for (const std::string command : {"plan ", "run ", "check ", "dot "}) {
    expect_refused(command + file("graph g() -> ()\n"), "g has no outputs");
    expect_refused(command + file("graph g(x f32[?]) -> (y)\n  y = relu(x)\n"),
                   "g: the shape of x is not known: f32[?]; --inputs FILE.npz gives it");
  }
  EXPECT_EQ(good_graph("show " + file("graph g() -> ()\n")), "graph g() -> ()\n");
  EXPECT_EQ(good_graph("run " + file("graph g(x f32[0,3]) -> (y)\n  y = relu(x)\n")),
            "y f32[0,3]\n[]\n");
}

TEST(GraphCommand, BadInputsAreOneLineAndExitTwo) {
  const TemporaryFolder folder;
  const std::string file = folder.path() / "in.npz";
  write_npz(file, {{"w", Tensor(DType::f32, {3, 4})}});
  expect_refused("run " + kMlp + " --inputs " + file, "w: expected f32[3,5], got f32[3,4]");
  write_npz(file, {{"w", Tensor(DType::f64, {3, 5})}});
  expect_refused("check " + kMlp + " --inputs " + file, "w: expected f32[3,5], got f64[3,5]");
  write_npz(file, {{"h", Tensor(DType::f32, {4, 5})}});
  expect_refused("run " + kMlp + " --inputs " + file, "mlp has no input 'h'");
  expect_refused("run " + kMlp + " --inputs " + kMlp, "not a zip file");
  expect_refused("run " + kMlp + " --inputs /nonexistent.npz", "/nonexistent.npz");
}

}  // namespace
}  // namespace mote
