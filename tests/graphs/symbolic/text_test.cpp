// SPDX-License-Identifier: Apache-2.0
// The text of symbolic graphs, both ways: each construct, names, constants of each dtype, and time
// in proportion to the text.
#include "mote/symbolic/text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "mote/base/philox.h"
#include "same_graph.h"
#include "support/cpu_time.h"
#include "support/golden.h"

namespace mote {
namespace {

const NamedFunction& tee() {
  static const NamedFunction function = {"tee \"x\"",
                                         [](std::span<const Tensor>, std::span<const Tensor>) {}};
  return function;
}

/// Expects that the graph reads back equal, and returns its text.
std::string expect_round_trip(const SymbolicGraph& g) {
  const std::string text = to_text(g);
  const SymbolicGraph again = parse_graph(text, g.registry(), std::span(&tee(), 1));
  EXPECT_EQ(test::difference(g, again), "") << text;
  EXPECT_EQ(to_text(again), text);
  return text;
}

TEST(Text, ReadsTheExampleOfTheDesign) {
  const std::string text =
      "graph mlp(x f32[32,784], w f32[784,10], b f32[10], t i64[32]) -> (loss)\n"
      "  h = matmul(x, w)\n"
      "  z = add(h, b)\n"
      "  u = z.reshape(32, 10, 1)\n"
      "  v = t.reshape(32, 1)\n"
      "  loss = cross_entropy(u, v)\n";
  const SymbolicGraph g = parse_graph(text);
  EXPECT_EQ(g.node_count(), 3U);
  EXPECT_EQ(to_string(g.form(g.find("z"))), "f32[32,10]");
  EXPECT_EQ(g.outputs(), std::vector{g.find("loss")});
  EXPECT_EQ(to_text(g), text);
}

/// A graph with each construct that text has.
SymbolicGraph graph_of_all() {
  SymbolicGraph g("all of it");
  const TensorSymbol x = g.input("x", {DType::f32, {4, 6}});
  const TensorSymbol late = g.input("late", DType::f32);
  const TensorSymbol far = g.input("far", {DType::f32, {2, 2}, {1, 2}, {kDLCUDA, 1}});
  const TensorSymbol h = g.add("softmax axis=0", {x});
  const NodeSymbol pool =
      g.add_node(parse_command("max_pool2d_with_indices kernel0=2 kernel1=2"),
                 std::vector{g.reshape(g.add("leaky_relu alpha=0.1", {h}), {1, 1, 4, 6})});
  g.rename(g.output(pool, 0), "pooled");
  g.rename(pool, "pool");
  const NodeSymbol lone = g.add_node(parse_command("mul.grad"), std::vector{h, x, h});
  g.leave_out(lone, 1);
  g.order(pool, lone);
  const TensorSymbol p = g.tensor({DType::f32, {4, 6}, {1, 4}}, "p");
  const TensorSymbol left = g.slice(p, 1, 0, 3);
  g.write(parse_command("relu"), std::vector{g.slice(x, 1, 0, 3)}, std::vector{left});
  g.fill(g.permute(g.slice(p, 1, 5, 3, -1), {1, 0}), -0.0);
  const TensorSymbol z = g.zeros({DType::f32, {6}}, "z");
  g.copy(g.select(x, 0, 1), z);
  const NodeSymbol call =
      g.call(tee(), std::vector{x, TensorSymbol{}}, std::vector<TensorSymbol>{});
  const NodeSymbol writes = g.call(tee(), {}, std::vector{g.tensor({DType::i64, {1}}, "out")});
  g.order(call, writes);
  g.order(writes, pool);
  Tensor value(DType::f32, {3});
  value.set({0}, 0.1);
  value.set({1}, -std::numeric_limits<double>::quiet_NaN());
  value.set({2}, -std::numeric_limits<double>::infinity());
  const TensorSymbol c = g.constant("c", value);
  const TensorSymbol sum = g.add("add", {g.broadcast_to(c, {4, 3}), left});
  g.mark_recomputed(g.producer(sum), 3);
  const TensorSymbol half = g.convert(sum, {DType::f16, {4, 3}});
  const TensorSymbol k = g.tensor({DType::f64, {2}});
  g.fill(k, std::numeric_limits<double>::infinity());
  const TensorSymbol on_device = g.add("relu", {far});
  const TensorSymbol later = g.add("relu", {late});
  g.set_outputs({half, later, on_device, half, x});
  return g;
}

TEST(Text, PrintsEachConstruct) { test::expect_golden(expect_round_trip(graph_of_all())); }

TEST(Text, ReadsWhatPeopleWrite) {
  const SymbolicGraph g = parse_graph(
      "# a comment\n\n graph g(x f32[2,\n 3], # two lines\n"
      "   y f32[?])->(b)\n a=relu ( x ); b = add(a, a) after a   # the end");
  EXPECT_EQ(to_text(g),
            "graph g(x f32[2,3], y f32[?]) -> (b)\n"
            "  a = relu(x)\n"
            "  b = add(a, a) after a\n");
}

TEST(Text, KnowsTheOpsOfSequences) {
  const std::string text =
      "graph g(x f32[6,5,7], h f32[5,8], c f32[5,8], w f32[4,8,7], r f32[4,8,8], b f32[4,8]) -> "
      "(y)\n"
      "  y, h_next, c_next = lstm_sequence(x, h, c, w, r, b)\n";
  const SymbolicGraph g = parse_graph(text);
  EXPECT_EQ(g.form(g.find("y")), TensorForm(DType::f32, {6, 5, 8}));
  EXPECT_EQ(to_text(parse_graph(to_text(g))), to_text(g));
}

TEST(Text, NamesOfAnyBytesReadBack) {
  SymbolicGraph g("");
  std::vector<TensorSymbol> all;
  for (const char* name :
       {"_", "a.slice", "tensor", "after", "x y", "\"", "\\n\n", "\r\t", "#", "7"})
    all.push_back(g.input(name, {DType::f32, {2}}));
  const TensorSymbol y = g.add("add", {g.slice(all[0], 0, 0, 1), g.slice(all[2], 0, 1, 1)});
  g.rename(g.producer(y), "graph(");
  g.set_outputs(all);
  expect_round_trip(g);
}

TEST(Text, SymbolsWithoutNamesGetUnusedNames) {
  SymbolicGraph g;
  const TensorSymbol x = g.input("t1", {DType::f32, {2}});
  const TensorSymbol y = g.add("relu", {x});
  ASSERT_EQ(y.index, 1U);
  g.rename(g.add("exp", {y}), "t1_");
  g.set_outputs({g.add("neg", {g.find("t1_")})});
  EXPECT_EQ(expect_round_trip(g),
            "graph graph(t1 f32[2]) -> (t3)\n"
            "  t1__ = relu(t1)\n"
            "  t1_ = exp(t1__)\n"
            "  t3 = neg(t1_)\n");
}

TEST(Text, NodesOfOneNameAreToldApart) {
  SymbolicGraph g;
  const TensorSymbol x = g.input("x", {DType::f32, {2}});
  const auto call = [&] { return g.call(tee(), std::vector{x}, std::vector<TensorSymbol>{}); };
  const NodeSymbol first = call();
  const NodeSymbol second = call();
  const NodeSymbol third = call();
  for (const NodeSymbol node : {first, second}) g.rename(node, "n1");
  g.order(third, first);  // a later node
  g.order(second, first);
  expect_round_trip(g);
}

TEST(Text, RemovedSymbolsAndNodesAreNotPrinted) {
  SymbolicGraph g;
  const TensorSymbol x = g.input("x", {DType::f32, {2}});
  const TensorSymbol a = g.add("relu", {x});
  const TensorSymbol b = g.add("exp", {x});
  const NodeSymbol last = g.producer(g.add("neg", {x}));
  g.order(g.producer(a), last);
  g.replace_uses(a, b);
  g.remove(g.producer(a));
  g.remove(a);
  const std::string text = to_text(g);
  EXPECT_EQ(text,
            "graph graph(x f32[2]) -> ()\n"
            "  t2 = exp(x)\n"
            "  t3 = neg(x)\n");
  EXPECT_EQ(to_text(parse_graph(text)), text);
}

TEST(Text, AViewOfALaterSymbolReadsBack) {
  SymbolicGraph g;
  const TensorSymbol x = g.input("x", {DType::f32, {4}});
  const TensorSymbol a = g.add("relu", {x});
  g.set_outputs({g.add("exp", {g.slice(a, 0, 1, 2)})});
  g.replace_uses(a, g.add("neg", {x}));
  expect_round_trip(g);
}

/// An op whose dtype no input has: y[n] = x[n] in the dtype T.
const mote_op_definition& converter() {
  static const char* const axes[] = {"N"};
  static const mote_op_tensor x = {"x", "i64", 0, 1, axes, 0, 0, nullptr};
  static const mote_op_tensor y = {"y", "T", 0, 1, axes, 0, 0, nullptr};
  static const mote_op_definition op = {"my.slice", "", "", "", "",      1,      1,
                                        0,          0,  &x, &y, nullptr, nullptr};
  return op;
}

TEST(Text, TheDtypeStandsThereWhereNoInputHasIt) {
  Registry registry;
  register_op("my.slice", registry).set(kDefinition, &converter());
  SymbolicGraph g("g", registry);
  const TensorSymbol x = g.input("x", {DType::i64, {3}});
  const Command command("my.slice", {}, std::nullopt, registry);
  const TensorSymbol y = g.add(command, {x}, DType::f16);
  g.add(command, {g.input("later", DType::i64)}, DType::f64);
  g.write(command, std::vector{x}, std::vector{g.tensor({DType::i8, {3}, {2}}, "p")});
  g.set_outputs({y});
  EXPECT_EQ(expect_round_trip(g),
            "graph g(x i64[3], later i64[?]) -> (t1)\n"
            "  t1 = \"my.slice\"(x, dtype=f16)\n"
            "  t3 = \"my.slice\"(later, dtype=f64)\n"
            "  p = tensor i8[3]:2\n"
            "  p <- \"my.slice\"(x)\n");
}

// ---- constants

TEST(Text, EachValueOf16BitsReadsBack) {
  for (const DType dtype : {DType::f16, DType::bf16}) {
    Tensor all(dtype, {1 << 16});
    for (std::uint32_t k = 0; k < 1U << 16; ++k)
      static_cast<std::uint16_t*>(all.data())[k] = static_cast<std::uint16_t>(k);
    const Tensor expected = clone(all);  // NaNs keep their sign alone
    for (std::int64_t k = 0; k < 1 << 16; ++k)
      if (std::isnan(all.real_at({k}))) {
        const double nan = std::numeric_limits<double>::quiet_NaN();
        expected.set({k}, std::signbit(all.real_at({k})) ? -nan : nan);
      }
    SymbolicGraph g;
    g.set_outputs({g.constant("c", expected)});
    expect_round_trip(g);
  }
}

TEST(Text, RealsReadBackFromTheShortestText) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    Tensor t(dtype, {20000});
    const auto bytes = static_cast<std::size_t>(t.element_count()) * size_of(dtype) / 8;
    for (std::size_t k = 0; k < bytes; ++k) {
      const auto half = [&](std::size_t part) {
        return static_cast<std::uint64_t>(philox_word(1, static_cast<std::int64_t>(2 * k + part)));
      };
      const std::uint64_t word = half(0) << 32U | half(1);
      std::memcpy(static_cast<std::byte*>(t.data()) + 8 * k, &word, 8);
    }
    for (std::int64_t k = 0; k < t.element_count(); ++k)
      if (std::isnan(t.real_at({k}))) t.set({k}, -0.0);
    SymbolicGraph g;
    g.set_outputs({g.constant("c", t)});
    expect_round_trip(g);
  }
  SymbolicGraph g;
  Tensor t(DType::f16, {2});
  t.set({0}, 0.1);
  t.set({1}, 65504);
  g.set_outputs({g.constant("c", t)});
  EXPECT_NE(to_text(g).find("[0.1, 65504]"), std::string::npos) << to_text(g);
}

