// SPDX-License-Identifier: Apache-2.0
// Passes the gradient of a Map to its arguments, by the rule of the op's row and under the
// conditions of the gradient.
#include "gradient/map.h"

#include <fmt/format.h>

#include "mote/base/error.h"
#include "mote/uops/map_ops.h"

namespace mote {
namespace {

using Terms = std::vector<Adjoint>;

// The greater (or lesser) argument gets the whole gradient; equal arguments get half each.
Terms extremum_terms(const MapSite& at, Uop (*beats)(const Operand&, const Operand&)) {
  const bool is_same = at.x[0].id() == at.x[1].id();
  const Uop half = at.g * 0.5;
  const Uop at_tie = is_same ? half : share_at_tie(at.at_kinks, at.g, half);
  const Uop share = where(eq(at.x[0], at.x[1]), at_tie, at.g);
  return {{share, {{beats(at.x[0], at.x[1])}}}, {share, {{beats(at.x[1], at.x[0])}}}};
}

/// Returns the condition with the comparisons of reals deciding the other way where both are equal.
Uop decided_otherwise(const Uop& condition) {
  const auto* m = std::get_if<uop::Map>(&condition.node().kind);
  if (m == nullptr) return condition;
  const std::vector<Uop>& x = m->args;
  switch (m->op) {
    case MapOp::lt:
      return is_real(x[0].dtype()) ? x[0] <= x[1] : condition;
    case MapOp::le:
      return is_real(x[0].dtype()) ? x[0] < x[1] : condition;
    case MapOp::gt:
      return is_real(x[0].dtype()) ? x[0] >= x[1] : condition;
    case MapOp::ge:
      return is_real(x[0].dtype()) ? x[0] > x[1] : condition;
    case MapOp::logical_and:
    case MapOp::logical_or:
    case MapOp::logical_not: {
      std::vector<Uop> args;
      for (const Uop& a : x) args.push_back(decided_otherwise(a));
      return map(m->op, args);
    }
    default:
      return condition;
  }
}

}  // namespace

Uop share_at_tie(AtKinks at_kinks, const Uop& g, const Uop& share) {
  if (at_kinks == AtKinks::usual) return share;
  return at_kinks == AtKinks::least ? min(g, 0) : max(g, 0);
}

Uop share_among(AtKinks at_kinks, const Uop& g, const Uop& count) {
  const Uop even = g / count;
  return at_kinks == AtKinks::usual ? even : where(count > 1, share_at_tie(at_kinks, g, even), g);
}

Terms only(const Uop& value) { return {{value, {}}}; }

Terms abs_terms(const MapSite& at) {
  const Uop& x = at.x[0];
  const Uop slope = at.g * apply1(MapOp::sign, x);
  if (at.at_kinks == AtKinks::usual) return only(slope);
  const Uop size = abs(at.g);
  return only(where(eq(x, 0), at.at_kinks == AtKinks::least ? negate(size) : size, slope));
}

Terms add_terms(const MapSite& at) { return {{at.g, {}}, {at.g, {}}}; }

Terms sub_terms(const MapSite& at) { return {{at.g, {}}, {negate(at.g), {}}}; }

Terms mul_terms(const MapSite& at) {
  if (at.x[0].id() == at.x[1].id()) return {{at.g * (at.x[0] * 2), {}}, {}};
  return {{at.g * at.x[1], {}}, {at.g * at.x[0], {}}};
}

Terms div_terms(const MapSite& at) {
  return {{at.g / at.x[1], {}}, {-(at.g * at.y / at.x[1]), {}}};
}

// a^b gives b*a^(b - 1), but 0 where b is 0, and a^b*log(a), but 0 where that is 0*inf.
Terms pow_terms(const MapSite& at) {
  const Uop &a = at.x[0], &b = at.x[1];
  Adjoint base, exponent;
  const std::optional<double> c = real_literal(b);
  if (c && *c == 1)
    base.value = at.g;
  else if (c && *c == 2)
    base.value = at.g * (a * 2);
  else if (!c || *c != 0)
    base.value = at.g * (pow(a, b - 1) * b);
  if (base.value && !c) base.where = {{ne(b, 0)}};
  exponent.value = at.g * (at.y * log(a));
  if (real_literal(a).value_or(0) == 0) exponent.where = {{eq(a, 0) && b >= 0, true}};
  return {base, exponent};
}

// x mod y = x - n*y, with a whole n.
Terms mod_terms(const MapSite& at) {
  const Uop n = apply1(MapOp::round, (at.x[0] - at.y) / at.x[1]);
  return {{at.g, {}}, {-(at.g * n), {}}};
}

Terms min_terms(const MapSite& at) {
  return extremum_terms(at, [](const Operand& a, const Operand& b) { return a <= b; });
}

Terms max_terms(const MapSite& at) {
  return extremum_terms(at, [](const Operand& a, const Operand& b) { return a >= b; });
}

Terms cast_terms(const MapSite& at) {
  const DType to = at.x[0].dtype();
  return only(at.g.dtype() == to ? at.g : cast(at.g, to));
}

Terms where_terms(const MapSite& at) {
  Uop condition = at.x[0];
  if (at.at_kinks == AtKinks::greatest)
    if (const Uop other = decided_otherwise(condition); other.id() != condition.id())
      condition = where(eq(at.x[1], at.x[2]), other, condition);
  return {{}, {at.g, {{condition}}}, {at.g, {{condition, true}}}};
}

std::optional<double> real_literal(const Uop& u) {
  const auto* s = std::get_if<uop::Scalar>(&u.node().kind);
  return s && s->value.is_real() ? std::optional(s->value.real()) : std::nullopt;
}

bool passes_gradient(MapOp op) { return info(op).gradient != nullptr; }

std::vector<Adjoint> map_terms(MapOp op, const Site& site) {
  Terms terms = info(op).gradient(MapSite{site.g.value, site.x, site.y, site.at_kinks});
  if (terms.size() != site.x.size())
    throw InternalError(fmt::format("gradient of {}: {} terms for {} arguments", name(op),
                                    terms.size(), site.x.size()));
  for (Adjoint& t : terms)
    t.where.insert(t.where.begin(), site.g.where.begin(), site.g.where.end());
  return terms;
}

}  // namespace mote
