// SPDX-License-Identifier: Apache-2.0
#include "compile/control_layout.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "compile/layout.h"
#include "compile/pointed_layout.h"
#include "compile/result_sources.h"
#include "compile/same_kernel.h"
#include "device_index.h"
#include "mote/symbolic/dependencies.h"

namespace mote {
namespace {

using Kind = ResultLocation::Kind;

/// Makes the arenas as large as the graph inside needs them.
void enlarge(std::vector<InnerArena>& arenas, const GraphLayout& inside) {
  for (std::size_t d = 0; d < inside.plans.size(); ++d) {
    const DLDevice device = inside.blocks.devices[d].device;
    const std::uint32_t at = device_index(arenas, device);
    if (at == arenas.size()) arenas.push_back({.device = device});
    arenas[at].bytes = std::max(arenas[at].bytes, inside.plans[d].total);
  }
}

std::vector<std::uint32_t> symbols_of(const std::vector<SubLayout::Root>& roots) {
  std::vector<std::uint32_t> symbols;
  for (const SubLayout::Root& root : roots) symbols.push_back(root.symbol);
  return symbols;
}

/// A tensor that a body computes and carries over, and how long it is needed.
struct Ring {
  std::uint32_t root = 0;
  std::uint32_t delay = 0;            ///< the most iterations until it is read last
  std::vector<std::uint32_t> oldest;  ///< the inputs that have it so long
  bool has_parts = false;             ///< inputs get a part of it
};

class LoopLayout {
 public:
  LoopLayout(const NodeInfo& node, const CompileOptions& options, Context* context,
             ValueClocks clocks, const PointedNode* around)
      : control_(*node.control),
        options_(options),
        context_(context),
        clocks_(std::move(clocks)),
        through_(carried_through(control_)),
        around_(around) {
    std::vector<bool> has_location(through_.size());
    for (std::uint32_t k = 0; k < through_.size(); ++k)
      has_location[k] =
          through_[k].has_value() || (around != nullptr && around->values.contains(k));
    pointed_ = all_pointed_values(node, around, results_without_location(node, has_location));
    for (const auto& [k, value] : pointed_.values) through_[k].reset();
  }

  ControlLayout make() {
    SubLayout& body = layout_.subs.emplace_back();
    body.graph = control_.graphs[0];
    const std::size_t count = result_count(control_);
    std::vector<bool> elsewhere(count);
    for (std::uint32_t k = 0; k < count; ++k) elsewhere[k] = through_[k] || has_pointer(k);
    sources_ = ResultSources(body.graph).find(elsewhere);
    const LoopClocks inner = set_clocks();
    for (std::uint32_t k = 0; k < count; ++k) follow(k);
    for (const Ring& ring : rings_) body.roots.push_back({ring.root, {}, clock_of(ring)});
    add_regions(layout_, pointed_, around_);
    add_pointed_roots(layout_, pointed_, 0);
    body.layout = std::make_shared<GraphLayout>(lay_out_body(
        body.graph, symbols_of(body.roots), options_, context_, inner, pointed_.graphs[0]));
    enlarge(layout_.arenas, *body.layout);
    for (std::size_t r = 0; r < rings_.size(); ++r)
      add_slots(rings_[r], body.roots[r].slots, body.roots[r].clock != 0);
    for (std::uint32_t k = 0; k < count; ++k)
      if (through_[k]) lend_slots(k);
    lend_regions(layout_, pointed_, 0);
    for (std::uint32_t k = 0; k < count; ++k)
      layout_.results.push_back(has_pointer(k) ? pointed_result(layout_, pointed_, k)
                                               : locations(k));
    return std::move(layout_);
  }

 private:
  bool has_pointer(std::uint32_t k) const { return pointed_.values.contains(k); }
  std::uint32_t carried_count() const { return static_cast<std::uint32_t>(sources_.size()); }

  /// Gives values that go on through loops inside a clock, unless they have that of a loop around.
  /// Returns the clocks of the loops inside.
  LoopClocks set_clocks() {
    LoopClocks inner;
    is_started_.resize(through_.size());
    layout_.counts.emplace_back();
    for (std::uint32_t k = 0; k < through_.size(); ++k) {
      if (!through_[k]) {
        if (const auto known = clocks_.find(k); known != clocks_.end())
          layout_.counts[0].push_back(known->second);
        continue;
      }
      if (!clocks_.contains(k)) {
        clocks_[k] = new_clock();
        is_started_[k] = true;
        layout_.starts.push_back(clocks_[k]);
      }
      inner[through_[k]->node][through_[k]->output] = clocks_[k];
    }
    return inner;
  }

