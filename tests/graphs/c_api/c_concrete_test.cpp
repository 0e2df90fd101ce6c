// SPDX-License-Identifier: Apache-2.0
// Tests the functions of mote/mote_concrete.h for graphs of operations on tensors.
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "graphs/c_api/c_graphs.h"

namespace {

using mote::test::CommandHandle;
using mote::test::ContextHandle;
using mote::test::elements;
using mote::test::GraphHandle;
using mote::test::made_context;
using mote::test::made_tensor;
using mote::test::TensorHandle;

/// y = -x, with what the tests do around it.
struct Concrete {
  explicit Concrete(int streams = 1) {
    neg.set([](mote_command** c) { return mote_command_parse("neg", c); });
    graph.set([&](mote_graph** g) { return mote_graph_create(context, streams, g); });
  }
  mote_status add_neg(const mote_tensor* from, mote_tensor* to, mote_graph_node* node) const {
    return mote_graph_add(graph, neg, &from, 1, &to, 1, node);
  }

  ContextHandle context = made_context();
  CommandHandle neg;
  TensorHandle x = made_tensor({4}, 1), y = made_tensor({4}, 0), z = made_tensor({4}, 0);
  GraphHandle graph;
};

TEST(GraphC, EdgesFollowFromMemory) {
  for (const int streams : {1, 2}) {
    const Concrete c(streams);
    mote_graph_node nodes[4] = {};
    ASSERT_EQ(mote_graph_fill(c.graph, c.x, 3, &nodes[0]), MOTE_OK) << mote_last_error();
    ASSERT_EQ(c.add_neg(c.x, c.y, &nodes[1]), MOTE_OK) << mote_last_error();
    ASSERT_EQ(mote_graph_copy(c.graph, c.y, c.z, &nodes[2]), MOTE_OK) << mote_last_error();
    ASSERT_EQ(mote_graph_fill(c.graph, c.y, 8, nullptr), MOTE_OK) << mote_last_error();
    ASSERT_EQ(c.add_neg(c.z, c.x, &nodes[3]), MOTE_OK) << mote_last_error();
    EXPECT_EQ(nodes[2], nodes[0] + 2);
    EXPECT_EQ(nodes[3], nodes[0] + 4);
    ASSERT_EQ(mote_graph_find_order(c.graph), MOTE_OK) << mote_last_error();
    for (int round = 0; round < 2; ++round) {
      ASSERT_EQ(mote_graph_run(c.graph), MOTE_OK) << mote_last_error();
      EXPECT_EQ(elements(c.z), std::vector<double>(4, -3));
      EXPECT_EQ(elements(c.y), std::vector<double>(4, 8));
      EXPECT_EQ(elements(c.x), std::vector<double>(4, 3));
    }
    const char* text = nullptr;
    ASSERT_EQ(mote_graph_dot(c.graph, &text), MOTE_OK) << mote_last_error();
    EXPECT_NE(std::strstr(text, "digraph"), nullptr);
    EXPECT_NE(std::strstr(text, "neg"), nullptr);
  }
}

/// The order is given, against that of addition; a node is added after a run.
TEST(GraphC, EdgesAreGiven) {
  const Concrete c;
  mote_graph_node second = 9, first = 9;
  ASSERT_EQ(c.add_neg(c.y, c.z, &second), MOTE_OK);
  ASSERT_EQ(c.add_neg(c.x, c.y, &first), MOTE_OK);
  ASSERT_EQ(mote_graph_order(c.graph, first, second), MOTE_OK) << mote_last_error();
  ASSERT_EQ(mote_graph_run(c.graph), MOTE_OK) << mote_last_error();
  EXPECT_EQ(elements(c.z), std::vector<double>(4, 1));
  mote_graph_node last = 9;
  ASSERT_EQ(mote_graph_copy(c.graph, c.z, c.x, &last), MOTE_OK);
  ASSERT_EQ(mote_graph_order(c.graph, second, last), MOTE_OK);
  ASSERT_EQ(mote_tensor_fill_real(c.x, 5), MOTE_OK);
  ASSERT_EQ(mote_graph_run(c.graph), MOTE_OK) << mote_last_error();
  EXPECT_EQ(elements(c.x), std::vector<double>(4, 5));
  EXPECT_EQ(elements(c.z), std::vector<double>(4, 5));
  EXPECT_EQ(mote_graph_order(c.graph, last, first), MOTE_OK);
  EXPECT_EQ(mote_graph_run(c.graph), MOTE_INVALID);  // a cycle
}

/// A function of the caller's: what it returns is the error of its node.
struct Work {
  mote_graph* graph = nullptr;
  mote_status status = MOTE_OK;
  bool cancels = false;
  int calls = 0;

