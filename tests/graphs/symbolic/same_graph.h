// SPDX-License-Identifier: Apache-2.0
// Compares two symbolic graphs: nodes in order, and all symbols that nodes and outputs use. Names
// of symbols count where the first graph has them. Returns "" or the first difference.
#pragma once

#include <bit>
#include <cstring>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "mote/symbolic/symbolic_graph.h"

namespace mote::test {

class SameGraph {
 public:
  SameGraph(const SymbolicGraph& a, const SymbolicGraph& b) : a_(a), b_(b) {}

  std::string difference() {
    if (a_.name() != b_.name()) return "the graphs' names";
    const std::vector<std::uint32_t> nodes_a = live_nodes(a_, position_a_);
    const std::vector<std::uint32_t> nodes_b = live_nodes(b_, position_b_);
    if (nodes_a.size() != nodes_b.size()) return "the number of nodes";
    for (std::size_t k = 0; k < nodes_a.size(); ++k) {
      const std::string what = node(a_.nodes()[nodes_a[k]], b_.nodes()[nodes_b[k]]);
      if (!what.empty()) return what + " of " + a_.text(a_.node_at(nodes_a[k]));
    }
    return symbols(a_.output_indices(), b_.output_indices()) ? "" : "the outputs: " + what_;
  }

 private:
  using Positions = std::unordered_map<std::uint32_t, std::size_t>;

  static std::vector<std::uint32_t> live_nodes(const SymbolicGraph& g, Positions& positions) {
    std::vector<std::uint32_t> nodes;
    for (std::uint32_t k = 0; k < g.node_count(); ++k) {
      if (g.nodes()[k].removed) continue;
      positions[k] = nodes.size();
      nodes.push_back(k);
    }
    return nodes;
  }

  std::string node(const NodeInfo& a, const NodeInfo& b) {
    if (a.kind != b.kind) return "the kind";
    if (a.name != b.name) return "the name";
    if (a.recomputed != b.recomputed) return "the segment";
    if (a.kind == NodeKind::command && !(*a.command == *b.command)) return "the command";
    if (a.kind == NodeKind::function && a.function->name != b.function->name) return "the function";
    if (std::bit_cast<std::uint64_t>(a.value) != std::bit_cast<std::uint64_t>(b.value))
      return "the value";
    if (!symbols(a.inputs, b.inputs)) return "the inputs (" + what_ + ")";
    if (!symbols(a.outputs, b.outputs)) return "the outputs (" + what_ + ")";
    return edges(a, position_a_) == edges(b, position_b_) ? "" : "the edges";
  }

  /// Returns the positions of the nodes that are there and come before.
  static std::vector<std::size_t> edges(const NodeInfo& node, const Positions& positions) {
    std::vector<std::size_t> before;
    for (const std::uint32_t k : node.after)
      if (positions.contains(k)) before.push_back(positions.at(k));
    return before;
  }

  bool symbols(std::span<const std::uint32_t> a, std::span<const std::uint32_t> b) {
    what_ = "their number";
    if (a.size() != b.size()) return false;
    for (std::size_t k = 0; k < a.size(); ++k)
      if (!symbol(a[k], b[k])) return false;
    return true;
  }

  bool symbol(std::uint32_t a, std::uint32_t b) {
    what_ = "one is left out";
    if (a == kNoIndex || b == kNoIndex) return a == b;
    what_ = a_.text(a_.at(a)) + " is another symbol";
    if (const auto known = pairs_.find(a); known != pairs_.end()) return known->second == b;
    pairs_[a] = b;
    const SymbolInfo& x = a_.symbols()[a];
    const SymbolInfo& y = b_.symbols()[b];
    what_ = "the name, kind or form of " + a_.text(a_.at(a));
    if (!x.name.empty() && x.name != y.name) return false;
    if (x.kind != y.kind || x.has_form != y.has_form || x.offset != y.offset) return false;
    if (x.has_form ? !(x.form == y.form) : x.form->dtype != y.form->dtype) return false;
    if ((x.producer == kNoIndex) != (y.producer == kNoIndex)) return false;
    if (x.kind == SymbolOrigin::view)
      return a_.view_step(a_.at(a)) == b_.view_step(b_.at(b)) && symbol(x.base, y.base);
    return x.kind != SymbolOrigin::constant ||
           same_elements(a_.value(a_.at(a)), b_.value(b_.at(b)));
  }

  static bool same_elements(const Tensor& a, const Tensor& b) {
    const Tensor x = clone(a);
    const Tensor y = clone(b);
    const auto bytes = static_cast<std::size_t>(x.element_count()) * size_of(x.dtype());
    return bytes == 0 || std::memcmp(x.data(), y.data(), bytes) == 0;
  }

  const SymbolicGraph& a_;
  const SymbolicGraph& b_;
  Positions position_a_;
  Positions position_b_;
  std::unordered_map<std::uint32_t, std::uint32_t> pairs_;
  std::string what_;
};

inline std::string difference(const SymbolicGraph& a, const SymbolicGraph& b) {
  return SameGraph(a, b).difference();
}

}  // namespace mote::test
