// SPDX-License-Identifier: Apache-2.0
#include "compile/through_loops.h"

#include <algorithm>
#include <atomic>
#include <cstddef>

#include "compile/pointed_layout.h"
#include "compile/pointed_values.h"
#include "mote/symbolic/dependencies.h"

namespace mote {
namespace {

/// Tells which tensors a body reads, gives and computes.
class Body {
 public:
  explicit Body(const ControlInfo& loop)
      : graph_(loop.graphs[0]),
        inputs_(input_indices(graph_)),
        written_(writers(graph_)),
        is_evaluated_(ancestors(graph_, std::vector<TensorSymbol>{graph_.outputs().back()})),
        reads_(graph_.symbol_count()),
        given_(graph_.symbol_count()) {
    for (const NodeInfo& node : graph_.nodes())
      if (!node.removed)
        for (const std::uint32_t input : node.inputs)
          if (input != kNoIndex) ++reads_[root_of(input)];
    for (const std::uint32_t output : graph_.output_indices()) ++given_[root_of(output)];
  }

  /// True if the body computes value k anew, and carries over nothing else of it or of the value
  /// before.
  bool computes(std::uint32_t k) const {
    const std::uint32_t symbol = output(k);
    return is_carried_alone(k) && graph_.symbols()[symbol].kind == SymbolOrigin::tensor &&
           !written_[symbol].empty() && producer(symbol) == nullptr;
  }

  /// Returns the inner loop or case..of that value k may go through.
  std::optional<CarriedOn> inner(std::uint32_t k) const {
    const std::uint32_t symbol = output(k);
    const NodeInfo* node = producer(symbol);
    if (!is_carried_alone(k) || node == nullptr) return std::nullopt;
    // A node that the condition needs runs once more when the loop ends, and its clock would count
    // that.
    if (is_evaluated_[graph_.symbols()[symbol].producer]) return std::nullopt;
    const auto at = static_cast<std::uint32_t>(std::ranges::find(node->outputs, symbol) -
                                               node->outputs.begin());
    // Only that node reads the value before: a loop as its own, a case..of in any branch.
    const auto reads = std::ranges::count(node->inputs, inputs_[k]);
    if (reads != reads_[inputs_[k]]) return std::nullopt;
    const bool takes_it = node->control->is_loop
                              ? node->inputs[at] == inputs_[k] && reads == 1
                              : node->inputs[0] != inputs_[k] && branches_go_on(*node, at, k);
    if (!takes_it) return std::nullopt;
    return CarriedOn{graph_.symbols()[symbol].producer, at};
  }

 private:
  std::uint32_t root_of(std::uint32_t symbol) const { return graph_.symbols()[symbol].root; }
  std::uint32_t output(std::uint32_t k) const { return graph_.output_indices()[k]; }
  /// The loop or case..of that gives the symbol; null if it is none.
  const NodeInfo* producer(std::uint32_t symbol) const {
    const std::uint32_t node = graph_.symbols()[symbol].producer;
    const bool is_control = node != kNoIndex && graph_.nodes()[node].kind == NodeKind::control;
    return is_control ? &graph_.nodes()[node] : nullptr;
  }
  /// True if each branch gives value k as it was, or computes it, and one computes it.
  bool branches_go_on(const NodeInfo& node, std::uint32_t at, std::uint32_t k) const {
    const std::uint32_t other = node.inputs[1 + at];
    if (other != kNoIndex && other != inputs_[k]) return false;
    bool computes = false;
    for (std::size_t g = 0; g < node.control->graphs.size(); ++g) {
      const SymbolicGraph& branch = node.control->graphs[g];
      const std::uint32_t given = branch.output_indices()[at];
      if (branch.symbols()[given].kind == SymbolOrigin::input) {
        const std::vector<std::uint32_t> inputs = input_indices(branch);
        const auto n = static_cast<std::size_t>(std::ranges::find(inputs, given) - inputs.begin());
        if (node.inputs[first_input(node, g) + n] != inputs_[k]) return false;
        continue;
      }
      if (!is_computed_alone(branch, given) || passes_on(branch, node, g, k)) return false;
      computes = true;
    }
    return computes;
  }
  /// True if the branch gives value k as it was, or a part of it: it would be read where the next
  /// one has just been computed.
  bool passes_on(const SymbolicGraph& branch, const NodeInfo& node, std::size_t g,
                 std::uint32_t k) const {
    const std::vector<std::uint32_t> inputs = input_indices(branch);
    return std::ranges::any_of(branch.output_indices(), [&](std::uint32_t output) {
      const std::uint32_t root = branch.symbols()[output].root;
      const auto n = static_cast<std::size_t>(std::ranges::find(inputs, root) - inputs.begin());
      return n < inputs.size() && node.inputs[first_input(node, g) + n] == inputs_[k];
    });
  }
  /// True if commands of the graph write the symbol, a whole tensor that it gives once.
  static bool is_computed_alone(const SymbolicGraph& graph, std::uint32_t symbol) {
    const SymbolInfo& info = graph.symbols()[symbol];
    const auto is_given = [&](std::uint32_t output) {
      return graph.symbols()[output].root == symbol;
    };
    const bool is_inner =
        info.producer != kNoIndex && graph.nodes()[info.producer].kind == NodeKind::control;
    return info.kind == SymbolOrigin::tensor && !is_inner && !writers(graph)[symbol].empty() &&
           std::ranges::count_if(graph.output_indices(), is_given) == 1;
  }
  /// True if the value is a whole tensor that is given once, and the value before is not given.
  bool is_carried_alone(std::uint32_t k) const {
    return root_of(output(k)) == output(k) && given_[output(k)] == 1 && given_[inputs_[k]] == 0;
  }

  const SymbolicGraph& graph_;
  std::vector<std::uint32_t> inputs_;
  IndexLists written_;
  std::vector<bool> is_evaluated_;             ///< by node: the condition needs it
  std::vector<std::ptrdiff_t> reads_, given_;  ///< by root: how often
};

/// Tells which results of a node a loop around may carry through it: at last a loop or a branch
/// computes them, and none needs a pointer since another result does.
std::vector<bool> going_on(const NodeInfo& node) {
  std::vector<bool> goes_on(result_count(*node.control), true);
  std::vector<bool> has_location;
  if (node.control->is_loop) {
    const Body body(*node.control);
    for (const auto& on : carried_through(*node.control)) has_location.push_back(on.has_value());
    for (std::uint32_t k = 0; k < goes_on.size(); ++k)
      goes_on[k] = has_location[k] || body.computes(k);
  }
  const std::vector<std::uint32_t> seeds = results_without_location(node, has_location);
  if (seeds.empty()) return goes_on;
  for (const auto& [k, value] : pointed_values(node, seeds).values) goes_on[k] = false;
  return goes_on;
}

}  // namespace

std::vector<std::optional<CarriedOn>> carried_through(const ControlInfo& loop) {
  const Body body(loop);
  std::map<std::uint32_t, std::vector<bool>> inside;  // by node
  std::vector<std::optional<CarriedOn>> values(result_count(loop));
  for (std::uint32_t k = 0; k < values.size(); ++k) {
    values[k] = body.inner(k);
    if (!values[k]) continue;
    const auto [known, is_new] = inside.try_emplace(values[k]->node);
    if (is_new) known->second = going_on(loop.graphs[0].nodes()[values[k]->node]);
    if (!known->second[values[k]->output]) values[k].reset();
  }
  return values;
}

std::uint64_t new_clock() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

}  // namespace mote
