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
  t.g.attributes().set("target", std::string("late device"));
  t.g.attributes().set_nodes("cost", costs);
  t.g.attributes().set(t.y, "mark", std::vector<int>{1, 2});
  const SymbolicGraph& g = t.g;
  EXPECT_EQ(g.attributes().at<std::string>("target"), "late device");
  const IndexColumn<double>& cost = g.attributes().nodes<double>("cost");
  EXPECT_EQ(*cost.find(1), 2.5);
  EXPECT_EQ(cost.find(2), nullptr);
  EXPECT_EQ(*g.attributes().find<double>(g.node_at(0), "cost"), 1.5);
  EXPECT_EQ((*g.attributes().find<std::vector<int>>(t.y, "mark")), (std::vector<int>{1, 2}));
  EXPECT_EQ(g.attributes().find<std::vector<int>>(t.z, "mark"), nullptr);
  EXPECT_EQ(g.attributes().find<int>("nothing"), nullptr);
  EXPECT_EQ(g.attributes().names(), (std::vector<std::string>{"cost", "mark", "target"}));
}

TEST(Attributes, OfTwoGraphsDoNotMix) {
  TwoNodes a;
  TwoNodes b;
  a.g.attributes().set("n", 1);
  EXPECT_FALSE(b.g.attributes().has("n"));
  EXPECT_THROW(b.g.attributes().set(a.y, "mark", 1), StatusError);
}

TEST(Attributes, AreCopiedDeeplyWithTheGraph) {
  TwoNodes t;
  t.g.attributes().set("list", std::vector<int>{1});
  t.g.attributes().set(t.y, "mark", 5);
  SymbolicGraph copy(t.g);
  t.g.attributes().set("list", std::vector<int>{2, 3});
  t.g.attributes().set(t.y, "mark", 6);
  EXPECT_EQ(copy.attributes().at<std::vector<int>>("list"), (std::vector<int>{1}));
  EXPECT_EQ(*copy.attributes().find<int>(copy.at(t.y.index), "mark"), 5);
  copy.attributes().drop("list");
  EXPECT_TRUE(t.g.attributes().has("list"));
}

TEST(Attributes, WhoseCopiesWouldShareAreRefused) {
  TwoNodes t;
  EXPECT_EQ(refusal_of([&] { t.g.attributes().set("p", std::make_shared<int>(1)); }),
            "symbolic graph: attribute p of type std::shared_ptr<int> cannot be set, since it is "
            "copied with its graph: a copy would share what it points to");
  EXPECT_NE(refusal_of([&] {
              t.g.attributes().set("p", std::unique_ptr<int>());
            }).find("it cannot be copied"),
            std::string::npos);
  int n = 0;
  EXPECT_THROW(t.g.attributes().set_nodes("p", std::vector<int*>{&n}), StatusError);
  EXPECT_FALSE(t.g.attributes().has("p"));
  t.g.attributes().set("p", std::make_shared<const int>(1));  // it cannot be changed
  EXPECT_TRUE(t.g.attributes().has("p"));
}

TEST(Attributes, HaveOneTypeAndOneBearer) {
  TwoNodes t;
  t.g.attributes().set_nodes("cost", std::vector<double>{1});
  EXPECT_EQ(refusal_of([&] { t.g.attributes().nodes<float>("cost"); }),
            "symbolic graph: attribute cost is of type double, asked for as float");
  EXPECT_EQ(refusal_of([&] { t.g.attributes().symbols<double>("cost"); }),
            "symbolic graph: attribute cost is one of nodes, asked for as one of symbols");
  EXPECT_EQ(refusal_of([&] { t.g.attributes().set("cost", 1.0); }),
            "symbolic graph: attribute cost is one of nodes, asked for as one of the graph");
  t.g.add("neg", {t.x});
  // The type stays when the values are out of date.
  EXPECT_THROW(t.g.attributes().set_nodes("cost", std::vector<int>{1}), StatusError);
  EXPECT_FALSE(t.g.attributes().has("cost"));
  t.g.attributes().drop("cost");
  t.g.attributes().set_nodes("cost", std::vector<int>{1});
  EXPECT_EQ(*t.g.attributes().nodes<int>("cost").find(0), 1);
}

TEST(Attributes, CannotBeReadOnceTheStructureHasChanged) {
  TwoNodes t;
  t.g.attributes().set_nodes("cost", std::vector<double>{1, 2});
  const std::uint64_t version = t.g.version();
  EXPECT_EQ(t.g.attributes().version("cost"), version);
  t.g.add("neg", {t.x});
  EXPECT_FALSE(t.g.attributes().has("cost"));
  EXPECT_EQ(refusal_of([&] { t.g.attributes().find<double>(t.g.node_at(0), "cost"); }),
            "symbolic graph: attribute cost was set for version " + std::to_string(version) +
                " of two, which is at version " + std::to_string(t.g.version()) +
                ", and no registered pass provides it");
  t.g.attributes().set(t.g.node_at(0), "cost", 3.0);
  EXPECT_EQ(*t.g.attributes().nodes<double>("cost").find(0), 3.0);
  EXPECT_EQ(t.g.attributes().nodes<double>("cost").find(1), nullptr);  // what was out of date
}

TEST(Attributes, MayHoldAsLongAsTheGraph) {
  TwoNodes t;
  t.g.attributes().set(t.y, "mark", true, AttributeLife::graph);
  t.g.add("neg", {t.x});
  t.g.attributes().set(t.z, "mark", false, AttributeLife::graph);
  EXPECT_TRUE(*t.g.attributes().find<bool>(t.y, "mark"));
  EXPECT_FALSE(*t.g.attributes().find<bool>(t.z, "mark"));
}

TEST(Attributes, OfWhatWasRemovedCannotBeAskedFor) {
  TwoNodes t;
  t.g.attributes().set(t.g.node_at(1), "mark", 1, AttributeLife::graph);
  t.g.remove(t.g.node_at(1));
  EXPECT_THROW(t.g.attributes().find<int>(t.g.node_at(1), "mark"), StatusError);
}

TEST(Attributes, ThatAreMissingAreErrorsWhereTheyAreNeeded) {
  TwoNodes t;
  EXPECT_EQ(refusal_of([&] { t.g.attributes().at<int>("n"); }),
            "symbolic graph: two has no attribute n, and no registered pass provides it");
  EXPECT_THROW(t.g.attributes().version("n"), StatusError);
  EXPECT_THROW(t.g.attributes().set("", 1), StatusError);
}

}  // namespace
}  // namespace mote
