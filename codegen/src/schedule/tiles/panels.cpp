// SPDX-License-Identifier: Apache-2.0
#include "schedule/tiles/panels.h"

#include <algorithm>

#include "mote/codegen/walk.h"
#include "passes/conditions.h"

namespace mote {
namespace {

Facts facts_under(const LoopProgram& p, const SharedLoops& chain, const TiledReduction& r,
                  const Conditions& conditions) {
  Facts facts = facts_in(p, chain);
  for (const LoopRange& l : r.nest.loops) facts.set_range(l.variable, l.begin, l.end);
  return assuming(facts, conditions);
}

/// Returns true if all elements that the operand reads exist wherever the facts hold.
bool is_in_range(const LoopProgram& p, const SharedOperand& o, const Facts& facts) {
  bool all = true;
  for_each_value(o.value, [&](const Value& v) {
    if (std::holds_alternative<value::Guard>(v->kind)) all = false;
    if (const auto* load = std::get_if<value::Load>(&v->kind))
      all = all && mote::is_in_range(p, *load, facts);
  });
  return all;
}

/// Returns true if all elements that the operand reads exist in all iterations of the chain's loops
/// that the conditions of its own axis, and those of neither axis, leave.
bool is_element(const LoopProgram& p, const SharedLoops& chain, const TiledReduction& r,
                const SharedOperand& o) {
  const Facts facts = facts_under(p, chain, r, conditions_of(r, o.side));
  return is_in_range(p, o, assuming(facts, r.shared.other_conditions));
}

}  // namespace

std::vector<LoopRange> outer_loops_of(const SharedLoops& chain, const TileOfNest& tile) {
  std::vector<LoopRange> outer;
  for (std::size_t k = tile.around; k < chain.loops.size(); ++k) {
    const Loop* l = chain.loops[k];
    if (l != &tile.vector && l != &tile.rows) outer.push_back({l->variable, l->begin, l->end});
  }
  return outer;
}

const Conditions& conditions_of(const TiledReduction& r, Side side) {
  return side == Side::vector ? r.shared.vector_conditions : r.shared.row_conditions;
}

std::vector<LoopRange> loops_of(const std::vector<LoopRange>& outer, const TiledReduction& r,
                                const SharedOperand& o) {
  std::vector<LoopRange> found;
  for (const LoopRange& l : outer)
    if (mentions(o.value, l.variable) ||
        std::ranges::any_of(conditions_of(r, o.side),
                            [&](const Condition& c) { return c.e.mentions(l.variable); }))
      found.push_back(l);
  return found;
}

bool is_direct(const LoopProgram& p, const TileOfNest& tile, const TiledReduction& r,
               const SharedOperand& o) {
  if (o.side == Side::vector || r.pairs) return false;
  const auto* load = std::get_if<value::Load>(&o.value->kind);
  const bool is_kept =
      load != nullptr && find_tensor(p, load->tensor)->role == TensorRole::temporary;
  return load != nullptr && (is_kept || !is_narrow(o.value->dtype)) &&
         (r.shared.row_conditions.empty() || tile.row_start || tile.skips_terms) && !tile.slides;
}

bool is_copied_ahead(const LoopProgram& p, const SharedLoops& chain, const TileOfNest& tile,
                     const TiledReduction& r, const SharedOperand& o) {
  const std::vector<LoopRange> outer = outer_loops_of(chain, tile);
  const bool is_shared = tile.row_start || r.pairs ? o.side == Side::vector
                                                   : loops_of(outer, r, o).size() < outer.size();
  return is_shared && (r.shared.other_conditions.empty() ||
                       is_in_range(p, o, facts_under(p, chain, r, conditions_of(r, o.side))));
}

bool reads_only_elements(const LoopProgram& p, const SharedLoops& chain, const TiledReduction& r) {
  return std::ranges::all_of(r.shared.operands,
                             [&](const SharedOperand& o) { return is_element(p, chain, r, o); });
}

bool reads_only_counted_elements(const LoopProgram& p, const SharedLoops& chain,
                                 const TiledReduction& r) {
  return std::ranges::all_of(r.shared.operands, [&](const SharedOperand& o) {
    const Side other = o.side == Side::vector ? Side::rows : Side::vector;
    return conditions_of(r, other).empty() || is_element(p, chain, r, o);
  });
}

bool are_columns_ahead(const LoopProgram& p, const SharedLoops& chain, const TileOfNest& tile,
                       const std::map<Symbol, TiledReduction>& reductions) {
  return std::ranges::all_of(reductions, [&](const auto& named) {
    const TiledReduction& r = named.second;
    return std::ranges::all_of(r.shared.operands, [&](const SharedOperand& o) {
      return o.side != Side::vector || is_copied_ahead(p, chain, tile, r, o);
    });
  });
}

}  // namespace mote
