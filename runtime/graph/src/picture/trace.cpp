// SPDX-License-Identifier: Apache-2.0
// A trace in the Trace Event Format: an object with the array "traceEvents"; "X" is a complete
// event with ts and dur in microseconds, "M" gives a process or a thread its name.
#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "mote/graph/picture.h"
#include "state.h"

namespace mote {
namespace {

using Json = nlohmann::ordered_json;

Json named(const char* what, std::uint32_t thread, const std::string& name) {
  return {{"name", what}, {"ph", "M"}, {"pid", 1}, {"tid", thread}, {"args", {{"name", name}}}};
}

}  // namespace

std::string to_trace_json(const Graph& g, const GraphTrace& trace) {
  const Graph::State& state = g.state();
  std::int64_t start = std::numeric_limits<std::int64_t>::max();
  std::set<std::uint32_t> streams;
  for (const GraphTrace::Run& run : trace.runs)
    for (const GraphTrace::Span& span : run.spans) {
      if (span.end < 0) continue;
      start = std::min(start, span.begin);
      streams.insert(span.stream);
    }
  Json events = Json::array({named("process_name", 0, "mote")});
  for (const std::uint32_t stream : streams)
    events.push_back(named("thread_name", stream, "stream " + std::to_string(stream)));
  for (std::size_t r = 0; r < trace.runs.size(); ++r)
    for (const GraphTrace::Span& span : trace.runs[r].spans) {
      if (span.end < 0 || span.node >= state.nodes.size()) continue;
      const graph::NodeRecord& node = state.nodes[span.node];
      const std::string& name = node.options.name;
      events.push_back({{"name", name.empty() ? graph::kind_of(node) : name},
                        {"cat", graph::kind_of(node)},
                        {"ph", "X"},
                        {"pid", 1},
                        {"tid", span.stream},
                        {"ts", static_cast<double>(span.begin - start) / 1e3},
                        {"dur", static_cast<double>(span.end - span.begin) / 1e3},
                        {"args", {{"node", span.node}, {"run", r}}}});
    }
  const Json whole = {{"traceEvents", std::move(events)}, {"displayTimeUnit", "ns"}};
  return whole.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace mote
