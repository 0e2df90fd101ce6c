// SPDX-License-Identifier: Apache-2.0
// A symbolic graph that is kept and seldom read: all that it holds, in about a quarter of the
// memory. Equal forms and commands are kept once, and lists of tensors lie in one array.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "mote/symbolic/symbolic_graph.h"

namespace mote {

class PackedGraph {
 public:
  explicit PackedGraph(const SymbolicGraph& graph);

  /// Returns a graph that is equal to the one that was packed: symbols and nodes have the same
  /// indices.
  SymbolicGraph graph() const;

  const std::string& name() const { return name_; }
  std::size_t symbol_count() const { return symbols_.size(); }
  const TensorForm& form(std::uint32_t symbol) const { return forms_[symbols_[symbol].form]; }
  /// Returns SymbolicGraph::text() of the symbol.
  std::string text(std::uint32_t symbol) const;

 private:
  struct Symbol {
    SymbolOrigin kind;
    bool removed;
    bool has_form;
    std::uint32_t name;  ///< kNoIndex: none
    std::uint32_t form;
    std::uint32_t producer, base, root, side;
    std::int64_t offset;
  };
  struct Node {
    NodeKind kind;
    bool removed;
    std::uint32_t name;  ///< kNoIndex: none
    std::uint32_t recomputed;
    std::uint32_t work;                    ///< its command, function or value; kNoIndex: none
    std::uint32_t inputs, outputs, after;  ///< how many of its indices
  };

  void pack_symbols(const SymbolicGraph& graph);
  void pack_nodes(const SymbolicGraph& graph);
  std::uint32_t packed_name(const std::string& name);
  std::string name_at(std::uint32_t name) const { return name == kNoIndex ? "" : names_[name]; }
  SymbolInfo symbol(const Symbol& packed) const;
  NodeInfo node(const Node& packed, std::size_t& next) const;

  std::string name_;
  const Registry* registry_;
  std::uint64_t version_;
  std::vector<std::string> names_;
  std::vector<SharedForm> forms_;
  std::vector<std::shared_ptr<const Command>> commands_;
  std::vector<std::shared_ptr<const NamedFunction>> functions_;
  std::vector<double> fills_;
  std::vector<Symbol> symbols_;
  std::vector<Node> nodes_;
  std::vector<std::uint32_t> indices_;  ///< of each node: its inputs, outputs and `after`
  std::vector<std::uint32_t> outputs_;
  std::vector<ViewStep> steps_;
  std::vector<Tensor> values_;
  std::unique_ptr<const detail::AttributeTable> attributes_;
};

}  // namespace mote
