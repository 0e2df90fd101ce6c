// SPDX-License-Identifier: Apache-2.0
// The checks of plans find what is wrong in graphs that were made by hand.
#include "plan_check.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace mote::test {
namespace {

/// Two values in one buffer, each written and read; `edges` are between these four nodes.
struct OneBuffer {
  enum Node { write_a, write_b, read_a, read_b };

  explicit OneBuffer(const std::vector<std::pair<Node, Node>>& edges, int streams = 1,
                     std::int64_t b_begins = 0) {
    const Tensor memory(DType::f32, {8});
    fill(memory, 0);
    const GraphTensor a = graph.tensor(memory.slice(0, 0, 4), "a");
    const GraphTensor b = graph.tensor(memory.slice(0, b_begins, 4), "b");
    const std::vector<GraphNode> nodes = {
        graph.fill(a, 1), graph.fill(b, 2),
        graph.copy(a, graph.tensor(Tensor(DType::f32, {4}), "of a")),
        graph.copy(b, graph.tensor(Tensor(DType::f32, {4}), "of b"))};
    for (const auto& [before, after] : edges) graph.order(nodes[before], nodes[after]);
    graph.prepare({.context = &context, .streams = streams});
  }

  Context context{{.workers = 2}};
  Graph graph;
};

using Node = OneBuffer::Node;

TEST(PlanCheck, FindsAValueThatIsWrittenOverBeforeItIsRead) {
  const OneBuffer wrong({{Node::write_a, Node::write_b},
                         {Node::write_b, Node::read_a},
                         {Node::read_a, Node::read_b}});
  EXPECT_EQ(lost_value(wrong.graph).value_or(""), "node 1 writes over what node 2 reads later");
  const OneBuffer right({{Node::write_a, Node::read_a},
                         {Node::read_a, Node::write_b},
                         {Node::write_b, Node::read_b}});
  EXPECT_FALSE(lost_value(right.graph));
  const OneBuffer other_way({{Node::write_b, Node::read_b},
                             {Node::read_b, Node::write_a},
                             {Node::write_a, Node::read_a}});
  EXPECT_FALSE(lost_value(other_way.graph));
}

TEST(PlanCheck, FindsItOnSeveralStreams) {
  // Nothing says whether b is written before a is read.
  const OneBuffer wrong({{Node::write_a, Node::read_a},
                         {Node::write_a, Node::write_b},
                         {Node::write_b, Node::read_b}},
                        2);
  ASSERT_EQ(wrong.graph.schedule().stream_count(), 2U);
  EXPECT_EQ(lost_value(wrong.graph).value_or(""), "node 1 writes over what node 2 reads later");
}

TEST(PlanCheck, LooksAtElements) {
  const std::vector<std::pair<Node, Node>> edges = {
      {Node::write_a, Node::write_b}, {Node::write_b, Node::read_a}, {Node::read_a, Node::read_b}};
  EXPECT_TRUE(lost_value(OneBuffer(edges, 1, 3).graph));
  EXPECT_FALSE(lost_value(OneBuffer(edges, 1, 4).graph));
}

}  // namespace
}  // namespace mote::test
