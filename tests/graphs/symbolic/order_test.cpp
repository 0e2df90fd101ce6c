// SPDX-License-Identifier: Apache-2.0
// Orders of evaluation and the bytes that they need at once.
#include "mote/symbolic/order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "mote/runtime/status.h"
#include "mote/symbolic/dependencies.h"
#include "support/cpu_time.h"

namespace mote {
namespace {

constexpr EvaluationOrder kAllOrders[] = {EvaluationOrder::least, EvaluationOrder::program,
                                          EvaluationOrder::depth_first, EvaluationOrder::greedy};

TensorForm row_of(std::int64_t count) { return {DType::f32, {count}}; }

/// A node of the caller's that reads and writes tensors of any sizes.
NodeSymbol any_node(SymbolicGraph& g, std::vector<TensorSymbol> inputs,
                    std::vector<TensorSymbol> outputs) {
  return g.call({"any", [](auto, auto) {}}, inputs, outputs);
}

std::uint64_t peak_of(const SymbolicGraph& g, EvaluationOrder which) {
  return peak_bytes(g, evaluation_order(g, which));
}

/// True if the order holds every node once, each after its predecessors.
bool is_valid(const SymbolicGraph& g, const std::vector<std::uint32_t>& order) {
  const IndexLists before = predecessors(g);
  std::vector<bool> done(g.node_count());
  for (const std::uint32_t node : order) {
    if (done[node] || g.nodes()[node].removed) return false;
    for (const std::uint32_t writer : before[node])
      if (!done[writer]) return false;
    done[node] = true;
  }
  return order.size() == topological_order(g).size();
}

/// Adds a node on two trees of that depth, all of them written in random order: the nodes of a
/// level are added before those of the next one.
TensorSymbol binary_tree(SymbolicGraph& g, int depth, std::mt19937& random) {
  std::vector<TensorSymbol> level;
  for (int k = 0; k < 1 << depth; ++k) {
    level.push_back(g.tensor(row_of(256)));
    any_node(g, {}, {level.back()});
  }
  for (; level.size() > 1;) {
    std::vector<TensorSymbol> next;
    std::vector<std::size_t> locations(level.size() / 2);
    std::iota(locations.begin(), locations.end(), 0);
    std::shuffle(locations.begin(), locations.end(), random);
    next.resize(locations.size());
    for (const std::size_t k : locations) {
      next[k] = g.tensor(row_of(256));
      any_node(g, {level[2 * k], level[2 * k + 1]}, {next[k]});
    }
    level = next;
  }
  return level.front();
}

TEST(PeakBytes, CountsRootsFromTheFirstUseToTheLast) {
  SymbolicGraph g;
  const TensorSymbol x = g.input("x", row_of(1000));
  const TensorSymbol a = g.tensor(row_of(10));
  const TensorSymbol b = g.tensor(row_of(20));
  const TensorSymbol c = g.tensor(row_of(30));
  any_node(g, {x}, {a});
  any_node(g, {g.slice(a, 0, 0, 5)}, {b});
  any_node(g, {g.slice(a, 0, 5, 5), b}, {c});
  g.set_outputs({c});
  EXPECT_EQ(peak_bytes(g, std::vector<std::uint32_t>{0, 1, 2}), 4U * (10 + 20 + 30));
  EXPECT_EQ(peak_bytes(g, std::vector<std::uint32_t>{0, 1, 2}, std::vector{c}), 4U * (10 + 20));
}

TEST(PeakBytes, KeepsOutputsToTheEnd) {
  SymbolicGraph g;
  const TensorSymbol a = g.tensor(row_of(10));
  const TensorSymbol b = g.tensor(row_of(20));
  any_node(g, {}, {a});
  any_node(g, {}, {b});
  EXPECT_EQ(peak_of(g, EvaluationOrder::program), 80U);  // a is not read, and is freed
  g.set_outputs({g.slice(a, 0, 0, 1)});
  EXPECT_EQ(peak_of(g, EvaluationOrder::program), 120U);
}

TEST(PeakBytes, CountsGapsAndPartsOfARootOnce) {
  SymbolicGraph g;
  const TensorSymbol a = g.tensor({DType::f32, {2, 3}, {8, 1}});
  any_node(g, {}, {g.select(a, 0, 0)});
  any_node(g, {}, {g.select(a, 0, 1)});
  g.set_outputs({a});
  EXPECT_EQ(peak_of(g, EvaluationOrder::program), 4U * 11);
}

TEST(EvaluationOrder, IsAnOrderOfAllNodes) {
  std::mt19937 random(7);
  SymbolicGraph g;
  g.set_outputs({binary_tree(g, 5, random)});
  g.order(g.node_at(3), g.node_at(20));
  for (const EvaluationOrder which : kAllOrders)
    EXPECT_TRUE(is_valid(g, evaluation_order(g, which))) << static_cast<int>(which);
}

TEST(EvaluationOrder, OfABinaryTreeNeedsWhatSethiAndUllmanProve) {
  std::mt19937 random(11);
  for (const int depth : {1, 2, 5, 12}) {
    SymbolicGraph g;
    g.set_outputs({binary_tree(g, depth, random)});
    // A leaf needs one tensor; a node needs one more than its operands, which need equally much.
    const std::uint64_t optimum = 1024U * static_cast<std::uint64_t>(depth + 2);
    EXPECT_EQ(peak_of(g, EvaluationOrder::depth_first), optimum);
    EXPECT_LE(peak_of(g, EvaluationOrder::least), optimum);
    if (depth == 12) {
      EXPECT_GE(peak_of(g, EvaluationOrder::program), 1024U << 11);
    }
  }
}

TEST(EvaluationOrder, EvaluatesTheOperandThatNeedsMoreFirst) {
  SymbolicGraph g;
  const TensorSymbol small = g.tensor(row_of(1), "small");
  any_node(g, {}, {small});
  const TensorSymbol large = g.tensor(row_of(100), "large");
  any_node(g, {}, {large});
  const TensorSymbol sum = g.tensor(row_of(1), "sum");
  any_node(g, {large}, {sum});
  const TensorSymbol y = g.tensor(row_of(1), "y");
  any_node(g, {small, sum}, {y});
  g.set_outputs({y});
  EXPECT_EQ(evaluation_order(g, EvaluationOrder::depth_first),
            (std::vector<std::uint32_t>{1, 2, 0, 3}));
  EXPECT_EQ(peak_of(g, EvaluationOrder::program), 4U * 102);
  EXPECT_EQ(peak_of(g, EvaluationOrder::depth_first), 4U * 101);
}

TEST(EvaluationOrder, GreedyFreesAsSoonAsItCan) {
  // Two long chains: in the order of the program both are alive at once.
  SymbolicGraph g;
  std::vector<TensorSymbol> last;
  for (int chain = 0; chain < 2; ++chain) {
    last.push_back(g.tensor(row_of(100)));
    any_node(g, {}, {last.back()});
  }
  for (int chain = 0; chain < 2; ++chain) {
    const TensorSymbol sum = g.tensor(row_of(1));
    any_node(g, {last[static_cast<std::size_t>(chain)]}, {sum});
    last[static_cast<std::size_t>(chain)] = sum;
  }
  g.set_outputs(last);
  EXPECT_EQ(peak_of(g, EvaluationOrder::program), 4U * 201);
  EXPECT_EQ(peak_of(g, EvaluationOrder::greedy), 4U * 102);
}

TEST(EvaluationOrder, LeastIsNeverAboveTheOthers) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    const auto draw = [&](std::size_t n) {
      return std::uniform_int_distribution<std::size_t>(0, n - 1)(random);
    };
    SymbolicGraph g;
    std::vector<TensorSymbol> tensors = {g.input("x", row_of(4))};
    for (std::size_t node = 0; node < 40; ++node) {
      std::vector<TensorSymbol> inputs;
      for (std::size_t k = draw(3); k-- > 0;) inputs.push_back(tensors[draw(tensors.size())]);
      tensors.push_back(g.tensor(row_of(static_cast<std::int64_t>(1 + draw(100)))));
      const NodeSymbol added = any_node(g, inputs, {tensors.back()});
      if (node > 0 && draw(8) == 0)
        g.order(g.node_at(static_cast<std::uint32_t>(draw(node))), added);
    }
    g.set_outputs({tensors.back(), tensors[draw(tensors.size())]});
    const std::uint64_t least = peak_of(g, EvaluationOrder::least);
    for (const EvaluationOrder which : kAllOrders) {
      EXPECT_TRUE(is_valid(g, evaluation_order(g, which))) << "seed " << seed;
      EXPECT_LE(least, peak_of(g, which)) << "seed " << seed;
    }
  }
}

