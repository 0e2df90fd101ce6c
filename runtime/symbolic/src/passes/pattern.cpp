// SPDX-License-Identifier: Apache-2.0
// Matches patterns of nodes: the text of a row and a graph -> nodes and symbols.
#include "passes/pattern.h"

#include <algorithm>
#include <string_view>

#include "fail.h"
#include "mote/symbolic/text.h"

namespace mote {
namespace {

bool same_value(const mote_param& a, const mote_param& b) {
  return a.is_real == b.is_real && (a.is_real != 0 ? a.real == b.real : a.integer == b.integer);
}

const mote_param* find_param(const Command& command, std::string_view name) {
  const auto found = std::ranges::find_if(
      command.params(), [&](const mote_param& param) { return param.name == name; });
  return found == command.params().end() ? nullptr : &*found;
}

void check_commands(const SymbolicGraph& graph, const std::string& row) {
  if (graph.node_count() == 0 || graph.output_indices().size() != 1)
    fail_graph("replacement " + row + ": a pattern has nodes and one output");
  for (const NodeInfo& node : graph.nodes())
    if (node.kind != NodeKind::command || node.outputs.size() != 1 || !node.after.empty())
      fail_graph("replacement " + row + ": nodes of a pattern are commands with one output");
  for (const SymbolInfo& symbol : graph.symbols())
    if (symbol.kind != SymbolOrigin::input && symbol.producer == kNoIndex)
      fail_graph("replacement " + row + ": a pattern has only inputs and what nodes compute");
}

}  // namespace

Pattern::Pattern(const Replacement& row, const Registry& registry)
    : row_(row), pattern_(parse_graph(row.pattern, registry)), by_(parse_graph(row.by, registry)) {
  check_commands(pattern_, row.name);
  check_commands(by_, row.name);
  if (by_.node_count() != 1) fail_graph("replacement " + row.name + ": it is by one command");
  for (const SymbolInfo& symbol : by_.symbols())
    if (!pattern_.has(symbol.name))
      fail_graph("replacement " + row.name + ": the pattern has no " + symbol.name);
  last_ = pattern_.symbols()[pattern_.output_indices().front()].producer;
  if (last_ == kNoIndex)
    fail_graph("replacement " + row.name + ": the output of the pattern is an input");
}

std::vector<const Command*> Pattern::commands() const {
  std::vector<const Command*> commands = {by_.nodes().front().command.get()};
  for (const NodeInfo& node : pattern_.nodes()) commands.push_back(node.command.get());
  return commands;
}

std::optional<Pattern::Match> Pattern::match(const SymbolicGraph& graph, std::uint32_t node) const {
  Match match;
  match.nodes.assign(pattern_.node_count(), kNoIndex);
  match.symbols.assign(pattern_.symbol_count(), kNoIndex);
  match.is_bound.assign(pattern_.symbol_count(), false);
  if (!match_node(graph, last_, node, match)) return std::nullopt;
  return match;
}

bool Pattern::match_node(const SymbolicGraph& graph, std::uint32_t of_pattern, std::uint32_t node,
                         Match& match) const {
  const NodeInfo& wanted = pattern_.nodes()[of_pattern];
  const NodeInfo& got = graph.nodes()[node];
  if (got.kind != NodeKind::command || got.command->op() != wanted.command->op() ||
      got.command->axis() || got.recomputed != 0)
    return false;
  for (const mote_param& param : wanted.command->params()) {
    const mote_param* given = find_param(*got.command, param.name);
    if (given == nullptr || !same_value(*given, param)) return false;
  }
  match.nodes[of_pattern] = node;
  const std::size_t count = std::max(wanted.inputs.size(), got.inputs.size());
  for (std::size_t k = 0; k < count; ++k) {
    const std::uint32_t from = k < wanted.inputs.size() ? wanted.inputs[k] : kNoIndex;
    const std::uint32_t symbol = k < got.inputs.size() ? got.inputs[k] : kNoIndex;
    if (from == kNoIndex && symbol != kNoIndex) return false;
    if (from != kNoIndex && !match_symbol(graph, from, symbol, match)) return false;
  }
  return true;
}

bool Pattern::match_symbol(const SymbolicGraph& graph, std::uint32_t of_pattern,
                           std::uint32_t symbol, Match& match) const {
  if (match.is_bound[of_pattern]) return match.symbols[of_pattern] == symbol;
  match.is_bound[of_pattern] = true;
  match.symbols[of_pattern] = symbol;
  const std::uint32_t producer = pattern_.symbols()[of_pattern].producer;
  if (producer == kNoIndex) return true;  // an input: any symbol, or none
  if (symbol == kNoIndex || graph.symbols()[symbol].kind != SymbolOrigin::tensor ||
      graph.symbols()[symbol].producer == kNoIndex)
    return false;
  return match_node(graph, producer, graph.symbols()[symbol].producer, match);
}

std::optional<Command> Pattern::command(const SymbolicGraph& graph, const Match& match) const {
  const Command& by = *by_.nodes().front().command;
  const mote_op_definition& op = by.definition();
  std::vector<Setting> settings;
  for (std::int32_t k = 0; k < op.param_count; ++k) {
    const mote_param* given = find_param(by, op.params[k].name);
    for (std::size_t n = 0; n < match.nodes.size() && given == nullptr; ++n)
      given = find_param(*graph.nodes()[match.nodes[n]].command, op.params[k].name);
    if (given == nullptr) continue;
    if (given->is_real != 0)
      settings.emplace_back(op.params[k].name, given->real);
    else
      settings.emplace_back(op.params[k].name, given->integer);
  }
  try {
    return Command(op.name, settings, by.axis(), graph.registry());
  } catch (const StatusError&) {
    return std::nullopt;
  }
}

std::vector<TensorSymbol> Pattern::inputs(const SymbolicGraph& graph, const Match& match) const {
  std::vector<TensorSymbol> inputs;
  for (const std::uint32_t input : by_.nodes().front().inputs) {
    const std::uint32_t symbol =
        input == kNoIndex ? kNoIndex
                          : match.symbols[pattern_.find(by_.symbols()[input].name).index];
    inputs.push_back(symbol == kNoIndex ? TensorSymbol{} : graph.at(symbol));
  }
  return inputs;
}

}  // namespace mote
