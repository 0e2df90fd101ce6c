// SPDX-License-Identifier: Apache-2.0
// Lists of indices that are short: the same entries as a vector, whatever is done with both; and
// forms that symbols share.
#include "mote/graph/short_list.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "mote/symbolic/symbolic_graph.h"

namespace mote {
namespace {

using Vector = std::vector<std::uint32_t>;

TEST(ShortList, HasTheEntriesOfAVector) {
  std::mt19937 random(5);
  const auto below = [&](std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); };
  for (int round = 0; round < 2000; ++round) {
    Vector v;
    ShortList list;
    ShortList other = {9, 8, 7, 6, 5, 4};
    for (int step = 0; step < 20; ++step) {
      switch (below(8)) {
        case 0:
        case 1:
          v.push_back(below(100));
          list.push_back(v.back());
          break;
        case 2:
          v.resize(below(9), 3);
          list.resize(v.size(), 3);
          break;
        case 3:
          if (v.empty()) break;
          v.pop_back();
          list.pop_back();
          break;
        case 4: {
          const auto begin =
              static_cast<std::ptrdiff_t>(below(static_cast<std::uint32_t>(v.size()) + 1));
          v.erase(v.begin() + begin, v.end());
          list.erase(list.begin() + begin, list.end());
          break;
        }
        case 5:
          other = list;
          list = std::move(other);
          other = {1, 2};
          break;
        case 6: {
          ShortList moved(std::move(list));
          list = ShortList{7};
          list = moved;
          break;
        }
        case 7:
          v.assign(below(7), below(100));
          list.assign(v);
          break;
      }
      ASSERT_EQ(list, v);
      ASSERT_EQ(ShortList(v), list);
      ASSERT_EQ(list.empty(), v.empty());
    }
  }
}

TEST(ShortList, AssignsItsOwnEntries) {
  ShortList list = {1, 2, 3, 4, 5, 6};
  const ShortList& same = list;
  list = same;
  EXPECT_EQ(list, (Vector{1, 2, 3, 4, 5, 6}));
  list.assign(std::span(same).subspan(2, 3));
  EXPECT_EQ(list, (Vector{3, 4, 5}));
}

TEST(SharedForm, IsOneObjectForSymbolsOfOneForm) {
  SymbolicGraph g;
  const TensorSymbol x = g.input("x", {DType::f32, {2, 3}});
  const TensorSymbol y = g.add("neg", {x});
  const TensorSymbol other = g.tensor({DType::f32, {3, 2}});
  const TensorSymbol z = g.tensor({DType::f32, {2, 3}});
  EXPECT_EQ(&g.form(x), &g.form(y));
  EXPECT_EQ(&g.form(x), &g.form(z));
  EXPECT_NE(g.info(x).form, g.info(other).form);
  const SymbolicGraph copy(g);
  g = SymbolicGraph("empty");  // the copy keeps what it shared
  EXPECT_EQ(to_string(copy.form(copy.at(y.index))), "f32[2,3]");
  EXPECT_EQ(SharedForm(), TensorForm());
}

}  // namespace
}  // namespace mote