  static mote_status run(void* argument) {
    Work& work = *static_cast<Work*>(argument);
    ++work.calls;
    const mote_status cancelled = work.cancels ? mote_graph_cancel(work.graph) : MOTE_OK;
    return cancelled != MOTE_OK ? cancelled : work.status;
  }
};

TEST(GraphC, AFunctionMayFailOrCancel) {
  const Concrete c;
  Work work{.graph = c.graph};
  const mote_tensor* const reads[] = {c.x};
  mote_tensor* const writes[] = {c.y};
  ASSERT_EQ(mote_graph_call(c.graph, Work::run, &work, reads, 1, writes, 1, nullptr), MOTE_OK)
      << mote_last_error();
  ASSERT_EQ(c.add_neg(c.y, c.z, nullptr), MOTE_OK);
  ASSERT_EQ(mote_graph_find_order(c.graph), MOTE_OK);
  ASSERT_EQ(mote_tensor_fill_real(c.y, 2), MOTE_OK);
  work.status = MOTE_UNSUPPORTED;
  EXPECT_EQ(mote_graph_run(c.graph), MOTE_UNSUPPORTED);
  EXPECT_NE(std::strstr(mote_last_error(), "node 0"), nullptr) << mote_last_error();
  EXPECT_EQ(elements(c.z), std::vector<double>(4, 0));
  work.status = MOTE_OK;
  work.cancels = true;
  EXPECT_EQ(mote_graph_run(c.graph), MOTE_FAILED);
  EXPECT_NE(std::strstr(mote_last_error(), "cancelled"), nullptr) << mote_last_error();
  EXPECT_EQ(elements(c.z), std::vector<double>(4, 0));
  work.cancels = false;
  EXPECT_EQ(mote_graph_run(c.graph), MOTE_OK) << mote_last_error();
  EXPECT_EQ(elements(c.z), std::vector<double>(4, -2));
  EXPECT_EQ(work.calls, 3);
}

/// A node's handle is of its graph alone.
TEST(GraphC, NodesOfAnotherGraphAreRefused) {
  const Concrete a, b;
  mote_graph_node of_a[2] = {}, of_b[2] = {};
  for (int k = 0; k < 2; ++k) {
    ASSERT_EQ(mote_graph_fill(a.graph, a.x, 1, &of_a[k]), MOTE_OK);
    ASSERT_EQ(mote_graph_fill(b.graph, b.x, 2, &of_b[k]), MOTE_OK);
  }
  const auto expect_refused = [](mote_status status) {
    EXPECT_EQ(status, MOTE_INVALID);
    EXPECT_NE(std::strstr(mote_last_error(), "is of another graph"), nullptr) << mote_last_error();
  };
  expect_refused(mote_graph_order(b.graph, of_a[1], of_a[0]));
  expect_refused(mote_graph_order(b.graph, of_b[0], of_a[1]));
  expect_refused(mote_graph_remove(b.graph, of_a[0]));
  expect_refused(mote_graph_run_part(b.graph, &of_a[0], 1, nullptr, 0));
  EXPECT_EQ(mote_graph_order(b.graph, of_b[0], of_b[1]), MOTE_OK) << mote_last_error();
  EXPECT_EQ(mote_graph_run(b.graph), MOTE_OK) << mote_last_error();
}

}  // namespace
