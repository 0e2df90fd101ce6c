// SPDX-License-Identifier: Apache-2.0
// Tests the functions of mote/mote_concrete.h that run graphs of operations on tensors: with other
// memory, in part, on a stream, recorded and measured.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <nlohmann/json.hpp>
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
using Numbers = std::vector<double>;

/// y = -x, z = -y, and w = -x.
struct Negations {
  explicit Negations(int streams = 1, bool is_bindable = false) {
    neg.set([](mote_command** c) { return mote_command_parse("neg", c); });
    graph.set([&](mote_graph** g) { return mote_graph_create(context, streams, g); });
    if (is_bindable) {
      EXPECT_EQ(mote_graph_placeholder(graph, x), MOTE_OK) << mote_last_error();
    }
    add(x, y, &to_y);
    add(y, z, &to_z);
    add(x, w, &to_w);
    EXPECT_EQ(mote_graph_find_order(graph), MOTE_OK) << mote_last_error();
  }
  void add(const mote_tensor* from, mote_tensor* to, mote_graph_node* node) const {
    EXPECT_EQ(mote_graph_add(graph, neg, &from, 1, &to, 1, node), MOTE_OK) << mote_last_error();
  }

  ContextHandle context = made_context();
  CommandHandle neg;
  TensorHandle x = made_tensor({4}, 1), y = made_tensor({4}, 0), z = made_tensor({4}, 0),
               w = made_tensor({4}, 0);
  GraphHandle graph;
  mote_graph_node to_y = 9, to_z = 9, to_w = 9;
};

TEST(GraphRunsC, OtherMemoryIsBound) {
  for (const int streams : {1, 2}) {
    const Negations n(streams, true);
    ASSERT_EQ(mote_graph_run(n.graph), MOTE_OK) << mote_last_error();
    EXPECT_EQ(elements(n.z), Numbers(4, 1));
    const TensorHandle other = made_tensor({4}, 7), wrong = made_tensor({5}, 7);
    ASSERT_EQ(mote_graph_bind(n.graph, n.x, other), MOTE_OK) << mote_last_error();
    ASSERT_EQ(mote_graph_run(n.graph), MOTE_OK) << mote_last_error();
    EXPECT_EQ(elements(n.z), Numbers(4, 7));
    EXPECT_EQ(elements(n.w), Numbers(4, -7));
    EXPECT_EQ(mote_graph_bind(n.graph, n.x, wrong), MOTE_INVALID);
    EXPECT_NE(std::strstr(mote_last_error(), "f32[5]"), nullptr) << mote_last_error();
    EXPECT_EQ(mote_graph_bind(n.graph, n.y, other), MOTE_INVALID);
    EXPECT_NE(std::strstr(mote_last_error(), "no placeholder"), nullptr) << mote_last_error();
    EXPECT_EQ(mote_graph_placeholder(n.graph, n.x), MOTE_INVALID);
    ASSERT_EQ(mote_graph_run(n.graph), MOTE_OK) << mote_last_error();
    EXPECT_EQ(elements(n.z), Numbers(4, 7));
  }
}

TEST(GraphRunsC, APartRunsTheNodesBetween) {
  const Negations n(2);
  for (int round = 0; round < 2; ++round) {
    ASSERT_EQ(mote_graph_run_part(n.graph, &n.to_y, 1, &n.to_z, 1), MOTE_OK) << mote_last_error();
    EXPECT_EQ(elements(n.z), Numbers(4, 1));
    EXPECT_EQ(elements(n.w), Numbers(4, 0));
  }
  ASSERT_EQ(mote_graph_run_part(n.graph, nullptr, 0, &n.to_w, 1), MOTE_OK) << mote_last_error();
  EXPECT_EQ(elements(n.w), Numbers(4, -1));
  const mote_graph_node none = 77;
  EXPECT_EQ(mote_graph_run_part(n.graph, &none, 1, nullptr, 0), MOTE_INVALID);
  EXPECT_NE(std::strstr(mote_last_error(), "node 77 is of another graph, or of none"), nullptr)
      << mote_last_error();
  const mote_graph_node beyond = n.to_y + 77;
  EXPECT_EQ(mote_graph_run_part(n.graph, &beyond, 1, nullptr, 0), MOTE_INVALID);
  EXPECT_NE(std::strstr(mote_last_error(), "has 3 nodes, got 77"), nullptr) << mote_last_error();
}

