// SPDX-License-Identifier: Apache-2.0
// A pattern of nodes, and where a graph holds it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "mote/symbolic/replace.h"
#include "mote/symbolic/symbolic_graph.h"
#include "passes/matcher.h"

namespace mote {

/// Returns the parameter of that name; null if the command has none.
const mote_param* find_param(const Command& command, std::string_view name);
bool is_same_value(const mote_param& a, const mote_param& b);

/// A row of the table of replacements, read with the ops of one registry. Throws StatusError if the
/// texts are no pattern.
class Pattern {
 public:
  Pattern(const Replacement& row, const Registry& registry);

  const Replacement& row() const { return row_; }
  /// The op of the node that gives the outputs; kNoIndex if it is no command.
  OpId last_op() const;
  /// The commands that it mentions outside loops, that of the replacement among them.
  std::vector<const Command*> commands() const;
  /// True if mote has no kernel for the replacement: then a backend must have one.
  bool is_by_backend() const { return command_of_replacement().generated().empty(); }

  /// Finds the pattern with `node` as its last one. Commands have no axis.
  std::optional<PatternMatch> match(const SymbolicGraph& graph, std::uint32_t node) const;

  /// Returns the command that replaces the nodes; none if the parameters do not fit it.
  std::optional<Command> command(const SymbolicGraph& graph, const PatternMatch& match) const;
  /// Returns the inputs and the outputs of that command.
  std::vector<TensorSymbol> inputs(const SymbolicGraph& graph, const PatternMatch& match) const;
  std::vector<TensorSymbol> outputs(const SymbolicGraph& graph, const PatternMatch& match) const;

 private:
  const Command& command_of_replacement() const { return *by_.nodes().front().command; }
  std::vector<TensorSymbol> matched(const ShortList& of_replacement, const SymbolicGraph& graph,
                                    const PatternMatch& match) const;

  Replacement row_;
  SymbolicGraph pattern_;
  SymbolicGraph by_;
  std::uint32_t last_ = kNoIndex;
};

}  // namespace mote
