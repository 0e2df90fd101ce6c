// SPDX-License-Identifier: Apache-2.0
#include "compile/steps.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "device_index.h"
#include "mote/symbolic/dependencies.h"

namespace mote {

std::span<const std::uint32_t> inputs_of(const SymbolicGraph& graph, const Step& step) {
  if (step.kind != StepKind::node) return {};
  return graph.nodes()[step.index].inputs;
}

std::span<const std::uint32_t> outputs_of(const SymbolicGraph& graph, const Step& step) {
  if (step.kind != StepKind::node) return {&step.index, 1};
  return graph.nodes()[step.index].outputs;
}

bool needs_fill(const SymbolicGraph& graph, std::uint32_t root,
                std::span<const std::uint32_t> writers) {
  std::int64_t written = 0;  // the writes share no element
  for (const std::uint32_t node : writers)
    for (const std::uint32_t output : graph.nodes()[node].outputs)
      if (output != kNoIndex && graph.symbols()[output].root == root)
        written += element_count(graph.symbols()[output].form);
  return written < element_count(graph.symbols()[root].form);
}

namespace {

class StepMaker {
 public:
  StepMaker(const SymbolicGraph& graph, std::span<const std::uint32_t> order,
            const std::vector<bool>& poisoned)
      : graph_(graph),
        order_(order),
        poisoned_(poisoned),
        before_(predecessors(graph)),
        written_(writers(graph)),
        fill_(graph.symbol_count(), kNoIndex) {
    steps_.position.assign(graph.node_count(), kNoIndex);
  }

  Steps make() {
    find_always_zero();
    for (const std::uint32_t node : order_) add(node);
    if (others_.empty()) steps_.problem.devices.clear();
    return std::move(steps_);
  }

 private:
  void find_always_zero() {
    for (std::uint32_t k = 0; k < graph_.symbol_count(); ++k) {
      const SymbolInfo& info = graph_.symbols()[k];
      if (!info.removed && info.kind == SymbolOrigin::zeros && written_[k].empty())
        steps_.always_zero.push_back(k);
    }
  }

  /// Returns how the symbol's root is filled before a node uses it, if it is.
  std::optional<StepKind> fill_of(std::uint32_t root) const {
    if (written_[root].empty()) return std::nullopt;
    const bool is_zeros = graph_.symbols()[root].kind == SymbolOrigin::zeros;
    if (is_zeros && needs_fill(graph_, root, written_[root])) return StepKind::zeros;
    if (!poisoned_.empty() && poisoned_[root]) return StepKind::poison;
    return std::nullopt;
  }

  /// Adds the fill of the symbol's root before the first node that uses it.
  void use(std::uint32_t symbol, std::vector<std::uint32_t>& needed) {
    if (symbol == kNoIndex) return;
    const std::uint32_t root = graph_.symbols()[symbol].root;
    if (fill_[root] == kNoIndex) {
      const std::optional<StepKind> kind = fill_of(root);
      if (!kind) return;
      fill_[root] = static_cast<std::uint32_t>(steps_.steps.size());
      push({.kind = *kind, .index = root}, {});
    }
    needed.push_back(fill_[root]);
  }

  void add(std::uint32_t node) {
    std::vector<std::uint32_t>& needed = needed_;
    needed.clear();
    for (const std::uint32_t input : graph_.nodes()[node].inputs) use(input, needed);
    for (const std::uint32_t output : graph_.nodes()[node].outputs) use(output, needed);
    for (const std::uint32_t before : before_[node]) needed.push_back(steps_.position[before]);
    steps_.position[node] = static_cast<std::uint32_t>(steps_.steps.size());
    push({.kind = StepKind::node, .index = node}, needed);
  }

  void push(const Step& step, std::span<const std::uint32_t> needed) {
    steps_.problem.predecessors.insert(steps_.problem.predecessors.end(), needed.begin(),
                                       needed.end());
    steps_.problem.begin.push_back(steps_.problem.predecessors.size());
    steps_.problem.order.push_back(static_cast<std::uint32_t>(steps_.steps.size()));
    steps_.problem.devices.push_back(device_of(step));
    steps_.steps.push_back(step);
  }

  /// Returns the number of the device that the step's work is given to: that of its first tensor
  /// that is not on the host. Functions, poison, loops and branches run on the host.
  std::uint16_t device_of(const Step& step) {
    if (step.kind == StepKind::poison) return 0;
    const NodeKind kind =
        step.kind == StepKind::node ? graph_.nodes()[step.index].kind : NodeKind::fill;
    if (kind == NodeKind::function || kind == NodeKind::control) return 0;
    for (const auto symbols : {inputs_of(graph_, step), outputs_of(graph_, step)})
      for (const std::uint32_t symbol : symbols) {
        if (symbol == kNoIndex) continue;
        const TensorForm& form = graph_.symbols()[symbol].form;
        if (!form.is_on_host()) return number_of(form.device);
      }
    return 0;
  }

  std::uint16_t number_of(DLDevice device) {
    const auto found = std::ranges::find_if(
        others_, [&](DLDevice other) { return is_same_device(other, device); });
    const auto number = static_cast<std::uint16_t>(found - others_.begin() + 1);
    if (found == others_.end()) others_.push_back(device);
    return number;
  }

  const SymbolicGraph& graph_;
  std::span<const std::uint32_t> order_;
  const std::vector<bool>& poisoned_;
  IndexLists before_;
  IndexLists written_;
  std::vector<std::uint32_t> fill_;
  std::vector<std::uint32_t> needed_;  ///< of the node that is added; it keeps its room
  std::vector<DLDevice> others_;       ///< the devices beside the host
  Steps steps_;
};

}  // namespace

Steps make_steps(const SymbolicGraph& graph, std::span<const std::uint32_t> order,
                 const std::vector<bool>& poisoned) {
  return StepMaker(graph, order, poisoned).make();
}

}  // namespace mote
