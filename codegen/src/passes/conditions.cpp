// SPDX-License-Identifier: Apache-2.0
// Brings conditions and guarded values into normal form.
#include "passes/conditions.h"

#include <algorithm>

#include "mote/uops/compare.h"
#include "mote/uops/map_ops.h"

namespace mote {
namespace {

/// Removes a division: b - x/s >= 0 <=> b·s + s - 1 - x >= 0, and x/s + b >= 0 <=> x + b·s >= 0,
/// for s >= 1. Without it the condition is linear in the loop variables of x.
Condition without_division(const Condition& c) {
  if (c.kind != Condition::Kind::nonneg) return c;
  for (const Term& t : c.e.terms()) {
    if (t.atoms.size() != 1 || t.atoms[0].kind != Atom::Kind::div) continue;
    if (t.coefficient != 1 && t.coefficient != -1) continue;
    const Expr& x = t.atoms[0].args[0];
    const Expr& s = t.atoms[0].args[1];
    if (!mentions_loop(x) || mentions_loop(s)) continue;
    const Expr quotient = Expr::from_atom(t.atoms[0]);
    const Expr rest = c.e - Expr(t.coefficient) * quotient;
    const Expr e = t.coefficient == 1 ? x + rest * s : rest * s + s - 1 - x;
    return without_division({Condition::Kind::nonneg, e});
  }
  return c;
}

/// Splits a condition: min(a, b) + r >= 0 <=> a + r >= 0 and b + r >= 0, likewise r - max(a, b) >=
/// 0. Each part is nearer to being linear, or known.
Conditions parts(const Condition& c) {
  if (c.kind != Condition::Kind::nonneg) return {c};
  for (const Term& t : c.e.terms()) {
    if (t.atoms.size() != 1) continue;
    const Atom& atom = t.atoms[0];
    const bool is_least = atom.kind == Atom::Kind::min && t.coefficient == 1;
    const bool is_most = atom.kind == Atom::Kind::max && t.coefficient == -1;
    if (!is_least && !is_most) continue;
    const Expr rest = c.e - Expr(t.coefficient) * Expr::from_atom(atom);
    Conditions all;
    for (const Expr& arg : atom.args) {
      const Conditions of_arg = parts({Condition::Kind::nonneg, Expr(t.coefficient) * arg + rest});
      all.insert(all.end(), of_arg.begin(), of_arg.end());
    }
    return all;
  }
  return {without_division(c)};
}

/// Returns the value without casts that never change it: casts to the types that are computed in.
const Value& uncast(const Value& v) {
  const auto* op = std::get_if<value::Op>(&v->kind);
  if (!op || op->op != MapOp::cast) return v;
  const Value& x = uncast(op->args[0]);
  const bool wide = v->dtype == DType::f64 || v->dtype == DType::i64;
  return wide && is_real(x->dtype) == is_real(v->dtype) ? x : v;
}

/// Returns a comparison of a value with itself, which is known except for NaN.
Value self_comparison(MapOp op, const Value& v) {
  const bool holds = op == MapOp::eq || op == MapOp::le || op == MapOp::ge;
  if (!is_real(v->dtype) || op == MapOp::lt || op == MapOp::gt)
    return constant(std::int64_t{holds}, DType::boolean);
  const Value is_nan = op_value(MapOp::isnan, {v}, v->dtype, DType::boolean);
  if (!holds) return is_nan;
  return op_value(MapOp::logical_not, {is_nan}, DType::boolean, DType::boolean);
}

}  // namespace

bool mentions_loop(const Expr& e) {
  return std::any_of(e.symbols().begin(), e.symbols().end(),
                     [](Symbol s) { return s.kind() == SymbolKind::loop; });
}

bool contains(const Conditions& conditions, const Condition& c) {
  return std::find(conditions.begin(), conditions.end(), c) != conditions.end();
}

bool has_load(const Condition& c) { return c.e.has_load(); }

bool proves(const Facts& facts, const Condition& c) {
  return std::ranges::all_of(parts(c), [&](const Condition& part) {
    return part.kind == Condition::Kind::nonneg ? facts.prove_nonneg(part.e)
                                                : facts.prove_zero(part.e);
  });
}

Conditions in_range(const Expr& e, const Expr& extent) {
  return {{Condition::Kind::nonneg, e}, {Condition::Kind::nonneg, extent - 1 - e}};
}

std::optional<Conditions> clean(const Conditions& conditions, const Facts& facts) {
  Conditions kept;
  for (const Condition& given : conditions) {
    for (Condition& c : parts({given.kind, facts.simplify(given.e)})) {
      if (c.kind == Condition::Kind::nonneg) {
        if (facts.prove_nonneg(c.e)) continue;
        if (facts.prove_negative(c.e)) return std::nullopt;
      } else {
        if (facts.prove_zero(c.e)) continue;
        if (facts.prove_positive(c.e) || facts.prove_negative(c.e)) return std::nullopt;
      }
      if (!contains(kept, c)) kept.push_back(std::move(c));
    }
  }
  return kept;
}

Facts assuming(const Facts& facts, const Conditions& conditions) {
  Facts more = facts;
  for (const Condition& c : conditions) {
    if (c.kind == Condition::Kind::nonneg) {
      more.assume_nonneg(c.e);
    } else {
      more.assume_zero(c.e);
    }
  }
  return more;
}

Value guarded(const Conditions& conditions, Value then, const Number& otherwise,
              const Facts& facts) {
  const auto kept = clean(conditions, facts);
  if (!kept) return constant(otherwise, then->dtype);
  if (kept->empty()) return then;
  if (const auto* inner = std::get_if<value::Guard>(&then->kind);
      inner && identical(inner->otherwise, otherwise)) {
    Conditions all = *kept;
    for (const Condition& c : inner->conditions)
      if (!contains(all, c)) all.push_back(c);
    return guard_value(std::move(all), inner->then, otherwise);
  }
  return guard_value(*kept, std::move(then), otherwise);
}

namespace {

/// Returns what mapped() makes of an op that does not stay as it is.
std::optional<Value> folded(MapOp op, std::span<const Value> args, DType arg_dtype, DType dtype) {
  if (is_comparison_or_xor(op) && equal(uncast(args[0]), uncast(args[1])))
    return self_comparison(op, uncast(args[0]));
  const value::Guard* first = nullptr;
  for (const Value& a : args)
    if (const auto* g = std::get_if<value::Guard>(&a->kind); g && !first) first = g;
  if (!first || !info(op).folds) return std::nullopt;
  std::vector<Value> then;
  std::vector<Number> otherwise;
  for (const Value& a : args) {
    if (const auto* c = std::get_if<value::Constant>(&a->kind)) {
      then.push_back(a);
      otherwise.push_back(c->number);
    } else if (const auto* g = std::get_if<value::Guard>(&a->kind);
               g && g->conditions == first->conditions) {
      then.push_back(g->then);
      otherwise.push_back(g->otherwise);
    } else {
      return std::nullopt;
    }
  }
  return guard_value(first->conditions, mapped(op, std::move(then), arg_dtype, dtype),
                     apply(op, otherwise, arg_dtype, dtype));
}

}  // namespace

Value mapped(MapOp op, std::vector<Value> args, DType arg_dtype, DType dtype) {
  if (auto value = folded(op, args, arg_dtype, dtype)) return *std::move(value);
  return op_value(op, std::move(args), arg_dtype, dtype);
}

Value mapped(const Value& node, std::vector<Value> args) {
  const auto& own = std::get<value::Op>(node->kind);
  if (auto value = folded(own.op, args, own.arg_dtype, node->dtype)) return *std::move(value);
  return args == own.args ? node : op_value(own.op, std::move(args), own.arg_dtype, node->dtype);
}

}  // namespace mote