  /// The clock of the only value of the ring that a loop around carries through this one; 0: none.
  std::uint64_t clock_of(const Ring& ring) const {
    const auto known = clocks_.find(ring.oldest.front());
    return known == clocks_.end() ? 0 : known->second;
  }

  /// Takes the slots of the loop inside that value k goes through.
  void lend_slots(std::uint32_t k) {
    SubLayout& body = layout_.subs[0];
    const auto [node, output] = *through_[k];
    const ControlLayout& inner = body.layout->controls.at(node);
    for (const ResultLocation& at : inner.results[output].cycle) {
      const std::uint32_t slot = new_slot(inner.slots[at.index], !is_started_[k]);
      body.lent.push_back({node, at.index, slot});
      slots_through_[k].push_back(slot);
    }
  }

  std::uint32_t new_slot(const TensorForm& form, bool is_lent) {
    layout_.slots.push_back(form);
    layout_.is_lent.push_back(is_lent);
    return static_cast<std::uint32_t>(layout_.slots.size() - 1);
  }

  /// The way from a carried input back to what it was: the inputs that it has been.
  struct Way {
    std::vector<std::uint32_t> inputs;
    std::size_t again = 0;  ///< where a circle begins; the number of inputs if there is none
    ResultSource end;       ///< if there is none
    /// The part of each of `inputs` that k is, and last that of the end.
    std::vector<std::optional<ViewRegion>> parts = {{}};
  };
  Way way_of(std::uint32_t k) const {
    Way way;
    for (;;) {
      const auto seen = std::ranges::find(way.inputs, k);
      if (seen != way.inputs.end()) {
        way.again = static_cast<std::size_t>(seen - way.inputs.begin());
        return way;
      }
      way.inputs.push_back(k);
      way.end = sources_[k];
      way.parts.push_back(part_of(way.end.part, way.parts.back()));
      if (way.end.kind != ResultSource::Kind::input || way.end.index >= carried_count()) break;
      k = way.end.index;
    }
    way.again = way.inputs.size();
    return way;
  }

  void follow(std::uint32_t k) {
    const Way way = way_of(k);
    if (way.again < way.inputs.size() || way.end.kind != ResultSource::Kind::root) return;
    auto ring = std::ranges::find(rings_, way.end.index, &Ring::root);
    if (ring == rings_.end()) ring = rings_.insert(ring, {.root = way.end.index, .oldest = {}});
    const auto delay = static_cast<std::uint32_t>(way.inputs.size());
    if (delay > ring->delay) ring->oldest.clear();
    ring->delay = std::max(ring->delay, delay);
    if (delay == ring->delay) ring->oldest.push_back(k);
    ring->has_parts = ring->has_parts || way.parts.back();
  }

  /// True if all that read the oldest value are done before the newest is written in its location.
  bool replaces_oldest(const Ring& ring) const {
    const SymbolicGraph& body = layout_.subs[0].graph;
    if (body.symbols()[ring.root].kind != SymbolOrigin::tensor) return false;
    const std::vector<bool> is_first =
        ancestors(body, std::vector<TensorSymbol>{body.outputs().back()});
    const IndexLists read = readers(body);
    const IndexLists written = writers(body);
    std::vector<std::size_t> location(body.node_count());
    const std::vector<std::uint32_t>& order = layout_.subs[0].layout->order;
    for (std::size_t p = 0; p < order.size(); ++p) location[order[p]] = p;
    const std::vector<std::uint32_t> inputs = input_indices(body);
    for (const std::uint32_t writer : written[ring.root]) {
      // It is also written in the last iteration, which is not run to its end.
      if (is_first[writer]) return false;
      for (const std::uint32_t k : ring.oldest)
        for (const std::uint32_t reader : read[inputs[k]]) {
          if (reader == writer && options_.in_place && !ring.has_parts &&
              may_be_in_place(body, reader, inputs[k], ring.root, context_))
            continue;
          if (location[reader] >= location[writer] ||
              body.nodes()[reader].kind == NodeKind::control)
            return false;
        }
    }
    const auto is_condition = [&](std::uint32_t k) {
      const std::uint32_t condition = body.output_indices().back();
      return body.symbols()[condition].root == inputs[k];
    };
    return std::ranges::none_of(ring.oldest, is_condition);
  }