TEST(GraphRunsC, ANodeIsRemoved) {
  const Negations n;
  ASSERT_EQ(mote_graph_remove(n.graph, n.to_w), MOTE_OK) << mote_last_error();
  ASSERT_EQ(mote_graph_run(n.graph), MOTE_OK) << mote_last_error();
  EXPECT_EQ(elements(n.z), Numbers(4, 1));
  EXPECT_EQ(elements(n.w), Numbers(4, 0));
  EXPECT_EQ(mote_graph_remove(n.graph, n.to_w), MOTE_INVALID);
}

TEST(GraphRunsC, AStreamTakesARun) {
  const Negations n;
  mote_stream* stream = nullptr;
  ASSERT_EQ(mote_stream_create(n.context, &stream), MOTE_OK) << mote_last_error();
  ASSERT_EQ(mote_graph_run_on(n.graph, stream), MOTE_OK) << mote_last_error();
  EXPECT_EQ(mote_stream_synchronize(stream), MOTE_OK) << mote_last_error();
  EXPECT_EQ(elements(n.z), Numbers(4, 1));
  mote_stream_free(stream);
}

TEST(GraphRunsC, RunsAreRecorded) {
  const Negations n;
  const char* text = nullptr;
  ASSERT_EQ(mote_graph_trace(n.graph, 1), MOTE_OK) << mote_last_error();
  ASSERT_EQ(mote_graph_run(n.graph), MOTE_OK);
  ASSERT_EQ(mote_graph_run(n.graph), MOTE_OK);
  ASSERT_EQ(mote_graph_trace(n.graph, 0), MOTE_OK) << mote_last_error();
  ASSERT_EQ(mote_graph_run(n.graph), MOTE_OK);
  ASSERT_EQ(mote_graph_trace_text(n.graph, &text), MOTE_OK) << mote_last_error();
  const auto trace = nlohmann::json::parse(text);
  int spans = 0;
  for (const auto& event : trace.at("traceEvents")) spans += event.at("ph") == "X" ? 1 : 0;
  EXPECT_EQ(spans, 6);
}

TEST(GraphRunsC, KernelsAreMeasuredAndNodesCounted) {
  const Negations n(2);
  std::size_t commands = 0;
  mote_tuning_options options = {sizeof(options), 0.01, 1, 0};
  ASSERT_EQ(mote_graph_autotune(n.graph, &options, &commands), MOTE_OK) << mote_last_error();
  EXPECT_EQ(commands, 3U);
  EXPECT_EQ(elements(n.z), Numbers(4, 0));  // it works on copies
  const char* untuned = nullptr;
  ASSERT_EQ(mote_graph_untuned(n.graph, &untuned), MOTE_OK) << mote_last_error();
  EXPECT_STREQ(untuned, "");
  ASSERT_EQ(mote_graph_autotune(n.graph, nullptr, nullptr), MOTE_OK) << mote_last_error();
  mote_graph_statistics statistics = {};
  statistics.size = sizeof(statistics);
  ASSERT_EQ(mote_graph_get_statistics(n.graph, &statistics), MOTE_OK) << mote_last_error();
  EXPECT_EQ(statistics.nodes, 3U);
  EXPECT_EQ(statistics.edges, 1U);
  EXPECT_EQ(statistics.size, sizeof(statistics));
}

TEST(GraphRunsC, AnOlderStructOfStatisticsIsFilled) {
  const Negations n;
  alignas(mote_graph_statistics) std::byte room[sizeof(mote_graph_statistics)];
  std::memset(room, 0x5A, sizeof(room));
  const std::size_t size = offsetof(mote_graph_statistics, waits);
  std::memcpy(room, &size, sizeof(size));
  auto* old = reinterpret_cast<mote_graph_statistics*>(room);
  ASSERT_EQ(mote_graph_get_statistics(n.graph, old), MOTE_OK) << mote_last_error();
  EXPECT_EQ(old->nodes, 3U);
  EXPECT_EQ(old->edges, 1U);
  for (std::size_t k = size; k < sizeof(room); ++k) EXPECT_EQ(room[k], std::byte{0x5A}) << k;
}

}  // namespace
