// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/copies.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "fail.h"
#include "mote/base/error.h"

namespace mote {

void Copies::begin_segment(std::vector<std::uint32_t> after) {
  after_.clear();
  for (const std::uint32_t node : after) after_.push_back(graph_.node_at(node));
  ++segment_;
}

void Copies::order() {
  for (const auto& [copy, nodes] : waits_) graph_.set_after(copy, nodes);
  try {
    topological_order(graph_);
  } catch (const StatusError&) {
    for (const auto& [copy, nodes] : waits_) graph_.set_after(copy, {});
  }
}

/// Returns the nodes whose copies give the value, each after those that it needs.
std::vector<std::uint32_t> Copies::needed_nodes(std::uint32_t root, const Held& held) {
  std::vector<std::uint32_t> nodes;
  std::unordered_set<std::uint32_t> seen;
  std::vector<std::uint32_t> open = {root};
  while (!open.empty()) {
    const std::uint32_t wanted = open.back();
    open.pop_back();
    if (const std::uint32_t found = held.find(wanted); found != kNoIndex) {
      if (found == wanted) keep(wanted);
      continue;
    }
    if (!way_.may_recompute[wanted]) continue;
    const std::uint32_t node = graph_.symbols()[wanted].producer;
    if (!seen.insert(node).second) continue;
    nodes.push_back(node);
    for (const std::uint32_t input : graph_.nodes()[node].inputs)
      if (input != kNoIndex) open.push_back(graph_.symbols()[input].root);
  }
  std::ranges::sort(nodes, {}, [&](std::uint32_t node) { return way_.position[node]; });
  return nodes;
}

std::uint32_t Copies::value(std::uint32_t root, Held& held) {
  if (const std::uint32_t found = held.find(root); found != kNoIndex) {
    if (found == root) keep(root);
    return found;
  }
  if (root >= way_.may_recompute.size() || !way_.may_recompute[root]) return root;
  for (const std::uint32_t node : needed_nodes(root, held)) copy_node(node, held);
  return held.find(root);
}

std::uint32_t Copies::symbol(std::uint32_t symbol, Held& held) {
  const SymbolInfo info = graph_.symbols()[symbol];
  if (info.root == symbol) return value(symbol, held);
  if (is_counting_) {
    value(info.root, held);
    return symbol;
  }
  const std::uint32_t base = this->symbol(info.base, held);
  if (base == info.base) return symbol;
  const ViewStep step = graph_.view_step(graph_.at(symbol));
  return graph_.view(graph_.at(base), step).index;
}

void Copies::keep(std::uint32_t root) {
  if (!is_counting_ || is_kept_[root]) return;
  is_kept_[root] = true;
  kept_bytes_ += way_.bytes[root];
}

void Copies::copy_node(std::uint32_t node, Held& held) {
  ++count_;
  ++runs_[node];
  bytes_ += traffic(graph_, way_, node);
  if (is_counting_) {
    for (const std::uint32_t root : written_roots(graph_, node)) held.set(root, kCounted);
    return;
  }
  const NodeInfo info = graph_.nodes()[node];
  std::vector<TensorSymbol> inputs;
  for (const std::uint32_t input : info.inputs)
    inputs.push_back(input == kNoIndex ? TensorSymbol{} : graph_.at(symbol(input, held)));
  std::vector<TensorSymbol> outputs;
  for (const std::uint32_t output : info.outputs)
    outputs.push_back(output == kNoIndex ? TensorSymbol{}
                                         : graph_.tensor(graph_.symbols()[output].form));
  NodeSymbol copy;
  switch (info.kind) {
    case NodeKind::command:
      copy = graph_.write(*info.command, inputs, outputs);
      break;
    case NodeKind::copy:
      copy = graph_.copy(inputs[0], outputs[0]);
      break;
    case NodeKind::fill:
      copy = graph_.fill(outputs[0], info.value);
      break;
    case NodeKind::function:
    case NodeKind::control:
      throw InternalError("checkpoint: " + graph_.text(graph_.node_at(node)) + " was copied");
  }
  graph_.mark_recomputed(copy, segment_);
  waits_.emplace_back(copy, after_);
  for (std::size_t k = 0; k < info.outputs.size(); ++k)
    if (info.outputs[k] != kNoIndex) held.set(info.outputs[k], outputs[k].index);
}

}  // namespace mote
