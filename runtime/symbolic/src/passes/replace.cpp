// SPDX-License-Identifier: Apache-2.0
// The pass replace: nodes that are a pattern of the table of replacements become one command. What
// they compute on the way has no other reader and is no output, unless a function computes it,
// which then stays; order() names none of them. A row is left out where a backend of the context
// has a kernel for one of its ops, since rows state what is equal between generated kernels; but a
// row whose command has no generated kernel needs a backend that takes the call.
#include <algorithm>
#include <map>

#include "dependency_cache.h"
#include "fail.h"
#include "mote/runtime/kernel_plan.h"
#include "mote/symbolic/dependencies.h"
#include "passes/kernels.h"
#include "passes/pattern.h"
#include "passes/registered.h"
#include "passes/replacements.h"

namespace mote {
namespace {

class Replacer {
 public:
  Replacer(SymbolicGraph& graph, const PassOptions& options)
      : graph_(graph), options_(options), is_ordered_(detail::ordered_nodes(graph)) {}

  std::string replace() {
    std::map<std::string, std::size_t> counts;
    const Patterns patterns = patterns_of(graph_.registry(), options_.inexact);
    std::vector<const Pattern*> asked;
    for (const Pattern& pattern : *patterns)
      if (is_asked(pattern)) asked.push_back(&pattern);
    // Nodes are tried from the end, so that the longest chain that ends in a node comes before its
    // parts.
    std::vector<std::uint32_t> order = topological_order(graph_);
    std::ranges::reverse(order);
    const auto nodes = detail::node_table(graph_);  // the loop changes the graph
    for (const std::uint32_t node : order)
      for (const Pattern* pattern : asked)
        if (nodes->op(node) == pattern->last_op() && !graph_.nodes()[node].removed &&
            replace(node, *pattern))
          ++counts[pattern->row().name];
    std::vector<std::string> texts;
    for (const auto& [name, count] : counts) texts.push_back(std::to_string(count) + " by " + name);
    return texts.empty() ? "" : "replaced " + listed(texts);
  }

 private:
  bool is_asked(const Pattern& pattern) const {
    const auto is_of_backend = [&](const Command* command) {
      return is_in_backends(*command, options_.context);
    };
    const std::vector<const Command*> commands = pattern.commands();
    return pattern.is_by_backend() ? is_of_backend(commands.front())
                                   : std::ranges::none_of(commands, is_of_backend);
  }

  /// Counts the uses of each root, when the first node may be the last one of a pattern.
  void count_uses() {
    if (!uses_.empty()) return;
    uses_.resize(graph_.symbol_count());
    for (const NodeInfo& node : graph_.nodes())
      for (const std::uint32_t input : node.inputs)
        if (input != kNoIndex) ++uses_[graph_.symbols()[input].root];
    for (const SymbolInfo& symbol : graph_.symbols())
      if (!symbol.removed && symbol.kind == SymbolOrigin::view) ++uses_[symbol.root];
    for (const std::uint32_t output : graph_.output_indices())
      ++uses_[graph_.symbols()[output].root];
  }

  bool replace(std::uint32_t node, const Pattern& pattern) {
    const NodeInfo& last = graph_.nodes()[node];
    if (!options_.inexact && !is_exact(pattern.row(), last)) return false;
    const auto match = pattern.match(graph_, node);
    if (match) count_uses();
    if (!match || !is_closed(*match, node)) return false;
    const std::vector<TensorSymbol> outputs = pattern.outputs(graph_, *match);
    if (is_more_read(last, outputs)) return false;
    const std::optional<Command> command = pattern.command(graph_, *match);
    if (!command) return false;
    const std::vector<TensorSymbol> inputs = pattern.inputs(graph_, *match);
    const std::string name = last.name;
    if (!fits(*command, inputs, outputs, pattern.is_by_backend())) return false;
    for (const std::uint32_t gone : match->nodes) {
      if (gone != node && stays(*match, gone)) continue;
      for (const std::uint32_t input : graph_.nodes()[gone].inputs)
        if (input != kNoIndex) --uses_[graph_.symbols()[input].root];
      graph_.remove(graph_.node_at(gone));
    }
    const NodeSymbol added = graph_.write(*command, inputs, outputs);
    graph_.rename(added, name);
    is_ordered_.push_back(false);
    for (const TensorSymbol input : inputs)
      if (input) ++uses_[graph_.info(input).root];
    return true;
  }

