// SPDX-License-Identifier: Apache-2.0
#include "compile/layout.h"

#include <algorithm>

#include "compile/same_kernel.h"
#include "dependency_cache.h"
#include "device_index.h"
#include "mote/memory/check.h"
#include "mote/symbolic/dependencies.h"
#include "mote/symbolic/in_place.h"
#include "mote/symbolic/order.h"

namespace mote {
namespace {

/// Returns the bytes that nodes copy in one iteration of a loop, or in all branches of a case..of,
/// which its layout has added to them.
std::uint64_t added_copies(const ControlInfo& of, const ControlLayout& layout) {
  std::uint64_t bytes = 0;
  for (std::size_t g = 0; g < layout.subs.size(); ++g) {
    const SymbolicGraph& graph = layout.subs[g].graph;
    bytes += layout.subs[g].layout->copied_bytes;
    for (std::size_t k = of.graphs[g].node_count(); k < graph.node_count(); ++k)
      if (graph.nodes()[k].kind == NodeKind::copy)
        bytes +=
            static_cast<std::uint64_t>(graph.symbols()[graph.nodes()[k].outputs[0]].form->bytes());
  }
  return bytes;
}

class LayoutMaker {
 public:
  LayoutMaker(const SymbolicGraph& graph, std::span<const std::uint32_t> bound,
              const CompileOptions& options, Context* context)
      : graph_(graph), bound_(bound), options_(options), context_(context) {
    for (const std::uint32_t index : bound) bound_symbols_.push_back(graph.at(index));
  }

  /// `first`: a symbol; what computes it comes first.
  GraphLayout make(std::optional<TensorSymbol> first = std::nullopt, const LoopClocks& clocks = {},
                   const PointedGraph& pointed = {}) {
    layout_.order = evaluation_order(graph_, options_.order, bound_symbols_);
    if (first) {
      is_first_ = ancestors(graph_, std::span(&*first, 1));
      std::ranges::stable_partition(layout_.order,
                                    [&](std::uint32_t node) { return is_first_[node]; });
    }
    for (const std::uint32_t node : controls()) {
      const auto through = clocks.find(node);
      const auto values = pointed.nodes.find(node);
      ControlLayout control =
          lay_out_control(graph_.nodes()[node], options_, context_,
                          through == clocks.end() ? ValueClocks() : through->second,
                          values == pointed.nodes.end() ? nullptr : values->second.get());
      layout_.copied_bytes += added_copies(*graph_.nodes()[node].control, control);
      layout_.controls.emplace(node, std::move(control));
    }
    find_tensors();
    for (const DeviceBlocks& on : layout_.blocks.devices)
      layout_.plans.push_back(plan_memory(on.problem, options_.plan));
    return std::move(layout_);
  }

  /// Returns the loops and branches, in the order of evaluation.
  std::vector<std::uint32_t> controls() const {
    std::vector<std::uint32_t> nodes;
    if (detail::node_table(graph_)->controls().empty()) return nodes;
    for (const std::uint32_t node : layout_.order)
      if (graph_.nodes()[node].kind == NodeKind::control) nodes.push_back(node);
    return nodes;
  }

  std::optional<GraphLayout> make_within(const GraphLayout& largest) {
    if (!largest.controls.empty() || !is_order(largest.order)) return std::nullopt;
    layout_.order = largest.order;
    find_tensors();
    layout_.plans = largest.plans;
    return fits(largest.blocks.devices) ? std::optional(std::move(layout_)) : std::nullopt;
  }

 private:
  /// True if the plans, which are those of the blocks `of`, are plans of the layout's blocks too.
  bool fits(const std::vector<DeviceBlocks>& of) const {
    const std::vector<DeviceBlocks>& own = layout_.blocks.devices;
    if (own.size() != of.size()) return false;
    for (std::size_t d = 0; d < own.size(); ++d)
      if (!is_same_device(own[d].device, of[d].device) ||
          check_memory_plan(own[d].problem, layout_.plans[d]))
        return false;
    return true;
  }

