// SPDX-License-Identifier: Apache-2.0
// Attributes of graphs: types, bearers, copies, and until when they may be read.
#include "mote/symbolic/attributes.h"

#include <gtest/gtest.h>

#include "mote/runtime/status.h"
#include "mote/symbolic/symbolic_graph.h"

namespace mote {
namespace {

struct TwoNodes {
  SymbolicGraph g{"two"};
  TensorSymbol x = g.input("x", {DType::f32, {3}});
  TensorSymbol y = g.add("neg", {x});
  TensorSymbol z = g.add("relu", {y});
};

constexpr GraphAttribute<std::string> kTarget{"target"};
constexpr GraphAttribute<std::vector<int>> kList{"list"};
constexpr GraphAttribute<int> kCount{"n"};
constexpr NodeAttribute<double> kCost{"cost"};
constexpr NodeAttribute<int> kIntegerCost{"cost"};
constexpr SymbolAttribute<int> kMark{"mark"};
constexpr SymbolAttribute<std::vector<int>> kMarks{"mark"};
constexpr SymbolAttribute<bool> kLastingMark{"mark", AttributeLife::graph};
constexpr NodeAttribute<int> kLastingNodeMark{"mark", AttributeLife::graph};

std::string refusal_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const StatusError& e) {
    return e.what();
  }
  return "";
}

TEST(Attributes, HoldValuesOfAnyTypeOfGraphSymbolsAndNodes) {
  TwoNodes t;
  const std::vector<double> costs = {1.5, 2.5};
  t.g.attributes().set(kTarget, "late device");
  t.g.attributes().set(kCost, costs);
  t.g.attributes().set(t.y, kMarks, {1, 2});
  const SymbolicGraph& g = t.g;
  EXPECT_EQ(g.attributes().at(kTarget), "late device");
  const IndexColumn<double>& cost = g.attributes().at(kCost);
  EXPECT_EQ(*cost.find(1), 2.5);
  EXPECT_EQ(cost.find(2), nullptr);
  EXPECT_EQ(*g.attributes().find(g.node_at(0), kCost), 1.5);
  EXPECT_EQ(*g.attributes().find(t.y, kMarks), (std::vector<int>{1, 2}));
  EXPECT_EQ(g.attributes().find(t.z, kMarks), nullptr);
  EXPECT_EQ(g.attributes().find(kCount), nullptr);
  EXPECT_EQ(g.attributes().names(), (std::vector<std::string>{"cost", "mark", "target"}));
}

TEST(Attributes, OfTwoGraphsDoNotMix) {
  TwoNodes a;
  TwoNodes b;
  a.g.attributes().set(kCount, 1);
  EXPECT_FALSE(b.g.attributes().has("n"));
  EXPECT_THROW(b.g.attributes().set(a.y, kMark, 1), StatusError);
}

TEST(Attributes, AreCopiedDeeplyWithTheGraph) {
  TwoNodes t;
  t.g.attributes().set(kList, {1});
  t.g.attributes().set(t.y, kMark, 5);
  SymbolicGraph copy(t.g);
  t.g.attributes().set(kList, {2, 3});
  t.g.attributes().set(t.y, kMark, 6);
  EXPECT_EQ(copy.attributes().at(kList), (std::vector<int>{1}));
  EXPECT_EQ(*copy.attributes().find(copy.at(t.y.index), kMark), 5);
  copy.attributes().drop("list");
  EXPECT_TRUE(t.g.attributes().has("list"));
}

TEST(Attributes, WhoseCopiesWouldShareAreRefused) {
  TwoNodes t;
  EXPECT_EQ(refusal_of([&] {
              t.g.attributes().set(GraphAttribute<std::shared_ptr<int>>{"p"},
                                   std::make_shared<int>(1));
            }),
            "symbolic graph: attribute p of type std::shared_ptr<int> cannot be set, since it is "
            "copied with its graph: a copy would share what it points to");
  EXPECT_NE(refusal_of([&] {
              t.g.attributes().set(GraphAttribute<std::unique_ptr<int>>{"p"}, nullptr);
            }).find("it cannot be copied"),
            std::string::npos);
  int n = 0;
  EXPECT_THROW(t.g.attributes().set(NodeAttribute<int*>{"p"}, {&n}), StatusError);
  EXPECT_FALSE(t.g.attributes().has("p"));
  t.g.attributes().set(GraphAttribute<std::shared_ptr<const int>>{"p"},
                       std::make_shared<const int>(1));  // it cannot be changed
  EXPECT_TRUE(t.g.attributes().has("p"));
}