TEST(EvaluationOrder, TakesNoQuadraticTime) {
  // A chain, a wide graph whose nodes share one operand, and a node that has kNodes predecessors.
  constexpr int kNodes = 100000;
  SymbolicGraph chain;
  TensorSymbol x = chain.input("x", row_of(1));
  for (int k = 0; k < kNodes; ++k) {
    const TensorSymbol y = chain.tensor(row_of(1));
    any_node(chain, {x}, {y});
    x = y;
  }
  chain.set_outputs({x});
  SymbolicGraph wide;
  const TensorSymbol shared = wide.tensor(row_of(1));
  any_node(wide, {}, {shared});
  std::vector<TensorSymbol> all;
  for (int k = 0; k < kNodes; ++k) {
    all.push_back(wide.tensor(row_of(1)));
    any_node(wide, {shared}, {all.back()});
  }
  const TensorSymbol y = wide.tensor(row_of(1));
  any_node(wide, all, {y});
  wide.set_outputs({y});
  for (const SymbolicGraph* g : {&chain, &wide}) {
    const double seconds = test::cpu_seconds([&] {
      EXPECT_EQ(evaluation_order(*g, EvaluationOrder::least).size(), g->node_count() - 0U);
    });
    // Quadratic time would take 10^10 steps.
    EXPECT_LT(seconds, 5.0);
    RecordProperty(g == &chain ? "chain_ms" : "wide_ms", static_cast<int>(seconds * 1000));
  }
}

TEST(EvaluationOrder, ReportsACycle) {
  SymbolicGraph g;
  const TensorSymbol a = g.tensor(row_of(1));
  const NodeSymbol first = any_node(g, {}, {a});
  const NodeSymbol second = any_node(g, {a}, {});
  g.order(second, first);
  for (const EvaluationOrder which : kAllOrders)
    EXPECT_THROW(evaluation_order(g, which), StatusError);
}

}  // namespace
}  // namespace mote
