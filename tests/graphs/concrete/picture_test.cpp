// SPDX-License-Identifier: Apache-2.0
// Tests the picture of a graph and the trace of its runs.
#include "mote/graph/picture.h"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "graphs/concrete/counting.h"
#include "mote/runtime/context.h"
#include "mote/runtime/status.h"
#include "runtime/heap_count.h"

namespace mote {
namespace {

using Json = nlohmann::json;
using test::filled;

/// A diamond: "in", two named nodes side by side, and a function.
Graph diamond() {
  Graph g;
  const GraphTensor x = g.tensor(filled({2}, 1), "x");
  const GraphTensor a = g.tensor(filled({2}, 1), "a \"quoted\"");
  const GraphTensor b = g.tensor(filled({2}, 1), "b");
  g.fill(x, 3, {.name = "in"});
  g.add(Command("neg"), {x}, {a}, {.name = "left"});
  g.add(Command("abs"), {x}, {b});
  g.call([](auto, auto) { std::this_thread::sleep_for(std::chrono::milliseconds(1)); }, {a, b, x},
         {}, {.name = "join"});
  g.find_order();
  return g;
}

TEST(GraphPicture, ShowsNodesFormsStreamsAndEvents) {
  Graph g = diamond();
  EXPECT_EQ(to_dot(g).find("cluster"), std::string::npos);
  g.prepare({.streams = 2});
  EXPECT_EQ(to_dot(g), R"dot(digraph mote {
  node [shape=box,style=filled,fillcolor=white];
  subgraph cluster_0 {
    label="stream 0";
    node [fillcolor="#cfe2f3"];
    n0 [label="0 'in' fill\n -> 'x' f32[2]"];
    n1 [label="1 'left' neg\n'x' f32[2] -> 'a \"quoted\"' f32[2]"];
    n3 [label="3 'join' function\n'a \"quoted\"' f32[2], 'b' f32[2], 'x' f32[2] -> "];
  }
  subgraph cluster_1 {
    label="stream 1";
    node [fillcolor="#d9ead3"];
    n2 [label="2 abs\n'x' f32[2] -> 'b' f32[2]"];
  }
  n0 -> n1;
  n0 -> n2 [style=bold,label="event 0"];
  n0 -> n3;
  n1 -> n3;
  n2 -> n3 [style=bold,label="event 1"];
}
)dot");
}

/// The members that the Trace Event Format requires of each kind of event that is written.
void check_event(const Json& e) {
  ASSERT_TRUE(e.is_object());
  ASSERT_TRUE(e.at("name").is_string());
  ASSERT_TRUE(e.at("ph").is_string());
  ASSERT_TRUE(e.at("pid").is_number_integer());
  ASSERT_TRUE(e.at("tid").is_number_integer());
  if (e.at("ph") == "M") {
    const std::string name = e.at("name");
    ASSERT_TRUE(name == "process_name" || name == "thread_name") << name;
    ASSERT_TRUE(e.at("args").at("name").is_string());
    return;
  }
  ASSERT_EQ(e.at("ph"), "X");
  ASSERT_TRUE(e.at("cat").is_string());
  ASSERT_TRUE(e.at("ts").is_number());
  ASSERT_TRUE(e.at("dur").is_number());
  ASSERT_GE(e.at("ts").get<double>(), 0);
  ASSERT_GE(e.at("dur").get<double>(), 0);
}

TEST(GraphTrace, HasTheFieldsOfTheFormat) {
  Context context({.workers = 2});
  Graph g = diamond();
  for (int streams = 1; streams <= 2; ++streams) {
    g.prepare({.context = &context, .streams = streams});
    GraphTrace trace;
    g.trace_to(&trace);
    for (int k = 0; k < 3; ++k) g.run();
    g.trace_to(nullptr);
    g.run();
    ASSERT_EQ(trace.runs.size(), 3U);
    const Json whole = Json::parse(to_trace_json(g, trace));
    EXPECT_EQ(whole.at("displayTimeUnit"), "ns");
    std::map<std::string, int> names;
    std::map<int, std::string> rows;
    std::map<int, double> end_of;  // spans of one row follow each other
    for (const Json& e : whole.at("traceEvents")) {
      check_event(e);
      if (e.at("name") == "thread_name") rows[e.at("tid")] = e.at("args").at("name");
      if (e.at("ph") != "X") continue;
      ++names[e.at("name")];
      const int row = e.at("tid");
      EXPECT_EQ(g.schedule().stream[e.at("args").at("node").get<std::size_t>()],
                static_cast<std::uint32_t>(row));
      if (e.at("name") == "join") {
        EXPECT_GE(e.at("dur").get<double>(), 1000);  // microseconds
        EXPECT_LT(e.at("dur").get<double>(), 1e6);
      }
    }
    EXPECT_EQ(names, (std::map<std::string, int>{{"in", 3}, {"left", 3}, {"abs", 3}, {"join", 3}}));
    EXPECT_EQ(rows.size(), static_cast<std::size_t>(streams));
    EXPECT_EQ(rows.at(0), "stream 0");
    for (const GraphTrace::Run& run : trace.runs) {  // edges are seen in the times
      EXPECT_LE(run.spans[0].end, run.spans[1].begin);
      EXPECT_LE(run.spans[0].end, run.spans[2].begin);
      EXPECT_LE(run.spans[1].end, run.spans[3].begin);
      EXPECT_LE(run.spans[2].end, run.spans[3].begin);
    }
  }
}

TEST(GraphTrace, ShowsWhatRanBeforeAFailure) {
  Graph g;
  const GraphNode a = g.call([](auto, auto) {}, {}, {}, {.name = "ran \"well\"\n\xff"});
  const GraphNode b = g.call([](auto, auto) { throw 1; }, {}, {}, {.name = "failed"});
  g.order(a, b);
  GraphTrace trace;
  g.trace_to(&trace);
  EXPECT_THROW(g.run(), StatusError);
  const Json events = Json::parse(to_trace_json(g, trace)).at("traceEvents");
  int spans = 0;
  for (const Json& e : events) spans += e.at("ph") == "X" ? 1 : 0;
  EXPECT_EQ(spans, 1);
  EXPECT_EQ(events.back().at("name"), "ran \"well\"\n\xEF\xBF\xBD");
}

}  // namespace
}  // namespace mote