TEST(Attributes, HaveOneTypeAndOneBearer) {
  TwoNodes t;
  t.g.attributes().set(kCost, {1});
  EXPECT_EQ(refusal_of([&] { t.g.attributes().at(NodeAttribute<float>{"cost"}); }),
            "symbolic graph: attribute cost is of type double, asked for as float");
  EXPECT_EQ(refusal_of([&] { t.g.attributes().at(SymbolAttribute<double>{"cost"}); }),
            "symbolic graph: attribute cost is one of nodes, asked for as one of symbols");
  EXPECT_EQ(refusal_of([&] { t.g.attributes().set(GraphAttribute<double>{"cost"}, 1.0); }),
            "symbolic graph: attribute cost is one of nodes, asked for as one of the graph");
  t.g.add("neg", {t.x});
  // The type stays when the values are out of date.
  EXPECT_THROW(t.g.attributes().set(kIntegerCost, {1}), StatusError);
  EXPECT_FALSE(t.g.attributes().has("cost"));
  t.g.attributes().drop("cost");
  t.g.attributes().set(kIntegerCost, {1});
  EXPECT_EQ(*t.g.attributes().at(kIntegerCost).find(0), 1);
}

TEST(Attributes, CannotBeReadOnceTheStructureHasChanged) {
  TwoNodes t;
  t.g.attributes().set(kCost, {1, 2});
  const std::uint64_t version = t.g.version();
  EXPECT_EQ(t.g.attributes().version("cost"), version);
  t.g.add("neg", {t.x});
  EXPECT_FALSE(t.g.attributes().has("cost"));
  EXPECT_EQ(refusal_of([&] { t.g.attributes().find(t.g.node_at(0), kCost); }),
            "symbolic graph: attribute cost was set for version " + std::to_string(version) +
                " of two, which is at version " + std::to_string(t.g.version()) +
                ", and no registered pass provides it");
  t.g.attributes().set(t.g.node_at(0), kCost, 3.0);
  EXPECT_EQ(*t.g.attributes().at(kCost).find(0), 3.0);
  EXPECT_EQ(t.g.attributes().at(kCost).find(1), nullptr);  // what was out of date
}

TEST(Attributes, MayHoldAsLongAsTheGraph) {
  TwoNodes t;
  t.g.attributes().set(t.y, kLastingMark, true);
  t.g.add("neg", {t.x});
  t.g.attributes().set(t.z, kLastingMark, false);
  EXPECT_TRUE(*t.g.attributes().find(t.y, kLastingMark));
  EXPECT_FALSE(*t.g.attributes().find(t.z, kLastingMark));
}

TEST(Attributes, OfWhatWasRemovedCannotBeAskedFor) {
  TwoNodes t;
  t.g.attributes().set(t.g.node_at(1), kLastingNodeMark, 1);
  t.g.remove(t.g.node_at(1));
  EXPECT_THROW(t.g.attributes().find(t.g.node_at(1), kLastingNodeMark), StatusError);
}

TEST(Attributes, ThatAreMissingAreErrorsWhereTheyAreNeeded) {
  TwoNodes t;
  EXPECT_EQ(refusal_of([&] { t.g.attributes().at(kCount); }),
            "symbolic graph: two has no attribute n, and no registered pass provides it");
  EXPECT_THROW(t.g.attributes().version("n"), StatusError);
  EXPECT_THROW(t.g.attributes().set(GraphAttribute<int>{""}, 1), StatusError);
}

}  // namespace
}  // namespace mote
