// SPDX-License-Identifier: Apache-2.0
// A graph in Graphviz's language.
#include <array>
#include <map>
#include <string>

#include "mote/graph/picture.h"
#include "state.h"

namespace mote {
namespace {

using graph::kNone;
using graph::NodeRecord;

constexpr std::array<const char*, 8> kColours = {"#cfe2f3", "#d9ead3", "#fff2cc", "#f4cccc",
                                                 "#d9d2e9", "#fce5cd", "#d0e0e3", "#ead1dc"};

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  }
  return out;
}

std::string forms(const Graph::State& state, std::span<const std::uint32_t> tensors) {
  std::string text;
  for (const std::uint32_t t : tensors) {
    text += text.empty() ? "" : ", ";
    text += t == kNone ? "-" : state.text_of_tensor(t);
  }
  return escaped(text);
}

/// Names of nodes: those of sub-graph k begin with "s<k>".
std::string id_of(const std::string& graph, std::uint32_t node) {
  return graph + "n" + std::to_string(node);
}

std::string box(const Graph::State& state, const std::string& graph, const NodeRecord& node) {
  std::string label = std::to_string(node.index);
  if (!node.options.name.empty()) label += " '" + escaped(node.options.name) + "'";
  label += std::string(" ") + escaped(graph::kind_of(node)) + "\\n" + forms(state, node.inputs()) +
           " -> " + forms(state, node.outputs());
  return id_of(graph, node.index) + " [label=\"" + label + "\"];\n";
}

/// Returns the attributes of an edge between two nodes of a schedule.
std::string edge_style(const StreamSchedule& s, std::uint32_t from, std::uint32_t to) {
  if (s.stream[from] == s.stream[to]) return "";
  for (std::size_t w = s.wait_begin[to]; w < s.wait_begin[to + 1]; ++w)
    if (s.events[s.waits[w]] == from)
      return " [style=bold,label=\"event " + std::to_string(s.waits[w]) + "\"]";
  return " [style=dotted]";
}

std::string graph_text(const Graph::State& state, const std::string& id) {
  const std::vector<std::uint32_t> nodes = graph::live_nodes(state);
  const ScheduleProblem problem = graph::problem_of(state);
  const StreamSchedule* s = state.prepared.is_current ? &state.prepared.whole->schedule : nullptr;
  std::string text;
  if (s == nullptr)
    for (const std::uint32_t n : nodes) text += "  " + box(state, id, state.nodes[n]);
  for (std::uint32_t stream = 0; s != nullptr && stream < s->stream_count(); ++stream) {
    text += "  subgraph cluster_" + id + std::to_string(stream) + " {\n    label=\"stream " +
            std::to_string(stream) + "\";\n    node [fillcolor=\"" +
            kColours.at(stream % kColours.size()) + "\"];\n";
    for (const std::uint32_t k : s->order)
      if (s->stream[k] == stream) text += "    " + box(state, id, state.nodes[nodes[k]]);
    text += "  }\n";
  }
  for (std::uint32_t n = 0; n < nodes.size(); ++n)
    for (std::size_t e = problem.begin[n]; e < problem.begin[n + 1]; ++e) {
      const std::uint32_t q = problem.predecessors[e];
      text += "  " + id_of(id, nodes[q]) + " -> " + id_of(id, nodes[n]) +
              (s != nullptr ? edge_style(*s, q, n) : "") + ";\n";
    }
  return text;
}

/// The body or branch of a node as a cluster. It is not within that of the graph around it, so that
/// deep nests need no deep text; a dashed arrow leads there.
std::string sub_graph_text(const graph::SubLocation& location, const std::string& around,
                           const std::string& id) {
  const NodeRecord& node = location.around->nodes[location.node];
  const graph::ControlWork& work = *graph::control_of(node);
  const std::string name =
      work.is_loop ? "body" : "branch " + std::to_string(location.sub - work.subs.data());
  return "  subgraph cluster_" + id + " {\n  label=\"" + name + " of " +
         escaped(graph::text_of(node)) + "\";\n  " + id + " [shape=point];\n" +
         graph_text(*location.state, id) + "  }\n  " + id_of(around, node.index) + " -> " + id +
         " [style=dashed];\n";
}

}  // namespace

std::string to_dot(const Graph& g) {
  const Graph::State& state = g.state();
  std::string text =
      "digraph mote {\n  node [shape=box,style=filled,fillcolor=white];\n" + graph_text(state, "");
  std::map<const Graph::State*, std::string> ids = {{&state, ""}};
  std::size_t count = 0;
  for (const graph::SubLocation& location :
       graph::sub_graphs_of(const_cast<Graph::State&>(state))) {
    const std::string id = ids[location.state] = "s" + std::to_string(++count);
    text += sub_graph_text(location, ids.at(location.around), id);
  }
  return text + "}\n";
}

}  // namespace mote
