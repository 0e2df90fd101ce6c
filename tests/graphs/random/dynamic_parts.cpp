// SPDX-License-Identifier: Apache-2.0
// Nodes in a row that a dynamic graph runs as one static function, or within a checkpoint.
#include <algorithm>
#include <utility>

#include "control/splice.h"
#include "dynamic_run.h"

namespace mote::test {

/// Returns the roots that these nodes write, and that something else needs.
std::vector<std::uint32_t> DynamicRun::written_by(std::size_t begin, std::size_t end) const {
  std::vector<std::uint32_t> roots;
  for (std::size_t k = begin; k < end; ++k)
    for (const std::uint32_t output : graph_.nodes()[order_[k]].outputs)
      if (output != kNoIndex && is_needed_behind(output, end)) roots.push_back(output);
  return roots;
}

/// Returns the end of a part that begins there: nodes that write whole tensors.
std::size_t DynamicRun::end_of_part(std::size_t begin, bool has_static) {
  std::size_t end = begin;
  const std::size_t most = 1 + static_cast<std::size_t>(rng_.below(6));
  for (; end < order_.size() && end - begin < most; ++end) {
    const NodeInfo& node = graph_.nodes()[order_[end]];
    if (!writes_whole(node) || (must_be_static(node) && !has_static)) break;
  }
  return end;
}

/// Runs the nodes as one static function.
void DynamicRun::run_part(std::size_t begin, std::size_t end) {
  std::vector<bool> takes(graph_.node_count());
  std::vector<bool> is_inside(graph_.symbol_count());
  for (std::size_t k = begin; k < end; ++k) {
    takes[order_[k]] = true;
    for (const std::uint32_t output : graph_.nodes()[order_[k]].outputs)
      if (output != kNoIndex) is_inside[output] = true;
  }
  SymbolicGraph part("part", graph_.registry());
  std::vector<TensorSymbol> symbols(graph_.symbol_count());
  std::vector<Variable> given;
  const auto take = [&](std::uint32_t symbol) {
    const std::uint32_t root = graph_.symbols()[symbol].root;
    if (is_inside[root] || symbols[root]) return;
    const bool is_constant = graph_.symbols()[root].kind == SymbolOrigin::constant;
    if (is_constant && rng_.chance(50)) return;
    given.push_back(variable(root));
    symbols[root] = part.input("r" + std::to_string(root), given.back().form());
  };
  for (std::size_t k = begin; k < end; ++k)
    for (const std::uint32_t input : graph_.nodes()[order_[k]].inputs)
      if (input != kNoIndex) take(input);
  const std::vector<std::uint32_t> roots = written_by(begin, end);
  if (roots.empty()) return;
  std::vector<TensorSymbol> asked;
  for (const std::uint32_t root : roots) asked.push_back(graph_.at(root));
  symbols = splice(
      part, graph_, std::move(symbols), [&](std::uint32_t node) { return takes[node]; }, asked);
  std::vector<TensorSymbol> outputs;
  for (const std::uint32_t root : roots) outputs.push_back(symbols[root]);
  part.set_outputs(outputs);
  ++counts_["dynamic: static function"];
  const std::vector<Variable> results =
      g_.run(StaticFunction(part), std::vector<VariableRef>(given.begin(), given.end()));
  for (std::size_t k = 0; k < roots.size(); ++k) set(roots[k], results.at(k));
}

/// Runs the nodes so that what is between them is computed again by gradients.
void DynamicRun::run_checkpoint(std::size_t begin, std::size_t end) {
  ++counts_["dynamic: checkpoint"];
  const std::vector<std::uint32_t> roots = written_by(begin, end);
  const auto function = [&](std::span<const Variable>) {
    for (std::size_t k = begin; k < end; ++k) {
      position_ = k + 1;
      run_node(order_[k]);
    }
    std::vector<Variable> results;
    for (const std::uint32_t root : roots) results.push_back(variable(root));
    return results;
  };
  (void)g_.checkpoint(function, {});
  // A value that nothing behind it needs is gone, so that no variable has it.
  for (std::size_t k = begin; k < end; ++k)
    for (const std::uint32_t output : graph_.nodes()[order_[k]].outputs)
      if (output != kNoIndex && !is_needed_behind(output, end)) forget(output);
}

}  // namespace mote::test