  /// True if these are all nodes of the graph, each after those that it depends on.
  bool is_order(std::span<const std::uint32_t> order) const {
    std::vector<bool> is_done(graph_.node_count());
    const IndexLists before = predecessors(graph_);
    for (const std::uint32_t node : order) {
      if (node >= is_done.size() || graph_.nodes()[node].removed || is_done[node]) return false;
      if (!std::ranges::all_of(before[node], [&](std::uint32_t k) { return is_done[k]; }))
        return false;
      is_done[node] = true;
    }
    return static_cast<std::size_t>(std::ranges::count_if(
               graph_.nodes(), [](const NodeInfo& node) { return !node.removed; })) == order.size();
  }

  /// Finds steps, streams, pairs and blocks for the order.
  void find_tensors() {
    set_steps({}, {});
    const bool is_planned = options_.memory == MemoryMode::planned;
    if (options_.in_place && is_planned) layout_.pairs = pairs();
    if (options_.poison) add_poison();
    layout_.blocks = find_blocks(graph_, layout_.steps, layout_.schedule, layout_.pairs,
                                 graph_.output_indices(), bound_, !is_planned, layout_.controls);
  }

  void set_steps(const std::vector<bool>& poisoned, const std::vector<bool>& dying) {
    layout_.steps = make_steps(graph_, layout_.order, poisoned, dying);
    layout_.schedule = mote::schedule(layout_.steps.problem, options_.streams);
  }

  std::vector<SharedPair> pairs() const {
    const HappensBefore before(layout_.schedule);
    const std::vector<std::uint32_t>& step = layout_.steps.position;
    const std::vector<NodeInPlacePair> allowed = in_place_pairs(
        graph_, [&](std::uint32_t a, std::uint32_t b) { return before(step[a], step[b]); },
        bound_symbols_);
    SameKernels kernels(graph_, context_);
    std::vector<SharedPair> shared;
    for (std::size_t begin = 0; begin < allowed.size();) {
      std::size_t end = begin + 1;
      while (end < allowed.size() && allowed[end].node == allowed[begin].node) ++end;
      const auto of_node = std::span(allowed).subspan(begin, end - begin);
      begin = end;
      if (!kernels.keeps(of_node)) continue;
      const NodeInfo& node = graph_.nodes()[of_node[0].node];
      for (const NodeInPlacePair& pair : of_node)
        shared.push_back({pair.node, node.inputs[pair.input], node.outputs[pair.output]});
    }
    return shared;
  }

  /// Adds the steps that poison the roots of the plan which take no input's memory. They may move
  /// nodes to other streams, so that only pairs that are still allowed are kept.
  void add_poison() {
    std::vector<bool> poisoned(graph_.symbol_count());
    for (std::uint32_t k = 0; k < graph_.symbol_count(); ++k)
      poisoned[k] = graph_.symbols()[k].kind == SymbolOrigin::tensor;
    for (const SharedPair& pair : layout_.pairs) poisoned[pair.output] = false;
    for (const std::uint32_t symbol : bound_)  // a loop may carry it over in place
      if (const std::uint32_t node = graph_.symbols()[symbol].producer; node != kNoIndex)
        for (const std::uint32_t input : graph_.nodes()[node].inputs)
          if (input != kNoIndex && graph_.symbols()[input].kind == SymbolOrigin::input &&
              may_be_in_place(graph_, node, input, symbol, context_))
            poisoned[symbol] = false;
    for (const auto& [node, control] : layout_.controls)  // what they give may be where inputs are
      for (const std::uint32_t output : graph_.nodes()[node].outputs) poisoned[output] = false;
    const std::vector<bool> ends = dying();
    set_steps(poisoned, ends);
    if (layout_.pairs.empty()) return;
    std::vector<SharedPair> kept;
    for (const SharedPair& pair : pairs())
      if (!poisoned[pair.output] && !ends[graph_.symbols()[pair.input].root]) kept.push_back(pair);
    layout_.pairs = std::move(kept);
  }

