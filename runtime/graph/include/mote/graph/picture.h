// SPDX-License-Identifier: Apache-2.0
// A graph as a picture, and its runs as a trace.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mote/base/export.h"
#include "mote/graph/graph.h"

namespace MOTE_API mote {

/// Returns the graph in Graphviz's language: a box for each node, with the forms of its tensors. A
/// body of a loop, or a branch, is a cluster of its own, with an arrow from its node.
/// Once the graph is prepared, each stream is a cluster of one colour, edges that need an event are
/// bold and name it, and edges that need none because others keep them are dotted.
std::string to_dot(const Graph& graph);

/// A record of the runs since trace_to().
struct GraphTrace {
  struct Span {
    std::uint32_t node = 0;    ///< GraphNode::index
    std::uint32_t stream = 0;  ///< as in the graph's schedule
    std::int64_t begin = -1;   ///< nanoseconds of a steady clock; -1: the node did not run
    std::int64_t end = -1;
  };
  /// A node of a loop's body or a branch.
  struct InnerSpan {
    std::uint64_t graph = 0;  ///< the sub-graph
    Span span;
    std::vector<std::int64_t> counters;  ///< of the loops around, the outermost first
  };
  struct Run {
    std::vector<Span> spans;
    std::vector<InnerSpan> inner;
  };
  std::vector<Run> runs;
};

/// Returns the trace in the Trace Event Format, which chrome://tracing, Perfetto and speedscope
/// open: streams are rows, nodes are complete events whose times are microseconds since the first
/// one. The graph gives the names.
std::string to_trace_json(const Graph& graph, const GraphTrace& trace);

}  // namespace mote
