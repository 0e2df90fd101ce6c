// SPDX-License-Identifier: Apache-2.0
// Turns range guards into loop limits, and divisibility into a stride. It works from inside out: a
// condition that everything in a loop's body stands under either does not depend on the loop's
// variable (then it moves out, as a branch around the loop; if it loads, only from an input, in
// range), or is linear in it (then it becomes a limit), or is a congruence (then it becomes start
// and step). A reduction whose guard gives the neutral element counts as standing under the guard's
// conditions: folding neutral changes nothing.
#include <algorithm>

#include "ir/dependence.h"
#include "mote/codegen/passes.h"
#include "passes/common_conditions.h"
#include "passes/conditions.h"

namespace mote {
namespace {

/// Turns factor·v + rest >= 0 into a limit of the loop.
bool tighten(Loop& loop, const Expr& e, const Facts& outer) {
  const auto linear = linear_in(e, loop.variable);
  if (!linear || loop.step != Expr(1)) return false;
  if (outer.prove_positive(linear->factor)) {
    loop.begin = outer.simplify(max(loop.begin, ceil_div(-linear->rest, linear->factor)));
    return true;
  }
  if (outer.prove_positive(-linear->factor)) {
    loop.end = outer.simplify(min(loop.end, linear->rest / -linear->factor + 1));
    return true;
  }
  return false;
}

/// Turns (±v + rest) % s == 0 into start and step of the loop.
bool stride(Loop& loop, const Expr& e, const Facts& outer) {
  const Atom* mod = e.as_atom();
  if (!mod || mod->kind != Atom::Kind::mod || loop.step != Expr(1)) return false;
  const Expr& divisor = mod->args[1];
  const auto linear = linear_in(mod->args[0], loop.variable);
  if (!linear || divisor.mentions(loop.variable)) return false;
  if (linear->factor != Expr(1) && linear->factor != Expr(-1)) return false;
  const Expr target = linear->factor == Expr(1) ? -linear->rest : linear->rest;
  loop.begin = outer.simplify(loop.begin + (target - loop.begin) % divisor);
  loop.step = divisor;
  return true;
}

/// An unrolled loop keeps its number of iterations.
bool absorb(Loop& loop, const Condition& c, const Facts& outer) {
  if (loop.kind == LoopKind::unrolled) return false;
  return c.kind == Condition::Kind::nonneg ? tighten(loop, c.e, outer) : stride(loop, c.e, outer);
}

/// Turns a congruence that did not become a stride into a branch that skips iterations, instead of
/// folding neutral.
void branch_on_congruences(Body& body) {
  for (Stmt& s : body) {
    const auto* fold = std::get_if<Fold>(&s.kind);
    const value::Guard* g = fold ? neutral_guard(*fold) : nullptr;
    if (!g || std::any_of(g->conditions.begin(), g->conditions.end(), has_load) ||
        std::none_of(g->conditions.begin(), g->conditions.end(),
                     [](const Condition& c) { return c.kind == Condition::Kind::zero; }))
      continue;
    Conditions conditions = g->conditions;
    Body inner;
    inner.push_back({Fold{fold->accumulator, fold->op, g->then, fold->position}});
    s = {If{std::move(conditions), std::move(inner)}};
  }
}

class Tightener {
 public:
  explicit Tightener(const LoopProgram& p) : p_(p) {}

  Body tightened(Body body, const Facts& facts) const {
    Body out;
    for (Stmt& s : body) {
      if (auto* loop = std::get_if<Loop>(&s.kind)) {
        tighten_loop(std::move(*loop), facts, out);
      } else if (auto* branch = std::get_if<If>(&s.kind)) {
        branch->body = tightened(std::move(branch->body), assuming(facts, branch->conditions));
        out.push_back(std::move(s));
      } else {
        out.push_back(std::move(s));
      }
    }
    return out;
  }

 private:
  void tighten_loop(Loop loop, const Facts& facts, Body& out) const {
    Facts inner = facts;
    inner.set_range(loop.variable, loop.begin, loop.end);
    loop.body = tightened(std::move(loop.body), inner);
    Conditions outside;
    for (const Condition& c : common_conditions(loop.body)) {
      if (!c.e.mentions(loop.variable)) {
        if (!loads_inputs_in_range(c.e, facts)) continue;
        outside.push_back(c);
      } else if (has_load(c) || !absorb(loop, c, facts)) {
        continue;
      }
      loop.body = without(std::move(loop.body), c);
    }
    branch_on_congruences(loop.body);
    if (outside.empty()) {
      out.push_back({std::move(loop)});
    } else {
      Body nested;
      nested.push_back({std::move(loop)});
      out.push_back({If{std::move(outside), std::move(nested)}});
    }
  }

  /// Returns true if the condition may be evaluated before the loop, even if that has no
  /// iterations: the loaded elements do not change and are in range.
  bool loads_inputs_in_range(const Expr& e, const Facts& facts) const {
    bool safe = true;
    for_each_load(e, [&](const Atom& a) {
      const TensorDecl* t = find_tensor(p_, a.tensor);
      safe = safe && t && t->role == TensorRole::input;
      for (std::size_t k = 0; safe && k < a.args.size(); ++k)
        safe = facts.prove_nonneg(a.args[k]) && facts.prove_positive(t->shape[k] - a.args[k]);
    });
    return safe;
  }

  const LoopProgram& p_;
};

}  // namespace

LoopProgram tighten(LoopProgram p) {
  p.body = Tightener(p).tightened(p.body, base_facts(*p.source));
  return p;
}

}  // namespace mote
