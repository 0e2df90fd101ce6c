// SPDX-License-Identifier: Apache-2.0
#include "bound/terms.h"

#include <cmath>
#include <utility>
#include <vector>

#include "graph/node.h"

namespace mote::bounds {
namespace {

/// Returns true for a node through which terms pass to a sum, each or several of them as one.
bool passes(const Uop& u) {
  const uop::Kind& kind = u.node().kind;
  if (std::holds_alternative<uop::Reindex>(kind) || std::holds_alternative<uop::StopGradient>(kind))
    return true;
  const auto* m = std::get_if<uop::Map>(&kind);
  return m && (m->op == MapOp::where || m->op == MapOp::neg || m->op == MapOp::add ||
               m->op == MapOp::sub);
}

/// Returns true for a node that gives an operand as it is, or compares operands, so that an
/// overflow stays one.
bool moves(const Uop& u) {
  const uop::Kind& kind = u.node().kind;
  if (std::holds_alternative<uop::Select>(kind)) return true;
  if (const auto* r = std::get_if<uop::Reduce>(&kind))
    return r->op != ReduceOp::sum && r->op != ReduceOp::prod;
  const auto* m = std::get_if<uop::Map>(&kind);
  if (m == nullptr) return passes(u);
  return m->op == MapOp::where || m->op == MapOp::neg || m->op == MapOp::min ||
         m->op == MapOp::max || m->op == MapOp::cast || !is_real(u.dtype());
}

/// Marks the values that another value is computed from, also if they are moved or chosen in
/// between.
void mark_inner(const std::vector<Uop>& order, std::unordered_set<const UopNode*>& inner) {
  for (auto u = order.rbegin(); u != order.rend(); ++u) {
    if (moves(*u) && !inner.contains(u->id())) continue;
    for (const Uop& x : operands(*u)) inner.insert(x.id());
  }
}

template <typename Combine>
Pending combined(const Pending& p, const Pending& q, const Combine& combine) {
  Pending y{combine(p.count, q.count), combine(p.magnitude, q.magnitude), Uop()};
  const bool have_grids = p.grid.id() != nullptr && q.grid.id() != nullptr;
  if (have_grids) y.grid = min(p.grid, q.grid);
  return y;
}

}  // namespace

Pending moved_terms(const Uop& u, const uop::Reindex& r, const Pending& of, const Context& c) {
  const auto at = [&](const Uop& x, const Number& fill) {
    return reindex(x, shape_of(u), {r.from.begin(), r.from.end()}, fill);
  };
  const double v = r.fill.real(), size = std::isinf(v) ? 0 : std::fabs(v);
  Pending y{at(of.count, v == 0 ? 0.0 : 1.0), at(of.magnitude, size), Uop()};
  if (of.grid.id() == nullptr) return y;
  const bool is_stored = store_as(v, format_of(u.dtype(), c.contract).dtype).real() == v;
  const Number unit = apply(MapOp::lowest_bit, std::vector{r.fill}, DType::f64, DType::f64);
  y.grid = at(of.grid, is_stored || std::isnan(v) ? unit : Number(0.0));
  return y;
}

void SummedProducts::mark(const Uop& output, Context& c) {
  const std::vector<Uop> order = topological(std::vector<Uop>{output});
  mark_inner(order, c.inner);
  for (const Uop& u : order) {
    const auto* r = std::get_if<uop::Reduce>(&u.node().kind);
    const bool is_sum = r && r->op == ReduceOp::sum && is_real(r->x.dtype());
    if (is_sum && mark_terms(r->x, c)) c.dots.insert(u.id());
  }
}

/// Returns true if there are products among the terms of the sum of x.
bool SummedProducts::mark_terms(const Uop& x, Context& c) {
  bool found = false, several = false;
  std::unordered_set<const UopNode*> seen;
  for (std::vector<Uop> open = {x}; !open.empty();) {
    const Uop u = open.back();
    open.pop_back();
    if (!seen.insert(u.id()).second) continue;
    const auto* m = std::get_if<uop::Map>(&u.node().kind);
    if (m && m->op == MapOp::mul) {
      c.products.insert(u.id());
      found = true;
    }
    if (!passes(u)) continue;
    several = several || (m && (m->op == MapOp::add || m->op == MapOp::sub));
    for (const Uop& term : operands(u)) open.push_back(term);
  }
  if (found && several) several_.insert(x.id());
  return found;
}

const Pending& SummedProducts::terms_of(const Uop& u,
                                        const std::function<const Interval&(const Uop&)>& at,
                                        const Context& c) {
  if (const auto known = found_.find(u.id()); known != found_.end()) return known->second;
  return found_.emplace(u.id(), find(u, at, c)).first->second;
}

Pending SummedProducts::find(const Uop& u, const std::function<const Interval&(const Uop&)>& at,
                             const Context& c) {
  if (!passes(u)) return as_terms(at(u), c).sum;
  const std::vector<Uop> of = operands(u);
  if (const auto* r = std::get_if<uop::Reindex>(&u.node().kind))
    return moved_terms(u, *r, terms_of(of[0], at, c), c);
  const auto* m = std::get_if<uop::Map>(&u.node().kind);
  if (!m || m->op == MapOp::neg) return terms_of(of[0], at, c);
  if (m->op != MapOp::where)
    return combined(terms_of(of[0], at, c), terms_of(of[1], at, c),
                    [](const Uop& p, const Uop& q) { return p + q; });
  const Interval& condition = at(of[0]);
  return combined(terms_of(of[1], at, c), terms_of(of[2], at, c), [&](const Uop& p, const Uop& q) {
    const Uop chosen = where(condition.lo, p, q);
    if (condition.certain()) return chosen;
    const Uop most = max(p, q);  // if this is NaN, nothing is known
    return where(eq(condition.lo, condition.hi), chosen, where(isnan(most), kInf, most));
  });
}

}  // namespace mote::bounds
