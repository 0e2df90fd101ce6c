// SPDX-License-Identifier: Apache-2.0
#include "schedule/tiles/window.h"

#include <vector>

#include "mote/codegen/walk.h"
#include "passes/conditions.h"

namespace mote {
namespace {

/// Returns the indices of the operand, and what the conditions of its axis, and those of no axis,
/// compare.
std::vector<Expr> expressions_of(const TiledReduction& r, const SharedOperand& o) {
  std::vector<Expr> all;
  (void)rewrite_exprs(o.value, [&](const Expr& e) {
    all.push_back(e);
    return e;
  });
  for (const Conditions* conditions : {&conditions_of(r, o.side), &r.shared.other_conditions})
    for (const Condition& c : *conditions) all.push_back(c.e);
  return all;
}

/// Returns the one loop of the reduction that the expression depends on, if it is one.
std::optional<Symbol> inner_of(const TiledReduction& r, const Expr& e) {
  std::optional<Symbol> inner;
  for (const LoopRange& l : r.nest.loops) {
    if (!e.mentions(l.variable)) continue;
    if (inner) return std::nullopt;
    inner = l.variable;
  }
  return inner;
}

struct Steps {
  Expr outer, inner;
  friend bool operator==(const Steps&, const Steps&) = default;
};

std::optional<Steps> steps_in(const Expr& e, Symbol outer, Symbol inner) {
  const auto along_outer = linear_in(e, outer);
  if (!along_outer) return std::nullopt;
  const auto along_inner = linear_in(along_outer->rest, inner);
  if (!along_inner || along_outer->factor.mentions(inner)) return std::nullopt;
  return Steps{along_outer->factor, along_inner->factor};
}

}  // namespace

Expr Window::at(const Expr& e, const Expr& position) const {
  const auto steps = steps_in(e, outer, inner);
  if (!e.mentions(outer) || !steps) return e;
  const Expr rest = e.substitute({{outer, 0}, {inner, 0}});
  return steps->outer == outer_step ? rest + position : rest - position;
}

Value Window::at(const Value& v, const Expr& position) const {
  return rewrite_exprs(v, [&](const Expr& e) { return at(e, position); });
}

Conditions Window::at(Conditions conditions, const Expr& position) const {
  for (Condition& c : conditions) c.e = at(c.e, position);
  return conditions;
}

std::optional<Window> window_of(const TiledReduction& r, const SharedOperand& o, Symbol outer,
                                const Facts& facts) {
  std::optional<Window> window;
  const std::vector<Expr> all = expressions_of(r, o);
  for (const Expr& e : all) {
    if (!e.mentions(outer)) continue;
    const auto inner = inner_of(r, e);
    const auto steps = inner ? steps_in(e, outer, *inner) : std::nullopt;
    if (!steps) return std::nullopt;
    if (!window) window = {outer, *inner, steps->outer, steps->inner};
    const bool is_same = *steps == Steps{window->outer_step, window->inner_step} ||
                         *steps == Steps{-window->outer_step, -window->inner_step};
    if (*inner != window->inner || !is_same) return std::nullopt;
  }
  if (!window || (r.pairs && r.pairs->variable == window->inner)) return std::nullopt;
  for (const Expr& e : all)
    if (!e.mentions(outer) && e.mentions(window->inner)) return std::nullopt;
  for (const Expr& step : {window->outer_step, window->inner_step})
    if (!is_fixed(step) || !facts.prove_positive(step)) return std::nullopt;
  return window;
}

}  // namespace mote