  void add_slots(const Ring& ring, std::vector<std::uint32_t>& slots, bool are_lent) {
    const std::uint32_t count = ring.delay + (replaces_oldest(ring) ? 0 : 1);
    for (std::uint32_t k = 0; k < count; ++k)
      slots.push_back(new_slot(layout_.subs[0].graph.symbols()[ring.root].form, are_lent));
  }

  ResultLocations locations(std::uint32_t k) const {
    const Way way = way_of(k);
    ResultLocations result;
    for (std::size_t j = 0; j < way.inputs.size(); ++j)
      (j < way.again ? result.first : result.cycle)
          .push_back({Kind::input, way.inputs[j], 0, way.parts[j]});
    if (way.again < way.inputs.size()) return result;
    if (const auto known = clocks_.find(k); known != clocks_.end()) result.clock = known->second;
    if (way.end.kind == ResultSource::Kind::elsewhere) {
      for (const std::uint32_t slot : slots_through_.at(k))
        result.cycle.push_back({Kind::slot, slot});
    } else if (way.end.kind == ResultSource::Kind::input) {
      result.cycle.push_back({Kind::input, way.end.index, 0, way.parts.back()});
    } else if (way.end.kind == ResultSource::Kind::constant) {
      result.cycle.push_back({Kind::constant, way.end.index, 0, way.parts.back()});
    } else {
      const auto& roots = layout_.subs[0].roots;
      for (const std::uint32_t slot :
           std::ranges::find(roots, way.end.index, &SubLayout::Root::symbol)->slots)
        result.cycle.push_back({Kind::slot, slot, 0, way.parts.back()});
    }
    return result;
  }

