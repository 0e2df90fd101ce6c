// SPDX-License-Identifier: Apache-2.0
// The functions of mote/mote_concrete.h that run, measure and describe graphs of operations on
// tensors.
#include <algorithm>
#include <cstddef>
#include <cstring>

#include "c/objects.h"
#include "c/symbols.h"
#include "c/tuning.h"

using namespace mote;     // NOLINT: C functions follow
using namespace mote::c;  // NOLINT

namespace {

/// Returns the part of the graph between these nodes, which is made once.
GraphPart part_of(mote_graph& graph, const mote_graph::Ends& ends) {
  const auto known = graph.parts.find(ends);
  if (known != graph.parts.end()) return known->second;
  std::vector<GraphNode> sources, destinations;
  for (const mote_graph_node node : ends.first) sources.push_back(node_of(graph, node));
  for (const mote_graph_node node : ends.second) destinations.push_back(node_of(graph, node));
  return graph.parts.emplace(ends, graph.graph.part(sources, destinations)).first->second;
}

std::vector<mote_graph_node> numbers(const mote_graph_node* nodes, std::size_t count,
                                     const char* what) {
  if (count > 0) given(nodes, what);
  return {nodes, nodes + count};
}

}  // namespace

mote_status mote_graph_run(mote_graph* graph) {
  return guarded(__func__, [&] {
    mote_graph& of = given(graph, "graph");
    of.prepare();
    of.graph.run();
  });
}

mote_status mote_graph_run_part(mote_graph* graph, const mote_graph_node* sources,
                                size_t source_count, const mote_graph_node* destinations,
                                size_t destination_count) {
  return guarded(__func__, [&] {
    mote_graph& of = given(graph, "graph");
    const mote_graph::Ends ends{numbers(sources, source_count, "sources"),
                                numbers(destinations, destination_count, "destinations")};
    of.prepare();
    of.graph.run(part_of(of, ends));
  });
}

mote_status mote_graph_run_on(mote_graph* graph, mote_stream* stream) {
  return guarded(__func__, [&] {
    mote_graph& of = given(graph, "graph");
    Stream& on = given(stream, "stream").stream;
    of.prepare();
    of.graph.run(on);
  });
}

mote_status mote_graph_cancel(mote_graph* graph) {
  return guarded(__func__, [&] { given(graph, "graph").graph.cancel(); });
}

mote_status mote_graph_dot(mote_graph* graph, const char** text) {
  return guarded(__func__, [&] {
    auto& result = given(text, "text");
    mote_graph& of = given(graph, "graph");
    of.text = to_dot(of.graph);
    result = of.text.c_str();
  });
}

mote_status mote_graph_trace(mote_graph* graph, int32_t on) {
  return guarded(__func__, [&] {
    mote_graph& of = given(graph, "graph");
    of.graph.trace_to(nullptr);  // waits for the runs under way
    if (on == 0) return;
    of.trace.runs.clear();
    of.graph.trace_to(&of.trace);
  });
}

mote_status mote_graph_trace_text(mote_graph* graph, const char** text) {
  return guarded(__func__, [&] {
    auto& result = given(text, "text");
    mote_graph& of = given(graph, "graph");
    of.text = to_trace_json(of.graph, of.trace);
    result = of.text.c_str();
  });
}

mote_status mote_graph_autotune(mote_graph* graph, const mote_tuning_options* options,
                                size_t* commands) {
  return guarded(__func__, [&] {
    mote_graph& of = given(graph, "graph");
    const TuningOptions with = options != nullptr ? tuning_options_of(*options) : TuningOptions{};
    of.prepare();
    const std::size_t asked = of.graph.autotune(with);
    if (commands != nullptr) *commands = asked;
  });
}

mote_status mote_graph_untuned(mote_graph* graph, const char** text) {
  return guarded(__func__, [&] {
    auto& result = given(text, "text");
    mote_graph& of = given(graph, "graph");
    of.text = lines_of(of.graph.untuned());
    result = of.text.c_str();
  });
}

mote_status mote_graph_get_statistics(mote_graph* graph, mote_graph_statistics* statistics) {
  return guarded(__func__, [&] {
    mote_graph& of = given(graph, "graph");
    mote_graph_statistics all =
        sized(given(statistics, "statistics"), offsetof(mote_graph_statistics, edges));
    of.prepare();
    const GraphStatistics known = of.graph.statistics();
    all.nodes = known.nodes;
    all.edges = known.edges;
    all.waits = known.waits;
    all.events = known.events;
    all.streams = known.streams;
    all.workspace_bytes = known.workspace_bytes;
    std::memcpy(statistics, &all, std::min(statistics->size, sizeof(all)));
  });
}
