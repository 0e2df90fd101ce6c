// SPDX-License-Identifier: Apache-2.0
#include "schedule/panels.h"

#include <algorithm>

#include "mote/codegen/walk.h"

namespace mote {
namespace {

/// Returns true if the operand's elements exist also where the conditions that depend on neither
/// axis do not hold.
bool is_always_in_range(const LoopProgram& p, const SharedLoops& chain, const TiledReduction& r,
                        const SharedOperand& o) {
  Facts facts = base_facts(*p.source);
  for (const Loop* l : chain.loops) facts.set_range(l->variable, l->begin, l->end);
  for (const LoopRange& l : r.nest.loops) facts.set_range(l.variable, l.begin, l.end);
  for (const Condition& c : conditions_of(r, o.side))
    if (c.kind == Condition::Kind::nonneg) facts.assume_nonneg(c.e);
  bool all = true;
  for_each_value(o.value, [&](const Value& v) {
    const auto* load = std::get_if<value::Load>(&v->kind);
    if (std::holds_alternative<value::Guard>(v->kind)) all = false;
    if (load == nullptr) return;
    const TensorDecl& t = *find_tensor(p, load->tensor);
    for (std::size_t axis = 0; axis < load->index.size(); ++axis) {
      const Expr& e = load->index[axis];
      all =
          all && !e.has_load() && facts.prove_nonneg(e) && facts.prove_positive(t.shape[axis] - e);
    }
  });
  return all;
}

}  // namespace

std::vector<LoopRange> outer_loops_of(const SharedLoops& chain, const TileOfNest& tile) {
  std::vector<LoopRange> outer;
  for (const Loop* l : chain.loops)
    if (l != &tile.vector && l != &tile.rows) outer.push_back({l->variable, l->begin, l->end});
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

bool is_copied_ahead(const LoopProgram& p, const SharedLoops& chain, const TileOfNest& tile,
                     const TiledReduction& r, const SharedOperand& o) {
  const std::vector<LoopRange> outer = outer_loops_of(chain, tile);
  return loops_of(outer, r, o).size() < outer.size() &&
         (r.shared.other_conditions.empty() || is_always_in_range(p, chain, r, o));
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
