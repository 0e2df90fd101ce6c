// SPDX-License-Identifier: Apache-2.0
// verify() finds each broken rule. The rules that no public call breaks are broken in the records
// of symbols and nodes.
#include <gtest/gtest.h>

#include "error_of.h"
#include "mote/symbolic/dependencies.h"
#include "mote/symbolic/symbolic_graph.h"

namespace mote {
namespace {

/// A graph with a node, a view and a tensor that is written in two parts.
struct Sound {
  Sound() {
    left = g.slice(p, 0, 0, 2);
    right = g.slice(p, 0, 2, 2);
    first = g.fill(left, 1);
    second = g.fill(right, 2);
    sum = g.add("add", {h, p});
    g.set_outputs({sum});
  }
  SymbolInfo& record(TensorSymbol symbol) { return const_cast<SymbolInfo&>(g.info(symbol)); }
  NodeInfo& record(NodeSymbol node) { return const_cast<NodeInfo&>(g.info(node)); }
  std::string error() const {
    const std::string error = test::error_of([&] { verify(g); });
    const std::string prefix = "symbolic graph: g: ";
    return error.starts_with(prefix) ? error.substr(prefix.size()) : error;
  }

  SymbolicGraph g{"g"};
  TensorSymbol x = g.input("x", {DType::f32, {4}});
  TensorSymbol h = g.add("relu", {x});
  TensorSymbol p = g.tensor({DType::f32, {4}}, "p");
  TensorSymbol left, right, sum;
  NodeSymbol first, second;
};

TEST(Verify, TakesASoundGraph) { EXPECT_EQ(Sound().error(), ""); }

TEST(Verify, FindsAViewOfARemovedSymbol) {
  Sound s;
  const TensorSymbol unused = s.g.tensor({DType::f32, {4}}, "unused");
  s.g.slice(unused, 0, 0, 1);
  s.g.remove(unused);
  EXPECT_EQ(s.error(), "view t7 is of a symbol that was removed");
}

TEST(Verify, FindsAViewThatIsElsewhere) {
  Sound s;
  s.record(s.right).offset = 1;
  EXPECT_EQ(s.error(),
            "view t4 is not where its step puts it: f32[2] at 1, but the step gives "
            "f32[2] at 2");
}

TEST(Verify, FindsAViewWithAnotherRoot) {
  Sound s;
  s.record(s.right).root = s.x.index;
  EXPECT_EQ(s.error(), "view t4 has the root x, but its base p has the root p");
}

TEST(Verify, FindsAProducerThatDoesNotWrite) {
  Sound s;
  s.record(s.h).producer = s.second.index;
  EXPECT_EQ(s.error(), "t1 names node 2 't4' (fill) as its producer, which does not write it");
}

TEST(Verify, FindsAWriterThatIsNotTheProducer) {
  Sound s;
  s.record(s.h).producer = kNoIndex;
  EXPECT_EQ(s.error(), "node 0 't1' (relu) writes t1, which has another producer");
}

TEST(Verify, FindsTwoWritersOfASymbol) {
  Sound s;
  s.record(s.second).outputs = {s.left.index};
  EXPECT_EQ(s.error(), "node 1 't3' (fill) and node 2 't3' (fill) write t3");
}

TEST(Verify, FindsAWrittenInput) {
  Sound s;
  s.record(s.p).kind = SymbolOrigin::input;
  EXPECT_EQ(s.error(), "node 1 't3' (fill) writes t3, which is an input or a constant");
}

TEST(Verify, FindsARemovedSymbolThatIsWritten) {
  Sound s;
  s.record(s.h).removed = true;
  EXPECT_EQ(s.error(), "node 0 't1' (relu) writes t1, which was removed");
}

TEST(Verify, FindsARemovedSymbolThatIsRead) {
  Sound s;
  const TensorSymbol z = s.g.zeros({DType::f32, {4}}, "z");
  s.g.add("relu", {z});
  s.g.remove(z);
  EXPECT_EQ(s.error(), "node 4 't7' (relu) reads z, which was removed");
}

TEST(Verify, FindsARemovedOutput) {
  Sound s;
  s.g.set_outputs({s.x});
  s.record(s.x).removed = true;
  s.record(s.g.node_at(0)).inputs = {s.p.index};
  EXPECT_EQ(s.error(), "output x was removed");
}

TEST(Verify, FindsElementsThatAreWrittenTwice) {
  Sound s;
  const TensorSymbol middle = s.g.slice(s.p, 0, 1, 2);
  s.record(s.second).outputs = {middle.index};
  s.record(s.right).producer = kNoIndex;
  s.record(middle).producer = s.second.index;
  EXPECT_EQ(s.error(),
            "t3 and t6 share elements, and both are written, by node 1 't3' (fill) and node 2 't6' "
            "(fill)");
}

TEST(Verify, FindsUnwrittenElements) {
  Sound s;
  s.g.remove(s.second);
  EXPECT_EQ(s.error(), "node 3 't5' (add) reads p, of which some elements are not written");
  s.g.remove(s.first);
  EXPECT_EQ(s.error(), "node 3 't5' (add) reads p, which no node writes");
}

TEST(Verify, FindsAnUnwrittenOutput) {
  Sound s;
  s.g.set_outputs({s.g.tensor({DType::f32, {4}}, "q")});
  EXPECT_EQ(s.error(), "output q is written by no node");
}

TEST(Verify, FindsAFormThatIsNotInferred) {
  Sound s;
  s.record(s.h).form = TensorForm{DType::f32, {1, 4}};
  EXPECT_EQ(s.error(), "node 0 't1' (relu) gives f32[4], but t1 is f32[1,4]");
}

TEST(Verify, FindsACopyOfAnotherShape) {
  Sound s;
  s.g.convert(s.x, {DType::f16, {4}});
  s.record(s.g.at(6)).form = TensorForm{DType::f16, {5}};
  EXPECT_EQ(s.error(), "node 4 't6' (copy) copies x f32[4] to t6 f16[5]: the shapes differ");
}

TEST(Verify, FindsARemovedNodeThatOthersComeAfter) {
  Sound s;
  const NodeSymbol lone = s.g.producer(s.g.add("relu", {s.x}));
  s.g.order(lone, s.first);
  s.g.remove(lone);
  EXPECT_EQ(s.error(), "node 1 't3' (fill) comes after a node that was removed");
}

TEST(Verify, FindsACycle) {
  Sound s;
  s.g.order(s.g.producer(s.sum), s.first);
  EXPECT_EQ(test::error_of([&] { verify(s.g); }),
            "symbolic graph: g has a cycle of 2 nodes: node 3 't5' (add), node 1 't3' (fill)");
}

TEST(Verify, ReadsPartsThatAreWrittenTogether) {
  SymbolicGraph g("g");
  const TensorSymbol p = g.tensor({DType::f32, {6, 5}}, "p");
  g.fill(g.slice(p, 1, 0, 2), 1);
  g.fill(g.slice(p, 1, 2, 2), 1);
  g.add("relu", {g.slice(g.slice(p, 1, 1, 2), 0, 2, 3)});  // in both
  EXPECT_NO_THROW(verify(g));
  const TensorSymbol odd = g.slice(g.slice(p, 0, 1, 3, 2), 1, 3, 2);
  g.add("relu", {odd});  // its last column is not written
  EXPECT_THROW(verify(g), StatusError);
  g.fill(g.slice(g.slice(p, 1, 4, 1), 0, 1, 3, 2), 1);
  EXPECT_NO_THROW(verify(g));
  g.add("relu", {g.slice(p, 1, 4, 1)});  // its even rows are not
  EXPECT_THROW(verify(g), StatusError);
}

// Parts with gaps between their elements, of tensors of any size: by steps that divide an extent,
// by others, and seen again and again.
TEST(Verify, FindsWhatIsNotWrittenBetweenSteps) {
  constexpr std::int64_t kRows = 2048, kColumns = 1024;
  for (const std::int64_t step : {2, 3}) {
    SymbolicGraph g("g");
    const TensorSymbol p = g.tensor({DType::f32, {kRows, kColumns}}, "p");
    const auto every = [&](std::int64_t first) {
      return g.slice(p, 1, first, (kColumns - first + step - 1) / step, step);
    };
    for (std::int64_t first = 0; first + 1 < step; ++first) g.fill(every(first), 1);
    g.fill(g.slice(every(step - 1), 0, 0, kRows - 1), 1);  // all but one row of the last ones
    const NodeSymbol reader = g.producer(g.add("relu", {p}));
    EXPECT_THROW(verify(g), StatusError) << step;
    g.remove(reader);
    g.add("relu", {g.broadcast_to(g.slice(p, 0, 0, kRows - 1), {1 << 20, kRows - 1, kColumns})});
    EXPECT_NO_THROW(verify(g)) << step;
    g.fill(g.slice(every(step - 1), 0, kRows - 1, 1), 1);
    g.add("relu", {p});
    EXPECT_NO_THROW(verify(g)) << step;
  }
}

}  // namespace
}  // namespace mote
