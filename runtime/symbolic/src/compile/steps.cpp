// SPDX-License-Identifier: Apache-2.0
#include "compile/steps.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "dependency_cache.h"
#include "device_index.h"
#include "mote/symbolic/dependencies.h"

namespace mote {

std::span<const std::uint32_t> inputs_of(const detail::NodeTable& nodes, const RunStep& step) {
  if (step.kind != RunStepKind::node) return {};
  return nodes.inputs(step.index);
}

std::span<const std::uint32_t> outputs_of(const detail::NodeTable& nodes, const RunStep& step) {
  if (step.kind != RunStepKind::node) return {&step.index, 1};
  return nodes.outputs(step.index);
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
            const std::vector<bool>& poisoned, const std::vector<bool>& dying)
      : graph_(graph),
        order_(order),
        poisoned_(poisoned),
        dying_(dying),
        nodes_(detail::node_table(graph)),
        shared_before_(detail::shared_predecessors(graph)),
        shared_written_(detail::shared_writers(graph)),
        fill_(graph.symbol_count(), kNoIndex) {
    steps_.position.assign(graph.node_count(), kNoIndex);
  }

  Steps make() {
    find_always_zero();
    if (!dying_.empty()) find_last_users();
    make_room();
    for (const std::uint32_t node : order_) add(node);
    if (others_.empty()) steps_.problem.devices.clear();
    return std::move(steps_);
  }

 private:
  /// Takes memory for a step of each node; those of fills are few.
  void make_room() {
    const std::size_t count = order_.size();
    steps_.steps.reserve(count);
    steps_.problem.begin.reserve(count + 1);
    steps_.problem.order.reserve(count);
    steps_.problem.devices.reserve(count);
    steps_.problem.predecessors.reserve(before_.entry_count());
  }

  void find_always_zero() {
    for (std::uint32_t k = 0; k < graph_.symbol_count(); ++k) {
      const SymbolInfo& info = graph_.symbols()[k];
      if (!info.removed && info.kind == SymbolOrigin::zeros && written_[k].empty())
        steps_.always_zero.push_back(k);
    }
  }

  /// Returns how the symbol's root is filled before a node uses it, if it is.
  std::optional<RunStepKind> fill_of(std::uint32_t root) const {
    if (written_[root].empty()) return std::nullopt;
    const bool is_zeros = graph_.symbols()[root].kind == SymbolOrigin::zeros;
    if (is_zeros && needs_fill(graph_, root, written_[root])) return RunStepKind::zeros;
    if (!poisoned_.empty() && poisoned_[root]) return RunStepKind::poison;
    return std::nullopt;
  }

  /// Adds the fill of the symbol's root before the first node that uses it.
  void use(std::uint32_t symbol, std::vector<std::uint32_t>& needed) {
    if (symbol == kNoIndex) return;
    const std::uint32_t root = graph_.symbols()[symbol].root;
    if (fill_[root] == kNoIndex) {
      const std::optional<RunStepKind> kind = fill_of(root);
      if (!kind) return;
      fill_[root] = static_cast<std::uint32_t>(steps_.steps.size());
      push({.kind = *kind, .index = root}, {});
    }
    needed.push_back(fill_[root]);
  }

  void add(std::uint32_t node) {
    std::vector<std::uint32_t>& needed = needed_;
    needed.clear();
    for (const std::uint32_t input : nodes_->inputs(node)) use(input, needed);
    for (const std::uint32_t output : nodes_->outputs(node)) use(output, needed);
    for (const std::uint32_t before : before_[node]) needed.push_back(steps_.position[before]);
    steps_.position[node] = static_cast<std::uint32_t>(steps_.steps.size());
    push({.kind = RunStepKind::node, .index = node}, needed);
    if (!dying_.empty()) end_lives(node);
  }

  /// Calls use(root) for each root of the plan's that the node uses and that is to be poisoned.
  template <typename Use>
  void each_dying(std::uint32_t node, const Use& use) const {
    for (const auto* symbols : {&graph_.nodes()[node].inputs, &graph_.nodes()[node].outputs})
      for (const std::uint32_t symbol : *symbols)
        if (symbol != kNoIndex && dying_[graph_.symbols()[symbol].root])
          use(graph_.symbols()[symbol].root);
  }

  void find_last_users() {
    users_.resize(graph_.symbol_count());
    last_user_.assign(graph_.symbol_count(), kNoIndex);
    for (const std::uint32_t node : order_)
      each_dying(node, [&](std::uint32_t root) { last_user_[root] = node; });
  }

  /// Adds the poison of the roots that the node is the last one to use.
  void end_lives(std::uint32_t node) {
    std::vector<std::uint32_t> ended;
    each_dying(node, [&](std::uint32_t root) {
      users_[root].push_back(steps_.position[node]);
      if (last_user_[root] == node && std::ranges::find(ended, root) == ended.end())
        ended.push_back(root);
    });
    for (const std::uint32_t root : ended)
      push({.kind = RunStepKind::death, .index = root}, users_[root]);
  }

  void push(const RunStep& step, std::span<const std::uint32_t> needed) {
    steps_.problem.predecessors.insert(steps_.problem.predecessors.end(), needed.begin(),
                                       needed.end());
    steps_.problem.begin.push_back(steps_.problem.predecessors.size());
    steps_.problem.order.push_back(static_cast<std::uint32_t>(steps_.steps.size()));
    steps_.problem.devices.push_back(device_of(step));
    steps_.steps.push_back(step);
  }

  /// Returns the number of the device that the step's work is given to: that of its first tensor
  /// that is not on the host. Functions, poison, loops and branches run on the host.
  std::uint16_t device_of(const RunStep& step) {
    if (step.kind == RunStepKind::poison || step.kind == RunStepKind::death) return 0;
    const NodeKind kind =
        step.kind == RunStepKind::node ? nodes_->kind(step.index) : NodeKind::fill;
    if (kind == NodeKind::function || kind == NodeKind::control) return 0;
    for (const auto symbols : {inputs_of(*nodes_, step), outputs_of(*nodes_, step)})
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
  const std::vector<bool>& dying_;
  std::shared_ptr<const detail::NodeTable> nodes_;
  std::shared_ptr<const IndexLists> shared_before_, shared_written_;
  const IndexLists& before_ = *shared_before_;
  const IndexLists& written_ = *shared_written_;
  std::vector<std::uint32_t> fill_;
  std::vector<std::uint32_t> needed_;              ///< of the node that is added; it keeps its room
  std::vector<std::vector<std::uint32_t>> users_;  ///< by root that dies: the steps so far
  std::vector<std::uint32_t> last_user_;           ///< by root that dies: the last node
  std::vector<DLDevice> others_;                   ///< the devices other than the host
  Steps steps_;
};

}  // namespace

Steps make_steps(const SymbolicGraph& graph, std::span<const std::uint32_t> order,
                 const std::vector<bool>& poisoned, const std::vector<bool>& dying) {
  return StepMaker(graph, order, poisoned, dying).make();
}

}  // namespace mote
