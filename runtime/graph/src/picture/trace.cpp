// SPDX-License-Identifier: Apache-2.0
// A trace in the Trace Event Format: an object with the array "traceEvents", of one event a line;
// "X" is a complete event with ts and dur in microseconds, "M" gives a process or a thread its
// name. nlohmann's trees are not used: they end the program when memory has run out.
#include <algorithm>
#include <array>
#include <cstdio>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "mote/graph/picture.h"
#include "state.h"

namespace mote {
namespace {

std::string quoted(const std::string& text) {
  using Json = nlohmann::json;
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// Returns nanoseconds as a number of microseconds.
std::string microseconds(std::int64_t nanoseconds) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%lld.%03lld", static_cast<long long>(nanoseconds / 1000),
                static_cast<long long>(nanoseconds % 1000));
  return text.data();
}

/// Returns the members that each event has.
std::string event(const char* kind, const std::string& name, std::uint32_t stream) {
  return "{\"name\": " + quoted(name) + ", \"ph\": \"" + kind +
         "\", \"pid\": 1, \"tid\": " + std::to_string(stream);
}

std::string named(const char* what, std::uint32_t stream, const std::string& name) {
  return event("M", what, stream) + ", \"args\": {\"name\": " + quoted(name) + "}}";
}

std::string complete(const graph::NodeRecord& node, const GraphTrace::Span& span,
                     std::int64_t start, std::size_t run, const std::string& more = "") {
  const std::string kind = graph::kind_of(node);
  const std::string& name = node.options.name;
  return event("X", name.empty() ? kind : name, span.stream) + ", \"cat\": " + quoted(kind) +
         ", \"ts\": " + microseconds(span.begin - start) +
         ", \"dur\": " + microseconds(span.end - span.begin) +
         ", \"args\": {\"node\": " + std::to_string(span.node) +
         ", \"run\": " + std::to_string(run) + more + "}}";
}

/// Returns the iteration of each loop around as an argument of an event.
std::string iterations(const std::vector<std::int64_t>& counters) {
  std::string list;
  for (const std::int64_t count : counters)
    list += (list.empty() ? "" : ", ") + std::to_string(count);
  return ", \"iteration\": [" + list + "]";
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
  std::map<std::uint64_t, const Graph::State*> subs;
  for (const auto& sub : state.subs) subs.emplace(sub->id, sub.get());
  std::string events = named("process_name", 0, "mote");
  for (const std::uint32_t stream : streams)
    events += ",\n" + named("thread_name", stream, "stream " + std::to_string(stream));
  for (std::size_t r = 0; r < trace.runs.size(); ++r) {
    for (const GraphTrace::Span& span : trace.runs[r].spans)
      if (span.end >= 0 && span.node < state.nodes.size())
        events += ",\n" + complete(state.nodes[span.node], span, start, r);
    for (const GraphTrace::InnerSpan& inner : trace.runs[r].inner) {
      const auto sub = subs.find(inner.graph);
      if (sub != subs.end() && inner.span.node < sub->second->nodes.size())
        events += ",\n" + complete(sub->second->nodes[inner.span.node], inner.span, start, r,
                                   iterations(inner.counters));
    }
  }
  return "{\"displayTimeUnit\": \"ns\", \"traceEvents\": [\n" + events + "\n]}\n";
}

}  // namespace mote
