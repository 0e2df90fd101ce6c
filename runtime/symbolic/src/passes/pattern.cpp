// SPDX-License-Identifier: Apache-2.0
// Patterns of nodes: the text of a row and a graph -> what matches, and what replaces it.
#include "passes/pattern.h"

#include <algorithm>

#include "fail.h"
#include "mote/symbolic/text.h"

namespace mote {
namespace {

[[noreturn]] void refuse(const std::string& row, const std::string& what) {
  fail_graph("replacement " + row + ": " + what);
}

bool is_of_pattern(const NodeInfo& node) {
  return node.after.empty() && (node.kind == NodeKind::command || node.kind == NodeKind::function ||
                                (node.kind == NodeKind::control && node.control->is_loop));
}

/// Checks the graph of a pattern, or of the body of one of its loops.
void check_nodes(const SymbolicGraph& graph, const std::string& row) {
  for (const NodeInfo& node : graph.nodes()) {
    if (!is_of_pattern(node))
      refuse(row, "nodes of a pattern are commands, functions and loops, in no order of their own");
    if (node.kind == NodeKind::control) check_nodes(node.control->graphs.front(), row);
  }
  for (std::uint32_t k = 0; k < graph.symbol_count(); ++k) {
    const SymbolInfo& symbol = graph.symbols()[k];
    const bool is_partly_written =
        symbol.kind == SymbolOrigin::tensor && symbol.producer == kNoIndex;
    const bool is_value =
        symbol.kind == SymbolOrigin::constant || symbol.kind == SymbolOrigin::zeros;
    if (is_partly_written || (is_value && !number_of(graph, k)))
      refuse(row, "a pattern has only inputs, numbers, views, and what nodes compute");
    if (symbol.kind != SymbolOrigin::view) continue;
    const ViewStep& step = graph.view_step(graph.at(k));
    if (step.kind != ViewKind::reshape ||
        !adds_axes(graph.form(graph.at(symbol.base)).shape, step.numbers, step.numbers))
      refuse(row, "views of a pattern only add axes of extent 1");
  }
}

/// Returns the node that gives the outputs.
std::uint32_t last_node(const SymbolicGraph& graph, const std::string& row) {
  if (graph.node_count() == 0 || graph.output_indices().empty())
    refuse(row, "a pattern has nodes and outputs");
  std::uint32_t last = kNoIndex;
  for (const std::uint32_t output : graph.output_indices()) {
    const std::uint32_t producer = graph.symbols()[output].producer;
    if (producer == kNoIndex) refuse(row, "an output of the pattern is what no node computes");
    if (last != kNoIndex && last != producer)
      refuse(row, "the outputs of a pattern are those of one node");
    last = producer;
  }
  return last;
}

}  // namespace

bool is_same_value(const mote_param& a, const mote_param& b) {
  return a.is_real == b.is_real && (a.is_real != 0 ? a.real == b.real : a.integer == b.integer);
}

const mote_param* find_param(const Command& command, std::string_view name) {
  const auto found = std::ranges::find_if(
      command.params(), [&](const mote_param& param) { return param.name == name; });
  return found == command.params().end() ? nullptr : &*found;
}

Pattern::Pattern(const Replacement& row, const Registry& registry)
    : row_(row), pattern_(parse_graph(row.pattern, registry)), by_(parse_graph(row.by, registry)) {
  check_nodes(pattern_, row.name);
  last_ = last_node(pattern_, row.name);
  const auto own = match(pattern_, last_);
  if (!own || std::ranges::find(own->nodes, kNoIndex) != own->nodes.end())
    refuse(row.name, "the outputs of a pattern need all its nodes, which have no axis");
  if (by_.node_count() != 1 || by_.nodes().front().kind != NodeKind::command)
    refuse(row.name, "it is by one command");
  last_node(by_, row.name);
  for (const SymbolInfo& symbol : by_.symbols())
    if (!pattern_.has(symbol.name)) refuse(row.name, "the pattern has no " + symbol.name);
  for (const std::uint32_t output : by_.nodes().front().outputs)
    if (output != kNoIndex &&
        pattern_.producer(pattern_.find(by_.symbols()[output].name)) != pattern_.node_at(last_))
      refuse(row.name, by_.symbols()[output].name + " is no output of the pattern");
}

OpId Pattern::last_op() const {
  const NodeInfo& last = pattern_.nodes()[last_];
  return last.kind == NodeKind::command ? last.command->op() : kNoIndex;
}

std::vector<const Command*> Pattern::commands() const {
  std::vector<const Command*> commands = {&command_of_replacement()};
  for (const NodeInfo& node : pattern_.nodes())
    if (node.kind == NodeKind::command) commands.push_back(node.command.get());
  return commands;
}

std::optional<PatternMatch> Pattern::match(const SymbolicGraph& graph, std::uint32_t node) const {
  Matcher matcher(pattern_, graph);
  if (!matcher.node(last_, node)) return std::nullopt;
  return matcher.match();
}

std::optional<Command> Pattern::command(const SymbolicGraph& graph,
                                        const PatternMatch& match) const {
  const Command& by = command_of_replacement();
  const mote_op_definition& op = by.definition();
  std::vector<Setting> settings;
  for (std::int32_t k = 0; k < op.param_count; ++k) {
    const mote_param* given = find_param(by, op.params[k].name);
    for (std::size_t n = 0; n < match.nodes.size() && given == nullptr; ++n) {
      const NodeInfo& node = graph.nodes()[match.nodes[n]];
      if (node.kind == NodeKind::command) given = find_param(*node.command, op.params[k].name);
    }
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

std::vector<TensorSymbol> Pattern::matched(const ShortList& of_replacement,
                                           const SymbolicGraph& graph,
                                           const PatternMatch& match) const {
  std::vector<TensorSymbol> symbols;
  for (const std::uint32_t own : of_replacement) {
    const std::uint32_t symbol =
        own == kNoIndex ? kNoIndex : match.symbols[pattern_.find(by_.symbols()[own].name).index];
    symbols.push_back(symbol == kNoIndex ? TensorSymbol{} : graph.at(symbol));
  }
  return symbols;
}

std::vector<TensorSymbol> Pattern::inputs(const SymbolicGraph& graph,
                                          const PatternMatch& match) const {
  return matched(by_.nodes().front().inputs, graph, match);
}

std::vector<TensorSymbol> Pattern::outputs(const SymbolicGraph& graph,
                                           const PatternMatch& match) const {
  return matched(by_.nodes().front().outputs, graph, match);
}

}  // namespace mote