  /// True if something reads an output of the last node that the replacement does not give.
  bool is_more_read(const NodeInfo& last, std::span<const TensorSymbol> given) const {
    return std::ranges::any_of(last.outputs, [&](std::uint32_t output) {
      return output != kNoIndex && uses_[graph_.symbols()[output].root] > 0 &&
             std::ranges::find(given, graph_.at(output)) == given.end();
    });
  }

  bool is_exact(const Replacement& row, const NodeInfo& last) const {
    if (last.outputs.empty() || last.outputs.front() == kNoIndex) return false;
    const DType dtype = graph_.symbols()[last.outputs.front()].form->dtype;
    return row.is_exact && (row.exact_dtypes.empty() ||
                            std::ranges::find(row.exact_dtypes, dtype) != row.exact_dtypes.end());
  }

  /// True if something else reads what the node computes.
  bool is_read_outside(const PatternMatch& match, std::uint32_t node) const {
    return std::ranges::any_of(graph_.nodes()[node].outputs, [&](std::uint32_t output) {
      std::ptrdiff_t inside = 0;
      for (const std::uint32_t reader : match.nodes)
        inside += std::ranges::count(graph_.nodes()[reader].inputs, output);
      return output != kNoIndex && uses_[output] != static_cast<std::size_t>(inside);
    });
  }
  bool stays(const PatternMatch& match, std::uint32_t node) const {
    return graph_.nodes()[node].kind == NodeKind::function && is_read_outside(match, node);
  }

  /// True if nothing else reads what the commands before the last node compute, and no order is
  /// lost.
  bool is_closed(const PatternMatch& match, std::uint32_t last) const {
    return std::ranges::all_of(match.nodes, [&](std::uint32_t node) {
      if (is_ordered_[node]) return false;
      return node == last || graph_.nodes()[node].kind == NodeKind::function ||
             !is_read_outside(match, node);
    });
  }

  /// Returns the forms; null for those that are left out. None if one is not known.
  std::optional<std::vector<const TensorForm*>> forms_of(
      std::span<const TensorSymbol> symbols) const {
    std::vector<const TensorForm*> forms;
    for (const TensorSymbol symbol : symbols) {
      if (symbol && !graph_.info(symbol).has_form) return std::nullopt;
      forms.push_back(symbol ? &graph_.form(symbol) : nullptr);
    }
    return forms;
  }

  /// True if the command gives the same forms, by a generated kernel, or by one of a backend.
  bool fits(const Command& command, std::span<const TensorSymbol> inputs,
            std::span<const TensorSymbol> outputs, bool is_by_backend) const {
    const auto given = forms_of(inputs), wanted = forms_of(outputs);
    if (!given || !wanted) return false;
    NodeInfo node;
    for (const TensorSymbol input : inputs) node.inputs.push_back(input ? input.index : kNoIndex);
    node.command = std::make_shared<const Command>(command);
    if (!is_by_backend && !has_generated_kernel(graph_, node)) return false;
    try {
      const std::vector<TensorForm> forms = infer(command, *given, wanted->front()->dtype);
      for (std::size_t k = 0; k < wanted->size(); ++k)
        if (const TensorForm* form = (*wanted)[k];
            form != nullptr && (form->dtype != forms[k].dtype || form->shape != forms[k].shape))
          return false;
      if (is_by_backend)
        KernelPlan::make(command, *given, *wanted, {}, {.context = options_.context});
      return true;
    } catch (const StatusError&) {
      return false;
    }
  }

  SymbolicGraph& graph_;
  const PassOptions& options_;
  std::vector<std::size_t> uses_;  ///< by root: reads by nodes, views, and outputs of the graph
  std::vector<bool> is_ordered_;   ///< by node: order() names it
};

}  // namespace

std::string replace(SymbolicGraph& graph, const PassOptions& options) {
  return Replacer(graph, options).replace();
}

}  // namespace mote