  /// Finds the roots of the plan whose memory holds nothing once all nodes that use them are done:
  /// no output, and nothing that lives on in place or as what a loop or a branch passes on, nor
  /// what a condition needs: the poison would come after the condition, where others have the
  /// memory.
  std::vector<bool> dying() const {
    std::vector<bool> dying(graph_.symbol_count());
    const IndexLists written = writers(graph_);
    for (std::uint32_t k = 0; k < graph_.symbol_count(); ++k) {
      const SymbolOrigin kind = graph_.symbols()[k].kind;
      dying[k] =
          (kind == SymbolOrigin::tensor || kind == SymbolOrigin::zeros) && !written[k].empty();
    }
    const auto lives = [&](std::uint32_t symbol) {
      if (symbol != kNoIndex) dying[graph_.symbols()[symbol].root] = false;
    };
    for (std::uint32_t node = 0; node < is_first_.size(); ++node)
      if (is_first_[node])
        for (const auto* symbols : {&graph_.nodes()[node].inputs, &graph_.nodes()[node].outputs})
          for (const std::uint32_t symbol : *symbols) lives(symbol);
    for (const std::uint32_t output : graph_.output_indices()) lives(output);
    for (const std::uint32_t bound : bound_) lives(bound);
    for (const SharedPair& pair : layout_.pairs) lives(pair.input);
    for (const auto& [node, control] : layout_.controls)
      for (const auto* symbols : {&graph_.nodes()[node].inputs, &graph_.nodes()[node].outputs})
        for (const std::uint32_t symbol : *symbols) lives(symbol);
    return dying;
  }

  const SymbolicGraph& graph_;
  std::span<const std::uint32_t> bound_;
  const CompileOptions& options_;
  Context* context_;
  std::vector<TensorSymbol> bound_symbols_;
  std::vector<bool> is_first_;  ///< the nodes that a body's condition needs
  GraphLayout layout_;
};

}  // namespace

std::uint64_t planned_bytes(const GraphLayout& layout) {
  std::uint64_t bytes = 0;
  for (const MemoryPlan& plan : layout.plans) bytes += plan.total;
  return bytes;
}

GraphLayout lay_out(const SymbolicGraph& graph, std::span<const std::uint32_t> bound,
                    const CompileOptions& options, Context* context) {
  GraphLayout layout = LayoutMaker(graph, bound, options, context).make();
  if (options.order != EvaluationOrder::least) return layout;
  // Where each tensor has memory of its own, the order decides only what loops carry over.
  if (options.memory != MemoryMode::planned && layout.controls.empty()) return layout;
  // The order was chosen by what is alive at once on one stream, without what is in place.
  CompileOptions as_given = options;
  as_given.order = EvaluationOrder::program;
  if (layout.controls.empty() && std::ranges::is_sorted(layout.order)) return layout;
  GraphLayout given = LayoutMaker(graph, bound, as_given, context).make();
  return planned_bytes(given) < planned_bytes(layout) ? std::move(given) : std::move(layout);
}

GraphLayout lay_out_body(const SymbolicGraph& graph, std::span<const std::uint32_t> bound,
                         const CompileOptions& options, Context* context, const LoopClocks& clocks,
                         const PointedGraph& pointed) {
  CompileOptions inside = options;
  inside.streams = 1;
  std::optional<TensorSymbol> condition;
  if (!graph.output_indices().empty()) condition = graph.outputs().back();
  return LayoutMaker(graph, bound, inside, context).make(condition, clocks, pointed);
}

std::optional<GraphLayout> lay_out_within(const GraphLayout& largest, const SymbolicGraph& graph,
                                          std::span<const std::uint32_t> bound,
                                          const CompileOptions& options, Context* context) {
  return LayoutMaker(graph, bound, options, context).make_within(largest);
}

}  // namespace mote
