// SPDX-License-Identifier: Apache-2.0
#include "schedule/tiles/window.h"

#include <vector>

#include "mote/codegen/walk.h"
#include "passes/conditions.h"

namespace mote {
namespace {

/// Returns the indices of the operand, and what the conditions of its axis compare.
std::vector<Expr> expressions_of(const TiledReduction& r, const SharedOperand& o) {
  std::vector<Expr> all;
  (void)rewrite_exprs(o.value, [&](const Expr& e) {
    all.push_back(e);
    return e;
  });
  for (const Condition& c : conditions_of(r, o.side)) all.push_back(c.e);
  return all;
}

/// Returns the one loop of the reduction that the expression depends on, if it is one.
std::optional<Symbol> tap_of(const TiledReduction& r, const Expr& e) {
  std::optional<Symbol> tap;
  for (const LoopRange& l : r.nest.loops) {
    if (!e.mentions(l.variable)) continue;
    if (tap) return std::nullopt;
    tap = l.variable;
  }
  return tap;
}

struct Steps {
  Expr of_rows, of_taps;
  friend bool operator==(const Steps&, const Steps&) = default;
};

std::optional<Steps> steps_in(const Expr& e, Symbol rows, Symbol tap) {
  const auto along_rows = linear_in(e, rows);
  if (!along_rows) return std::nullopt;
  const auto along_taps = linear_in(along_rows->rest, tap);
  if (!along_taps || along_rows->factor.mentions(tap)) return std::nullopt;
  return Steps{along_rows->factor, along_taps->factor};
}

}  // namespace

Expr Window::at(const Expr& e, const Expr& position) const {
  const auto steps = steps_in(e, rows, tap);
  if (!e.mentions(rows) || !steps) return e;
  const Expr rest = e.substitute({{rows, 0}, {tap, 0}});
  return steps->of_rows == step_of_rows ? rest + position : rest - position;
}

Value Window::at(const Value& v, const Expr& position) const {
  return rewrite_exprs(v, [&](const Expr& e) { return at(e, position); });
}

Conditions Window::at(Conditions conditions, const Expr& position) const {
  for (Condition& c : conditions) c.e = at(c.e, position);
  return conditions;
}

std::optional<Window> window_of(const TiledReduction& r, const SharedOperand& o, Symbol rows,
                                const Facts& facts) {
  std::optional<Window> window;
  const std::vector<Expr> all = expressions_of(r, o);
  for (const Expr& e : all) {
    if (!e.mentions(rows)) continue;
    const auto tap = tap_of(r, e);
    const auto steps = tap ? steps_in(e, rows, *tap) : std::nullopt;
    if (!steps) return std::nullopt;
    if (!window) window = {rows, *tap, steps->of_rows, steps->of_taps};
    const bool is_same = *steps == Steps{window->step_of_rows, window->step_of_taps} ||
                         *steps == Steps{-window->step_of_rows, -window->step_of_taps};
    if (*tap != window->tap || !is_same) return std::nullopt;
  }
  if (!window || (r.pairs && r.pairs->variable == window->tap)) return std::nullopt;
  for (const Expr& e : all)
    if (!e.mentions(rows) && e.mentions(window->tap)) return std::nullopt;
  for (const Condition& c : r.shared.other_conditions)
    if (c.e.mentions(window->tap)) return std::nullopt;
  for (const Expr& step : {window->step_of_rows, window->step_of_taps})
    if (!is_fixed(step) || !facts.prove_positive(step)) return std::nullopt;
  return window;
}

}  // namespace mote
