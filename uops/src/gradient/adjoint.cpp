// SPDX-License-Identifier: Apache-2.0
// The algebra of gradients that hold under conditions: makes one uop of them, or sums them.
#include <algorithm>

#include "gradient/rules.h"

namespace mote {
namespace {

std::vector<FlowCondition> without(const std::vector<FlowCondition>& all,
                                   const std::vector<FlowCondition>& some) {
  std::vector<FlowCondition> rest;
  for (const FlowCondition& c : all)
    if (std::none_of(some.begin(), some.end(),
                     [&](const FlowCondition& d) { return same_condition(c, d); }))
      rest.push_back(c);
  return rest;
}

Uop conjunction(const std::vector<FlowCondition>& conditions) {
  Uop all;
  for (const FlowCondition& c : conditions) {
    const Uop one = c.negated ? map(MapOp::logical_not, std::vector<Uop>{c.holds}) : c.holds;
    all = all ? all && one : one;
  }
  return all;
}

// Returns a + b, or a shorter form that is exactly equal: a - b for a + -b, 2*a for a + a.
Uop total(const Uop& a, const Uop& b) {
  if (a.id() == b.id()) return a * 2;
  if (const Uop n = negated(b)) return a - n;
  if (const Uop n = negated(a)) return b - n;
  return a + b;
}

Adjoint join(const Adjoint& a, const Adjoint& b) {
  const std::vector<FlowCondition> only_a = without(a.where, b.where);
  const std::vector<FlowCondition> only_b = without(b.where, a.where);
  Adjoint sum{{}, without(a.where, only_a)};
  if (only_a.size() == 1 && only_b.size() == 1 &&
      only_a[0].holds.id() == only_b[0].holds.id()) {  // one holds where the other does not
    const bool swap = only_a[0].negated;
    sum.value = where(only_a[0].holds, swap ? b.value : a.value, swap ? a.value : b.value);
    return sum;
  }
  sum.value = total(materialise({a.value, only_a}), materialise({b.value, only_b}));
  if (!only_a.empty() && !only_b.empty())
    sum.where.push_back({conjunction(only_a) || conjunction(only_b)});
  return sum;
}

}  // namespace

bool same_condition(const FlowCondition& a, const FlowCondition& b) {
  return a.holds.id() == b.holds.id() && a.negated == b.negated;
}

Uop negated(const Uop& u) {
  const auto* m = std::get_if<uop::Map>(&u.node().kind);
  return m && m->op == MapOp::neg ? m->args[0] : Uop();
}

Uop negate(const Uop& u) {
  const Uop x = negated(u);
  return x ? x : -u;
}

Uop materialise(const Adjoint& a) {
  if (a.where.empty()) return a.value;
  if (a.where.size() == 1 && a.where[0].negated) return where(a.where[0].holds, 0, a.value);
  return where(conjunction(a.where), a.value, 0);
}

Adjoint join(std::vector<Adjoint> terms) {
  Adjoint sum = std::move(terms.front());
  for (std::size_t k = 1; k < terms.size(); ++k) sum = join(sum, terms[k]);
  return sum;
}

}  // namespace mote
