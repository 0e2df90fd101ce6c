// SPDX-License-Identifier: Apache-2.0
// The pass replace: nodes that are a pattern of the table of replacements become one command. What
// they compute on the way has no other reader and is no output; order() names none of them. A row
// is left out where a backend of the context has a kernel for one of its ops, since rows state what
// is equal between generated kernels.
#include <algorithm>
#include <map>

#include "dependency_cache.h"
#include "fail.h"
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
    const std::vector<Pattern> patterns = patterns_of(graph_.registry(), options_.inexact);
    std::vector<const Pattern*> asked;
    for (const Pattern& pattern : patterns)
      if (std::ranges::none_of(pattern.commands(), [&](const Command* command) {
            return is_in_backends(*command, options_.context);
          }))
        asked.push_back(&pattern);
    // Nodes are tried from the end, so that the longest chain that ends in a node comes before its
    // parts.
    std::vector<std::uint32_t> order = topological_order(graph_);
    const auto nodes = detail::node_table(graph_);  // the loop changes the graph
    for (auto node = order.rbegin(); node != order.rend(); ++node)
      for (const Pattern* pattern : asked)
        if (nodes->op(*node) == pattern->last_op() && !graph_.nodes()[*node].removed &&
            replace(*node, *pattern))
          ++counts[pattern->row().name];
    std::vector<std::string> texts;
    for (const auto& [name, count] : counts) texts.push_back(std::to_string(count) + " by " + name);
    return texts.empty() ? "" : "replaced " + listed(texts);
  }

 private:
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
    if (last.kind != NodeKind::command || last.command->op() != pattern.last_op()) return false;
    if (!options_.inexact && !is_exact(pattern.row(), last)) return false;
    const auto match = pattern.match(graph_, node);
    if (match) count_uses();
    if (!match || !is_closed(*match, node)) return false;
    const std::optional<Command> command = pattern.command(graph_, *match);
    if (!command) return false;
    const std::vector<TensorSymbol> inputs = pattern.inputs(graph_, *match);
    const TensorSymbol y = graph_.at(last.outputs.front());
    const std::string name = last.name;
    if (!fits(*command, inputs, y)) return false;
    for (const std::uint32_t gone : match->nodes) {
      for (const std::uint32_t input : graph_.nodes()[gone].inputs)
        if (input != kNoIndex) --uses_[graph_.symbols()[input].root];
      graph_.remove(graph_.node_at(gone));
    }
    const NodeSymbol added = graph_.write(*command, inputs, std::span(&y, 1));
    graph_.rename(added, name);
    is_ordered_.push_back(false);
    for (const TensorSymbol input : inputs)
      if (input) ++uses_[graph_.info(input).root];
    return true;
  }

  bool is_exact(const Replacement& row, const NodeInfo& last) const {
    if (last.outputs.front() == kNoIndex) return false;
    const DType dtype = graph_.symbols()[last.outputs.front()].form->dtype;
    return row.is_exact && (row.exact_dtypes.empty() ||
                            std::ranges::find(row.exact_dtypes, dtype) != row.exact_dtypes.end());
  }

  /// True if nothing else reads what the nodes before the last one compute, and no order is lost.
  bool is_closed(const Pattern::Match& match, std::uint32_t last) const {
    return std::ranges::all_of(match.nodes, [&](std::uint32_t node) {
      if (is_ordered_[node]) return false;
      if (node == last) return true;
      const auto reads = [&](std::uint32_t reader) {
        return std::ranges::count(graph_.nodes()[reader].inputs,
                                  graph_.nodes()[node].outputs.front());
      };
      std::size_t inside = 0;
      for (const std::uint32_t reader : match.nodes)
        inside += static_cast<std::size_t>(reads(reader));
      return uses_[graph_.nodes()[node].outputs.front()] == inside;
    });
  }

  /// True if the command gives the same form, by a generated kernel.
  bool fits(const Command& command, std::span<const TensorSymbol> inputs, TensorSymbol y) const {
    NodeInfo node;
    std::vector<Tensor> tensors;
    tensors.reserve(inputs.size());
    std::vector<const Tensor*> pointers;
    for (const TensorSymbol input : inputs) {
      node.inputs.push_back(input ? input.index : kNoIndex);
      pointers.push_back(nullptr);
      if (!input) continue;
      if (!graph_.info(input).has_form) return false;
      const TensorForm& form = graph_.form(input);
      tensors.push_back(Tensor::over(nullptr, form.dtype, form.shape, form.strides, form.device));
      pointers.back() = &tensors.back();
    }
    node.command = std::make_shared<const Command>(command);
    if (!graph_.info(y).has_form || !has_generated_kernel(graph_, node)) return false;
    try {
      const TensorForm form = infer(command, pointers, graph_.form(y).dtype).front();
      return form.dtype == graph_.form(y).dtype && form.shape == graph_.form(y).shape;
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
