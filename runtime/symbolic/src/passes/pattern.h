// SPDX-License-Identifier: Apache-2.0
// A pattern of nodes, and where a graph holds it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "mote/symbolic/replace.h"
#include "mote/symbolic/symbolic_graph.h"

namespace mote {

/// A row of the table of replacements, read with the ops of one registry. Throws StatusError if the
/// texts are no pattern.
class Pattern {
 public:
  Pattern(const Replacement& row, const Registry& registry);

  const Replacement& row() const { return row_; }
  /// The op of the node that gives the output.
  OpId last_op() const { return command_of(last_).op(); }
  /// The commands that it mentions, that of the replacement among them.
  std::vector<const Command*> commands() const;

  /// The result of a match: the nodes by those of the pattern, and the symbols by its inputs.
  struct Match {
    std::vector<std::uint32_t> nodes;
    std::vector<std::uint32_t> symbols;  ///< kNoIndex: left out
    std::vector<bool> is_bound;
  };
  /// Finds the pattern with `node` as its last one. Nodes are commands without an axis.
  std::optional<Match> match(const SymbolicGraph& graph, std::uint32_t node) const;

  /// Returns the command that replaces the nodes; none if the parameters do not fit it.
  std::optional<Command> command(const SymbolicGraph& graph, const Match& match) const;
  /// Returns the inputs of that command.
  std::vector<TensorSymbol> inputs(const SymbolicGraph& graph, const Match& match) const;

 private:
  const Command& command_of(std::uint32_t node) const { return *pattern_.nodes()[node].command; }
  bool match_node(const SymbolicGraph& graph, std::uint32_t of_pattern, std::uint32_t node,
                  Match& match) const;
  bool match_symbol(const SymbolicGraph& graph, std::uint32_t of_pattern, std::uint32_t symbol,
                    Match& match) const;

  Replacement row_;
  SymbolicGraph pattern_;
  SymbolicGraph by_;
  std::uint32_t last_ = kNoIndex;
};

}  // namespace mote