  const ControlInfo& control_;
  const CompileOptions& options_;
  Context* context_;
  ValueClocks clocks_;  ///< of the values that go through loops, this one or one inside
  std::vector<std::optional<CarriedOn>> through_;  ///< by value
  std::vector<bool> is_started_;                   ///< by value: its clock is this loop's
  std::map<std::uint32_t, std::vector<std::uint32_t>> slots_through_;
  const PointedNode* around_;  ///< the values whose pointers the graph around knows
  PointedNode pointed_;
  ControlLayout layout_;
  std::vector<ResultSource> sources_;
  std::vector<Ring> rings_;
};

/// Returns the slot in which a branch has the root that result k is, or is a part of: that of the
/// result, or one that is as large as the root, or the one that another result has.
std::uint32_t slot_of_root(ControlLayout& layout, SubLayout& branch, std::uint32_t k,
                           std::uint32_t root, bool is_part) {
  const auto known = std::ranges::find(branch.roots, root, &SubLayout::Root::symbol);
  if (known != branch.roots.end()) return known->slots[0];
  std::uint32_t slot = k;
  if (is_part) {
    slot = static_cast<std::uint32_t>(layout.slots.size());
    layout.slots.push_back(branch.graph.symbols()[root].form);
  }
  branch.roots.push_back({root, {slot}});
  return slot;
}

/// Gives result k, which a loop around carries through the branches, two slots of that loop. The
/// value before is in one of them, or where the loop began.
void go_on_through(ControlLayout& layout, const NodeInfo& node, std::uint32_t k,
                   std::uint64_t clock) {
  const auto other = static_cast<std::uint32_t>(layout.slots.size());
  layout.slots.push_back(layout.slots[k]);
  layout.is_lent.resize(layout.slots.size());
  layout.is_lent[k] = layout.is_lent[other] = true;
  ResultLocations& result = layout.results[k];
  result = {.first = {{Kind::slot, k}}, .cycle = {{Kind::slot, k}, {Kind::slot, other}}};
  result.clock = clock;
  if (node.inputs[1 + k] != kNoIndex) result.first = {{Kind::input, 1 + k}};
  for (std::size_t g = 0; g < node.control->graphs.size(); ++g) {
    const SymbolicGraph& branch = node.control->graphs[g];
    const std::vector<std::uint32_t> inputs = input_indices(branch);
    const auto at = std::ranges::find(inputs, branch.output_indices()[k]);
    if (at == inputs.end()) continue;
    const auto input = first_input(node, g) + static_cast<std::size_t>(at - inputs.begin());
    result.first = {{Kind::input, static_cast<std::uint32_t>(input)}};
  }
}

ControlLayout lay_out_branches(const NodeInfo& node, const CompileOptions& options,
                               Context* context, const ValueClocks& clocks,
                               const PointedNode* around) {
  const ControlInfo& control = *node.control;
  const std::size_t count = result_count(control);
  ControlLayout layout;
  layout.results.resize(count);
  for (std::size_t k = 0; k < count; ++k) {
    layout.slots.push_back(control.graphs[0].symbols()[control.graphs[0].output_indices()[k]].form);
    const bool has_other = node.inputs[1 + k] != kNoIndex;
    layout.results[k].first.push_back(
        has_other ? ResultLocation{Kind::input, static_cast<std::uint32_t>(1 + k)}
                  : ResultLocation{Kind::slot, static_cast<std::uint32_t>(k)});
  }
  for (const auto& [k, clock] : clocks) go_on_through(layout, node, k, clock);
  std::vector<bool> elsewhere(count);
  for (std::uint32_t k = 0; k < count; ++k)
    elsewhere[k] = clocks.contains(k) || (around != nullptr && around->values.contains(k));
  const PointedNode pointed =
      all_pointed_values(node, around, results_without_location(node, elsewhere));
  add_regions(layout, pointed, around);
  for (std::uint32_t k = 0; k < count; ++k) elsewhere[k] = pointed.values.contains(k);
  for (const auto& [k, value] : pointed.values) {
    layout.results[k] = pointed_result(layout, pointed, k);
    layout.slots[k] = {DType::u8, {0}};  // it is in the regions
  }
  layout.counts.resize(control.graphs.size());
  for (std::uint32_t g = 0; g < control.graphs.size(); ++g) {
    SubLayout& branch = layout.subs.emplace_back();
    branch.graph = control.graphs[g];
    const std::vector<ResultSource> sources = ResultSources(branch.graph).find(elsewhere);
    for (std::uint32_t k = 0; k < count; ++k) {
      const auto& [kind, index, part] = sources[k];
      if (elsewhere[k]) continue;
      if (const std::uint64_t clock = layout.results[k].clock; clock != 0) {
        if (kind != ResultSource::Kind::root) continue;
        branch.roots.push_back({index, {}, clock});
        for (const ResultLocation& at : layout.results[k].cycle)
          branch.roots.back().slots.push_back(at.index);
        layout.counts[g].push_back(clock);
        continue;
      }
      ResultLocation location{Kind::input, static_cast<std::uint32_t>(first_input(node, g)) + index,
                              0, part};
      if (kind == ResultSource::Kind::constant) location = {Kind::constant, index, g, part};
      if (kind == ResultSource::Kind::root)
        location = {Kind::slot, slot_of_root(layout, branch, k, index, part.has_value()), 0, part};
      layout.results[k].first.push_back(std::move(location));
    }
    add_pointed_roots(layout, pointed, g);
    branch.layout = std::make_shared<GraphLayout>(lay_out_body(
        branch.graph, symbols_of(branch.roots), options, context, {}, pointed.graphs[g]));
    lend_regions(layout, pointed, g);
    enlarge(layout.arenas, *branch.layout);
  }
  return layout;
}

bool is_known(const SymbolicGraph& graph) {
  return std::ranges::all_of(graph.symbols(),
                             [](const SymbolInfo& info) { return info.removed || info.has_form; });
}

/// Nothing is planned inside before the shapes there are known.
ControlLayout lay_out_results(const NodeInfo& node) {
  const SymbolicGraph& first = node.control->graphs[0];
  ControlLayout layout;
  for (std::uint32_t k = 0; k < node.outputs.size(); ++k) {
    layout.slots.push_back(first.symbols()[first.output_indices()[k]].form);
    layout.results.push_back({.first = {}, .cycle = {{Kind::slot, k}}});
  }
  return layout;
}

}  // namespace

ControlLayout lay_out_control(const NodeInfo& node, const CompileOptions& options, Context* context,
                              const ValueClocks& clocks, const PointedNode* pointed) {
  if (!std::ranges::all_of(node.control->graphs, is_known)) return lay_out_results(node);
  return node.control->is_loop ? LoopLayout(node, options, context, clocks, pointed).make()
                               : lay_out_branches(node, options, context, clocks, pointed);
}

}  // namespace mote