TEST(Text, IntegersAndLayoutsReadBack) {
  SymbolicGraph g;
  std::vector<TensorSymbol> all;
  for (const DType dtype : all_dtypes()) {
    if (is_real(dtype)) continue;
    Tensor t(dtype, {2});
    t.set({0}, integer_range(dtype).least);
    t.set({1}, integer_range(dtype).greatest);
    all.push_back(g.constant("c" + std::string(name(dtype)), t));
  }
  Tensor matrix(DType::f32, {3, 5});
  for (std::int64_t k = 0; k < 15; ++k) matrix.set({k / 5, k % 5}, k);
  all.push_back(g.constant("column", matrix.select(1, 2)));
  all.push_back(g.constant("back", matrix.permute({1, 0}).slice(0, 4, 3, -2)));
  all.push_back(g.constant("repeated", matrix.slice(0, 0, 1).broadcast_to({4, 5})));
  all.push_back(g.constant("scalar", matrix.select(0, 1).select(0, 1)));
  all.push_back(g.constant("none", Tensor(DType::i8, {0, 7})));
  g.set_outputs(all);
  expect_round_trip(g);
}

// ---- time

/// Returns the seconds that reading and printing a chain of n nodes take.
double seconds_of(std::size_t n) {
  std::string text = "graph chain(x f32[8]) -> (h" + std::to_string(n - 1) + ")\n";
  for (std::size_t k = 0; k < n; ++k)
    text += "  h" + std::to_string(k) + " = add(" + (k == 0 ? "x" : "h" + std::to_string(k - 1)) +
            ", x)\n";
  return test::cpu_seconds([&] { EXPECT_EQ(to_text(parse_graph(text)), text); });
}

