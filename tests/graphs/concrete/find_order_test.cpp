// SPDX-License-Identifier: Apache-2.0
// Tests the edges that follow from memory: against the definition on random views, and their cost.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "graphs/concrete/counting.h"
#include "mote/graph/graph.h"
#include "mote/runtime/overlap.h"
#include "support/cpu_time.h"

namespace mote {
namespace {

using test::f32;
using test::filled;

using Edges = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

Edges edges_of(const Graph& g) {
  const ScheduleProblem p = g.schedule_problem();
  Edges edges;
  for (std::uint32_t n = 0; n < p.node_count(); ++n)
    for (std::size_t e = p.begin[n]; e < p.begin[n + 1]; ++e)
      edges.emplace_back(p.predecessors[e], n);
  return edges;
}

void nothing(std::span<const Tensor>, std::span<const Tensor>) {}

TEST(FindOrder, ReadAfterWriteWriteAfterReadWriteAfterWrite) {
  Graph g;
  const GraphTensor x = g.tensor(filled({4}, 0));
  const GraphTensor y = g.tensor(filled({4}, 0));
  g.fill(x, 1);                     // 0
  g.call(nothing, {x}, {});         // 1 reads what 0 wrote
  g.call(nothing, {x}, {});         // 2 too, and has no order with 1
  g.fill(x, 2);                     // 3 after both readers
  g.fill(x, 3);                     // 4 after 3
  g.call(nothing, {y}, {});         // 5 alone
  g.add(Command("neg"), {x}, {x});  // 6 in place
  g.find_order();
  EXPECT_EQ(edges_of(g), (Edges{{0, 1}, {0, 2}, {0, 3}, {1, 3}, {2, 3}, {3, 4}, {4, 6}}));
}

TEST(FindOrder, ViewsOfDifferentElementsDoNotConflict) {
  Graph g;
  const GraphTensor m = g.tensor(filled({4, 4}, 0));
  const auto column = [&](std::int64_t k) {
    return g.view(m, 4 * k, TensorForm(DType::f32, {4}, {4}));
  };
  const GraphTensor row = g.view(m, 16, f32({4}));
  g.fill(column(0), 1);
  g.fill(column(1), 2);
  g.fill(row, 3);
  g.call(nothing, {column(2)}, {});
  g.call(nothing, {m}, {});
  g.find_order();
  EXPECT_EQ(edges_of(g), (Edges{{0, 2}, {1, 2}, {2, 3}, {0, 4}, {1, 4}, {2, 4}}));
}

TEST(FindOrder, PlaceholdersAreMemoryOfTheirOwn) {
  Graph g;
  const GraphTensor x = g.placeholder(f32({4}));
  const GraphTensor y = g.placeholder(f32({4}));
  g.fill(g.view(x, 0, f32({2})), 1);
  g.fill(g.view(x, 8, f32({2})), 2);
  g.fill(y, 1);
  g.call(nothing, {x, y}, {});
  g.find_order();
  EXPECT_EQ(edges_of(g), (Edges{{0, 3}, {1, 3}, {2, 3}}));
}

/// A random node's views of one block, or of a placeholder.
struct Drawn {
  std::vector<TensorForm> forms;
  std::vector<std::int64_t> offsets;
  std::vector<bool> writes;
};

TEST(FindOrder, OrdersExactlyWhatConflicts) {
  for (unsigned seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const auto below = [&](std::int64_t bound) {
      return static_cast<std::int64_t>(random() % static_cast<unsigned>(bound));
    };
    Graph g;
    const GraphTensor block =
        seed % 2 == 0 ? g.tensor(filled({8, 8}, 0)) : g.placeholder(f32({8, 8}));
    std::vector<Drawn> drawn;
    for (int n = 0; n < 25; ++n) {
      Drawn d;
      std::vector<GraphTensor> reads, writes;
      for (std::int64_t k = 1 + below(2); k-- > 0;) {
        const std::int64_t rows = 1 + below(4), columns = 1 + below(4);
        const std::int64_t step = 1 + below(2), row = below(8 - (rows - 1)),
                           column = below(8 - (columns - 1) * step);
        d.forms.emplace_back(DType::f32, AxisList{rows, columns}, AxisList{8, step});
        d.offsets.push_back(4 * (8 * row + column));
        d.writes.push_back(below(2) == 0);
        const GraphTensor view = g.view(block, d.offsets.back(), d.forms.back());
        (d.writes.back() ? writes : reads).push_back(view);
      }
      g.call(nothing, reads, writes);
      drawn.push_back(d);
    }
    g.find_order();
    const auto conflict = [&](const Drawn& a, const Drawn& b) {
      for (std::size_t i = 0; i < a.forms.size(); ++i)
        for (std::size_t j = 0; j < b.forms.size(); ++j)
          if ((a.writes[i] || b.writes[j]) &&
              share_bytes({a.forms[i], a.offsets[i]}, {b.forms[j], b.offsets[j]}))
            return true;
      return false;
    };
    std::vector<std::vector<bool>> before(25, std::vector<bool>(25));
    for (const auto& [from, to] : edges_of(g)) {
      ASSERT_LT(from, to);
      ASSERT_TRUE(conflict(drawn[from], drawn[to])) << from << " -> " << to;
      before[from][to] = true;
    }
    for (std::size_t m = 0; m < 25; ++m)
      for (std::size_t a = 0; a < 25; ++a)
        for (std::size_t b = 0; b < 25; ++b)
          if (before[a][m] && before[m][b]) before[a][b] = true;
    for (std::size_t a = 0; a < 25; ++a)
      for (std::size_t b = a + 1; b < 25; ++b)
        ASSERT_TRUE(before[a][b] || !conflict(drawn[a], drawn[b])) << a << " before " << b;
  }
}

/// Returns the processor's time for nodes that read the last two places and write a random one of
/// an arena.
double seconds_for(int nodes) {
  std::mt19937 random(7);
  Graph g;
  const GraphTensor arena = g.tensor(Tensor(DType::u8, {1 << 22}));
  std::vector<GraphTensor> last(2, g.view(arena, 0, f32({16})));
  for (int n = 0; n < nodes; ++n) {
    const auto offset = static_cast<std::int64_t>(random() % 60000 * 64);
    const GraphTensor y =
        g.view(arena, offset, f32({static_cast<std::int64_t>(16 << random() % 5)}));
    g.call(nothing, last, std::span(&y, 1));
    last = {last[1], y};
  }
  return test::cpu_seconds([&] { g.find_order(); });
}

TEST(FindOrder, AHundredThousandNodesInOneArenaAreNotQuadratic) {
  const double small = seconds_for(10000);
  const double large = seconds_for(100000);
  RecordProperty("seconds", std::to_string(large));
  EXPECT_LT(large, 40 * small) << small << " s and " << large << " s";
}

}  // namespace
}  // namespace mote
