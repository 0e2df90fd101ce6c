// SPDX-License-Identifier: Apache-2.0
// Time in proportion to the graph: n and 10 n are compared, so that a machine's speed does not
// count. A quadratic algorithm takes 100 times as long.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "mote/symbolic/compile.h"
#include "mote/symbolic/dependencies.h"
#include "mote/symbolic/gradient.h"
#include "mote/symbolic/symbolic_graph.h"
#include "support/cpu_time.h"

namespace mote {
namespace {

constexpr double kMaxRatio = 40;

/// Expects that call(10 n) takes not much more than ten times as long as call(n). The best of
/// five rounds counts, since others use the machine too.
void expect_linear(const std::function<void(std::int64_t)>& call, std::int64_t n) {
  double best = std::numeric_limits<double>::infinity();
  for (int round = 0; round < 5 && best > kMaxRatio / 2; ++round) {
    const double few = test::cpu_seconds([&] { call(n); });
    best = std::min(best, test::cpu_seconds([&] { call(10 * n); }) / few);
  }
  EXPECT_LT(best, kMaxRatio);
}

TEST(Scale, AChainIsBuiltOrderedAndVerified) {
  expect_linear(
      [](std::int64_t n) {
        SymbolicGraph g;
        const TensorSymbol x = g.input("x", {DType::f32, {4}});
        TensorSymbol y = x;
        const Command add("add");
        for (std::int64_t k = 0; k < n; ++k) y = g.add(add, {y, x});
        g.set_outputs({y});
        EXPECT_EQ(topological_order(g).size(), static_cast<std::size_t>(n));
        verify(g);
      },
      10000);
}

/// Builds a graph that writes and reads n parts of a tensor, from the last to the first.
void write_and_read(std::int64_t n, const AxisList& shape, int axis) {
  SymbolicGraph g;
  AxisList of_all = shape;
  of_all[axis] = n;
  const TensorSymbol p = g.tensor({DType::f32, of_all}, "p");
  for (std::int64_t k = n; k-- > 0;) g.fill(g.slice(p, axis, k, 1), 1);
  const Command relu("relu");
  for (std::int64_t k = 0; k < n; ++k) g.add(relu, {g.slice(p, axis, k, 1)});
  const IndexLists before = predecessors(g);
  EXPECT_EQ(before.entry_count(), static_cast<std::size_t>(n));
  verify(g);
}

TEST(Scale, RowsOfATensorAreWrittenAndRead) {
  expect_linear([](std::int64_t n) { write_and_read(n, {1, 3}, 0); }, 1000);
}

TEST(Scale, ColumnsOfATensorAreWrittenAndRead) {
  expect_linear([](std::int64_t n) { write_and_read(n, {3, 1, 2}, 1); }, 1000);
}

TEST(Scale, PartsBesideALongOneAreWrittenAndRead) {
  expect_linear(
      [](std::int64_t n) {
        SymbolicGraph g;
        const TensorSymbol p = g.tensor({DType::f32, {2 * n}}, "p");
        g.fill(g.slice(p, 0, 0, n), 1);
        const Command relu("relu");
        for (std::int64_t k = n; k < 2 * n; ++k) {
          const TensorSymbol part = g.slice(p, 0, k, 1);
          g.fill(part, 2);
          g.add(relu, {part});
        }
        verify(g);
      },
      1000);
}

TEST(Scale, PartsAreRemovedAndWrittenAgain) {
  expect_linear(
      [](std::int64_t n) {
        SymbolicGraph g;
        const TensorSymbol p = g.tensor({DType::f32, {n}}, "p");
        std::vector<TensorSymbol> parts;
        std::vector<NodeSymbol> nodes;
        for (std::int64_t k = 0; k < n; ++k) {
          parts.push_back(g.slice(p, 0, k, 1));
          nodes.push_back(g.fill(parts.back(), 1));
        }
        for (const NodeSymbol node : nodes) g.remove(node);
        for (const TensorSymbol part : parts) g.fill(part, 2);
        verify(g);
      },
      1000);
}

TEST(Scale, ANodeHas70000Predecessors) {
  constexpr std::int64_t kCount = 70000;
  SymbolicGraph g;
  const TensorSymbol x = g.input("x", {DType::f32, {4}});
  const TensorSymbol p = g.tensor({DType::f32, {kCount}}, "p");
  const Command relu("relu");
  const NodeSymbol last = g.producer(g.add(relu, {p}));
  const NodeSymbol after = g.producer(g.add(relu, {x}));
  for (std::int64_t k = 0; k < kCount; ++k) {
    g.order(g.fill(g.slice(p, 0, k, 1), 1), after);
    if (k > 0) g.order(g.node_at(static_cast<std::uint32_t>(k + 1)), after);  // known already
  }
  const IndexLists before = predecessors(g);
  EXPECT_EQ(before[last.index].size(), static_cast<std::size_t>(kCount));
  EXPECT_EQ(before[after.index].size(), static_cast<std::size_t>(kCount));
  const std::vector<std::uint32_t> order = topological_order(g, before);
  EXPECT_EQ(order[kCount], last.index);
  EXPECT_EQ(order[kCount + 1], after.index);
  verify(g);
}

TEST(Scale, EdgesOfOneNode) {
  expect_linear(
      [](std::int64_t n) {
        SymbolicGraph g;
        const TensorSymbol x = g.input("x", {DType::f32, {4}});
        const Command relu("relu");
        const NodeSymbol last = g.producer(g.add(relu, {x}));
        for (std::int64_t k = 0; k < n; ++k) g.order(g.producer(g.add(relu, {x})), last);
        EXPECT_EQ(topological_order(g).back(), last.index);
      },
      7000);
}

TEST(Scale, ANodeWritesManyOutputs) {
  expect_linear(
      [](std::int64_t n) {
        SymbolicGraph g;
        const TensorSymbol p = g.tensor({DType::f32, {n}}, "p");
        std::vector<TensorSymbol> parts;
        for (std::int64_t k = 0; k < n; ++k) parts.push_back(g.slice(p, 0, k, 1));
        g.call({"f", [](std::span<const Tensor>, std::span<const Tensor>) {}}, {}, parts);
        verify(g);
      },
      3000);
}

TEST(Scale, AncestryOfManySymbolsInManyNodes) {
  expect_linear(
      [](std::int64_t n) {
        SymbolicGraph g;
        const TensorSymbol x = g.input("x", {DType::f32, {n}});
        const TensorSymbol p = g.tensor({DType::f32, {n}}, "p");
        const Command relu("relu");
        std::vector<TensorSymbol> from;
        std::vector<TensorSymbol> to;
        for (std::int64_t k = 0; k < n; ++k) {
          from.push_back(g.slice(x, 0, k, 1));
          to.push_back(g.slice(p, 0, k, 1));
          g.write(relu, std::vector{from.back()}, std::vector{to.back()});
        }
        EXPECT_EQ(std::ranges::count(ancestors(g, to), true), n);
        EXPECT_EQ(std::ranges::count(descendants(g, from), true), n);
      },
      1000);
}

TEST(Scale, ManyUsesAreReplaced) {
  expect_linear(
      [](std::int64_t n) {
        SymbolicGraph g;
        const TensorSymbol x = g.input("x", {DType::f32, {4}});
        const TensorSymbol z = g.input("z", {DType::f32, {4}});
        const Command relu("relu");
        TensorSymbol view = x;
        for (std::int64_t k = 0; k < n; ++k) {
          view = g.permute(view, {0});
          g.add(relu, {view});
        }
        g.replace_uses(x, z);
        EXPECT_EQ(g.root(view), z);
      },
      3000);
}

/// Returns the processor's time to find what n nodes wait for that read the whole of a tensor, of
/// which n nodes write a part each. With `is_one`, all of them read one symbol.
double seconds_to_wait_for_parts(std::int64_t n, bool is_one) {
  SymbolicGraph g;
  const TensorSymbol p = g.tensor({DType::f32, {n}}, "p");
  const Command relu("relu");
  for (std::int64_t k = 0; k < n; ++k) g.fill(g.slice(p, 0, k, 1), 1);
  for (std::int64_t k = 0; k < n; ++k) g.add(relu, {is_one ? p : g.permute(p, {0})});
  return test::cpu_seconds(
      [&] { EXPECT_EQ(predecessors(g).entry_count(), static_cast<std::size_t>(n * n)); });
}

TEST(Scale, TheWritersOfPartsAreSearchedOnceForASymbol) {
  double best = std::numeric_limits<double>::infinity();
  for (int round = 0; round < 5 && best > 0.25; ++round)
    best = std::min(best,
                    seconds_to_wait_for_parts(700, true) / seconds_to_wait_for_parts(700, false));
  EXPECT_LT(best, 0.5);
}

/// Returns a graph of n loops or branches in a row, each of which may pass on what the one before
/// gives.
SymbolicGraph loops_in_a_row(std::int64_t n, bool are_loops, std::vector<TensorSymbol>& first) {
  SymbolicGraph body("body");
  const TensorSymbol p = body.input("p", {DType::f32, {4}});
  const TensorSymbol counter = body.input("counter", {DType::i64, AxisList{}});
  const TensorSymbol y = body.add("tanh", {p});
  const Tensor one(DType::i64, AxisList{});
  fill(one, 1);
  body.set_outputs({y, body.add("less", {counter, body.constant("one", one)})});
  SymbolicGraph branch("branch");
  branch.set_outputs({branch.add("tanh", {branch.input("p", {DType::f32, {4}})})});
  SymbolicGraph g;
  TensorSymbol x = g.input("x", {DType::f32, {4}});
  const TensorSymbol index = g.input("k", {DType::i64, AxisList{}});
  first = {x, index};
  for (std::int64_t k = 0; k < n; ++k) {
    const NodeSymbol node = are_loops
                                ? g.add_while(body, {x}, {.has_counter = true})
                                : g.add_case_of(index, {CaseBranch(branch, {x})}, std::span(&x, 1));
    x = g.at(g.info(node).outputs[0]);
  }
  g.set_outputs({x});
  return g;
}

/// `first`: the inputs of a graph of loops_in_a_row().
void compile_and_run(const SymbolicGraph& g, const std::vector<TensorSymbol>& first) {
  Context context;
  Executable executable = compile(g, {}, context);
  const Tensor x(DType::f32, {4}), index(DType::i64, AxisList{});
  fill(x, 0.5);
  fill(index, 0);
  executable.bind(first[0], x);
  executable.bind(first[1], index);
  for (int k = 0; k < 2; ++k) executable.run();
}

TEST(Scale, LoopsAndBranchesInARowAreCompiledAndRun) {
  for (const bool are_loops : {true, false}) {
    SCOPED_TRACE(are_loops ? "loops" : "branches");
    expect_linear(
        [&](std::int64_t n) {
          std::vector<TensorSymbol> first;
          compile_and_run(loops_in_a_row(n, are_loops, first), first);
        },
        200);
  }
}

TEST(Scale, TheGradientOfLoopsInARowIsCompiledAndRun) {
  expect_linear(
      [](std::int64_t n) {
        std::vector<TensorSymbol> first;
        SymbolicGraph g = loops_in_a_row(n, true, first);
        const TensorSymbol y = g.outputs()[0];
        g.set_outputs({y, gradient(g, {y}, {first[0]})[0]});
        compile_and_run(g, first);
      },
      100);
}

TEST(Scale, LateShapesOfAChain) {
  expect_linear(
      [](std::int64_t n) {
        SymbolicGraph g;
        const TensorSymbol x = g.input("x", DType::f32);
        const Command relu("relu");
        TensorSymbol y = x;
        for (std::int64_t k = 0; k < n; ++k) y = g.add(relu, {y});
        g.set_form(x, {DType::f32, {4}});
        EXPECT_EQ(to_string(g.form(y)), "f32[4]");
      },
      3000);
}

}  // namespace
}  // namespace mote
