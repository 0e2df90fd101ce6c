// SPDX-License-Identifier: Apache-2.0
// Tests what a graph is: nodes of each kind, given edges, parts, placeholders, copies, errors.
#include "mote/graph/graph.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "graphs/concrete/counting.h"
#include "runtime/expect_error.h"
#include "runtime/heap_count.h"

namespace mote {
namespace {

using test::counting;
using test::expect_error;
using test::f32;
using test::filled;
using test::same_bits;

TEST(Graph, RunsNodesOfEachKind) {
  Graph g;
  const GraphTensor x = g.constant(counting({2, 3}), "x");
  const GraphTensor a = g.tensor(Tensor(DType::f32, {2, 3}), "a");
  const GraphTensor b = g.tensor(Tensor(DType::f32, {2, 3}), "b");
  const GraphTensor y = g.tensor(Tensor(DType::f32, {2, 3}), "y");
  g.copy(x, a);
  g.fill(b, 10);
  const GraphNode sum = g.add(Command("add"), {a, b}, {y}, {.name = "sum"});
  std::vector<double> seen;
  g.call(
      [&](std::span<const Tensor> reads, std::span<const Tensor> writes) {
        seen.push_back(reads[0].real_at({1, 2}));
        writes[0].set({0, 0}, -1.0);
      },
      {y}, {b});
  g.find_order();
  g.run();
  EXPECT_EQ(seen, std::vector<double>{15});
  EXPECT_EQ(g.memory(y).real_at({0, 1}), 11);
  EXPECT_EQ(g.memory(b).real_at({0, 0}), -1);
  EXPECT_EQ(g.describe(sum), "node 2 'sum' (add)");
  EXPECT_EQ(g.describe(y), "'y' f32[2,3]");
  const GraphStatistics s = g.statistics();
  EXPECT_EQ(s.nodes, 4U);
  EXPECT_EQ(s.edges, 4U);  // copy and fill before the sum; sum and fill before the function
  EXPECT_EQ(s.edges_without_wait, 4U);
  EXPECT_EQ(s.streams, 1U);
  EXPECT_EQ(s.prepared, 1U);
}

TEST(Graph, AnInputMayBeLeftOut) {
  Graph g;
  const GraphTensor x = g.constant(counting({1, 2, 4, 4}));
  const GraphTensor w = g.constant(counting({3, 2, 3, 3}));
  const GraphTensor y = g.tensor(Tensor(DType::f32, {1, 3, 2, 2}));
  g.add(Command("conv2d"), {x, w, GraphTensor{}}, {y});
  g.run();
  Tensor expected(DType::f32, {1, 3, 2, 2});
  const Tensor in_x = g.memory(x);
  const Tensor in_w = g.memory(w);
  run(Command("conv2d"), {&in_x, &in_w, nullptr}, {&expected});
  EXPECT_TRUE(same_bits(g.memory(y), expected));
}

TEST(Graph, GivenEdgesAreKept) {
  std::vector<int> order;
  Graph g;
  std::vector<GraphNode> n;
  for (int k = 0; k < 4; ++k)
    n.push_back(g.call([&order, k](auto, auto) { order.push_back(k); }, {}, {}));
  g.order(n[3], n[1]);
  g.order(n[1], n[0]);
  g.order(n[0], n[2]);
  g.run();
  EXPECT_EQ(order, (std::vector<int>{3, 1, 0, 2}));
}

TEST(Graph, APartIsWhatLiesBetween) {
  // 0 -> 1 -> 3 -> 5, 0 -> 2 -> 4 -> 5, 6 alone
  std::vector<int> done;
  Graph g;
  std::vector<GraphNode> n;
  for (int k = 0; k < 7; ++k)
    n.push_back(g.call([&done, k](auto, auto) { done.push_back(k); }, {}, {}));
  for (const auto& [from, to] : {std::pair(0, 1), {1, 3}, {3, 5}, {0, 2}, {2, 4}, {4, 5}})
    g.order(n[static_cast<std::size_t>(from)], n[static_cast<std::size_t>(to)]);
  const auto ran = [&](std::initializer_list<int> sources, std::initializer_list<int> ends) {
    std::vector<GraphNode> from, to;
    for (const int k : sources) from.push_back(n[static_cast<std::size_t>(k)]);
    for (const int k : ends) to.push_back(n[static_cast<std::size_t>(k)]);
    const GraphPart part = g.part(from, to);
    done.clear();
    g.run(part);
    std::ranges::sort(done);
    return done;
  };
  EXPECT_EQ(ran({}, {}), (std::vector<int>{0, 1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(ran({1}, {}), (std::vector<int>{1, 3, 5}));
  EXPECT_EQ(ran({}, {4}), (std::vector<int>{0, 2, 4}));
  EXPECT_EQ(ran({0}, {3, 4}), (std::vector<int>{0, 1, 2, 3, 4}));
  EXPECT_EQ(ran({1, 4}, {5}), (std::vector<int>{1, 3, 4, 5}));
  EXPECT_EQ(ran({1}, {4}), std::vector<int>{});
  EXPECT_EQ(ran({6}, {6}), std::vector<int>{6});
}

TEST(Graph, AViewOutsideItsTensorNamesTheBytes) {
  Graph g;
  const GraphTensor x = g.placeholder(f32({8}), "x");
  expect_error(MOTE_INVALID, "takes the bytes from 4 to 36 of that, it has those from 0 to 32",
               [&] { g.view(x, 4, f32({8})); });
  expect_error(MOTE_INVALID, "takes the bytes from -4 to 28 of that",
               [&] { g.view(x, -4, f32({8})); });
  expect_error(MOTE_INVALID, "takes the bytes from -12 to 4 of that", [&] {
    g.view(x, 0, {DType::f32, {4}, {-1}});
  });
  expect_error(MOTE_INVALID, "to 9223372036854775807 + 32 of that",
               [&] { g.view(x, std::numeric_limits<std::int64_t>::max(), f32({8})); });
}

TEST(Graph, APlaceholderMovesPointersOnly) {
  Graph g;
  const GraphTensor x = g.placeholder(f32({4}), "x");
  const GraphTensor half = g.view(x, 8, f32({2}), "half");
  const GraphTensor y = g.placeholder(f32({4}), "y");
  const GraphTensor z = g.tensor(Tensor(DType::f32, {2}), "z");
  g.add(Command("neg"), {x}, {y});
  g.add(Command("neg"), {half}, {z});
  g.prepare();
  expect_error(MOTE_INVALID, "node 0 (neg) needs the placeholder 'x' f32[4], which is not bound",
               [&] { g.run(); });
  for (int k = 0; k < 3; ++k) {
    const Tensor in = counting({4}, k);
    const Tensor out(DType::f32, {4});
    g.bind(x, in);
    g.bind(y, out);
    g.run();
    EXPECT_EQ(out.real_at({3}), -3 - k);
    EXPECT_EQ(g.memory(z).real_at({0}), -2 - k);
    EXPECT_EQ(g.statistics().prepared, 2U);
  }
  for (const TensorForm& other :
       {f32({5}), TensorForm(DType::f64, {4}), TensorForm(DType::f32, {4}, {2})}) {
    std::vector<double> room(10);
    const Tensor wrong = Tensor::over(room.data(), other.dtype, other.shape, other.strides);
    expect_error(MOTE_INVALID, "'x' must be f32[4], got " + to_string(other),
                 [&] { g.bind(x, wrong); });
  }
}

TEST(Graph, ACopyHasTensorsOfItsOwn) {
  Graph g;
  const GraphTensor x = g.placeholder(f32({2}), "x");
  const GraphTensor y = g.placeholder(f32({2}), "y");
  const GraphNode n = g.add(Command("neg"), {x}, {y});
  g.bind(x, filled({2}, 3));
  g.bind(y, filled({2}, 0));
  Graph other = g;
  other.bind(x, filled({2}, 5));
  other.bind(y, filled({2}, 0));
  g.run();
  other.run();
  EXPECT_EQ(g.memory(y).real_at({1}), -3);
  EXPECT_EQ(other.memory(y).real_at({1}), -5);
  EXPECT_EQ(other.describe(n), "node 0 (neg)");
  const GraphTensor late = g.placeholder(f32({1}), "late");
  expect_error(MOTE_INVALID, "tensor 2 is of another graph",
               [&] { other.bind(late, late.graph ? filled({1}, 0) : Tensor()); });
}

TEST(Graph, RunTakesNothingFromTheHeap) {
  Graph g;
  GraphTensor x = g.placeholder(f32({1}));
  const GraphTensor first = x;
  for (int k = 0; k < 50; ++k) {
    const GraphTensor y = g.tensor(filled({1}, 0));
    if (k % 2 == 0)
      g.add(Command("neg"), {x}, {y});
    else
      g.call(
          [](auto reads, auto writes) {
            *static_cast<float*>(writes[0].data()) = *static_cast<float*>(reads[0].data()) + 1;
          },
          {x}, {y});
    x = y;
  }
  g.find_order();
  g.bind(first, filled({1}, 2));
  g.prepare();
  g.run();
  const int before = test::heap_allocations();
  for (int k = 0; k < 10; ++k) g.run();
  EXPECT_EQ(test::heap_allocations(), before);
}

TEST(Graph, HandlesOfOthersAreErrors) {
  Graph g;
  Graph other;
  const GraphTensor x = g.tensor(filled({2}, 1), "x");
  const GraphNode n = g.fill(x, 1);
  const GraphNode m = g.fill(x, 2);
  expect_error(MOTE_INVALID, "graph: add: tensor 0 is of another graph",
               [&] { other.add(Command("neg"), {x}, {x}); });
  expect_error(MOTE_INVALID, "graph: order: node 1 is of another graph",
               [&] { other.order(m, m); });
  expect_error(MOTE_INVALID, "graph: order: node 0 (fill) cannot be before itself",
               [&] { g.order(n, n); });
  g.remove(n);
  expect_error(MOTE_INVALID, "graph: order: node 0 (fill) was removed", [&] { g.order(n, m); });
  expect_error(MOTE_INVALID, "graph: copy: the tensor is a handle of no graph",
               [&] { g.copy(x, GraphTensor{}); });
  EXPECT_EQ(g.nodes(), std::vector<GraphNode>{m});
  g.run();
  EXPECT_EQ(g.memory(x).real_at({0}), 2);
  const Graph moved = std::move(g);
  expect_error(MOTE_INVALID, "graph: run: it was moved to another one", [&] { g.run(); });
  EXPECT_EQ(moved.nodes(), std::vector<GraphNode>{m});
}

TEST(Graph, AnIntermediateIsReadWhereItIsWritten) {
  Graph g;
  const GraphTensor t = g.intermediate(filled({2, 4}, 1), "t");
  const GraphTensor y = g.tensor(filled({2, 4}, 1), "y");
  g.fill(g.view(t, 0, f32({1, 4}), "row"), 2);
  const GraphNode whole = g.add(Command("neg"), {t}, {y}, {.name = "whole"});
  g.find_order();
  const std::string half =
      "node 1 'whole' (neg) reads 't' f32[2,4], of which no node before it "
      "writes some elements";
  expect_error(MOTE_INVALID, half, [&] { g.run(); });
  g.order(g.fill(g.view(t, 16, f32({1, 3}), "most"), 3), whole);
  expect_error(MOTE_INVALID, half, [&] { g.run(); });
  g.order(g.fill(g.view(t, 28, f32({1, 1}), "last"), 4), whole);
  g.run();
  EXPECT_EQ(g.memory(y).real_at({0, 3}), -2);
  EXPECT_EQ(g.memory(y).real_at({1, 2}), -3);
  EXPECT_EQ(g.memory(y).real_at({1, 3}), -4);
  // Columns have gaps, which other columns fill.
  Graph other;
  const GraphTensor u = other.intermediate(filled({2, 4}, 1), "u");
  const GraphTensor z = other.tensor(filled({2, 4}, 1), "z");
  const auto columns = [&](std::int64_t k, std::int64_t count) {
    return other.view(u, 4 * k, {DType::f32, {2, count}, {4, 1}}, "columns");
  };
  other.fill(columns(0, 3), 5);
  const GraphNode part = other.add(Command("neg"), {columns(1, 2)},
                                   {other.tensor(filled({2, 2}, 0))}, {.name = "part"});
  other.find_order();
  other.run();
  const GraphNode all = other.add(Command("neg"), {u}, {z}, {.name = "all"});
  other.find_order();
  expect_error(MOTE_INVALID, "'all' (neg) reads 'u' f32[2,4], of which no node before it writes",
               [&] { other.run(); });
  other.order(other.fill(columns(3, 1), 6), all);
  other.order(part, all);
  other.run();
  EXPECT_EQ(other.memory(z).real_at({1, 3}), -6);
}

TEST(Graph, WrongGraphsAreErrorsThatNameTheNode) {
  Graph g;
  const GraphTensor c = g.constant(filled({2}, 1), "c");
  const GraphTensor t = g.intermediate(filled({2}, 1), "t");
  const GraphTensor y = g.tensor(filled({2}, 1), "y");
  expect_error(MOTE_INVALID, "graph: node 0 'h' (neg) writes the constant 'c' f32[2]",
               [&] { g.add(Command("neg"), {y}, {c}, {.name = "h"}); });
  const GraphTensor of_c = g.view(c, 4, f32({1}), "of_c");
  expect_error(MOTE_INVALID, "node 0 (fill) writes the constant 'of_c' f32[1]",
               [&] { g.fill(of_c, 1); });
  const GraphNode a = g.add(Command("neg"), {t}, {y}, {.name = "a"});
  g.find_order();
  expect_error(MOTE_INVALID,
               "graph: node 0 'a' (neg) reads 't' f32[2], which no node before it writes",
               [&] { g.run(); });
  const GraphNode b = g.fill(t, 3, {.name = "b"});
  g.order(b, a);
  g.run();
  EXPECT_EQ(g.memory(y).real_at({0}), -3);
  g.order(a, b);
  expect_error(MOTE_INVALID, "graph: a cycle: node 1 'b' (fill) -> node 0 'a' (neg) -> node 1 'b'",
               [&] { g.prepare(); });
  Graph wrong;
  const GraphTensor three = wrong.tensor(filled({3}, 0));
  wrong.add(Command("neg"), {wrong.tensor(filled({2}, 0))}, {three}, {.name = "n"});
  expect_error(MOTE_INVALID, "graph: node 0 'n' (neg): neg: ", [&] { wrong.prepare(); });
}

}  // namespace
}  // namespace mote
