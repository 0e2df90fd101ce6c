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
  const Uop share = where(eq(at.x[0], at.x[1]), at.g * 0.5, at.g);
  return {{share, {{beats(at.x[0], at.x[1])}}}, {share, {{beats(at.x[1], at.x[0])}}}};
}

}  // namespace

Terms only(const Uop& value) { return {{value, {}}}; }

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
  return {{}, {at.g, {{at.x[0]}}}, {at.g, {{at.x[0], true}}}};
}

std::optional<double> real_literal(const Uop& u) {
  const auto* s = std::get_if<uop::Scalar>(&u.node().kind);
  return s && s->value.is_real() ? std::optional(s->value.real()) : std::nullopt;
}

bool passes_gradient(MapOp op) { return info(op).gradient != nullptr; }

std::vector<Adjoint> map_terms(MapOp op, const Site& site) {
  Terms terms = info(op).gradient(MapSite{site.g.value, site.x, site.y});
  if (terms.size() != site.x.size())
    throw InternalError(fmt::format("gradient of {}: {} terms for {} arguments", name(op),
                                    terms.size(), site.x.size()));
  for (Adjoint& t : terms)
    t.where.insert(t.where.begin(), site.g.where.begin(), site.g.where.end());
  return terms;
}

}  // namespace mote