TEST(Text, TimeIsInProportionToTheNodes) {
  seconds_of(1000);
  double best = std::numeric_limits<double>::infinity();
  for (int round = 0; round < 3; ++round)
    best = std::min(best, seconds_of(100000) / seconds_of(10000));
  EXPECT_LT(best, 30);  // a quadratic one takes 100 times as long
}

/// The lines of the example in text.h that need no other graph.
TEST(Text, TheExampleOfTheHeaderReads) {
  const SymbolicGraph g = parse_graph(R"(
    graph mlp(x f32[32,784], w f32[784,10], s f32[?], e f32[8,4,5,5]) -> (r)
      h = matmul(x, w)                          # a node and its outputs; _ is one that is left out
      y, mask = dropout(e, ratio=0.1, seed=7)   # parameters by name; axis=1; dtype=f16 where the
      n = softmax(h, axis=1)                    # dtype does not follow from inputs
      v = n.slice(0, 0, 16, 1)
      p = tensor f32[4,4]
      z = zeros f32[4,4]:1,4
      c = constant f32[2] [1, -nan]
      q = copy(x, f16[32,784])
      k = fill(f32[4], 1.5)
      @step: p <- relu(z) recompute 2 after h
      r = add(n, s) after @step
  )");
  EXPECT_EQ(g.outputs().size(), 1U);
}

}  // namespace
}  // namespace mote
