// SPDX-License-Identifier: Apache-2.0
// The table of derivatives of Map ops: what each argument gets, from g, the arguments x and the
// result y.
#include <fmt/format.h>

#include <array>
#include <cmath>

#include "gradient/rules.h"
#include "graph/node.h"

namespace mote {
namespace {

using Terms = std::vector<Adjoint>;

struct Local {
  const Uop& g;
  const std::vector<Uop>& x;
  const Uop& y;
};
using Rule = Terms (*)(const Local&);

Uop apply1(MapOp op, const Uop& x) { return map(op, std::vector<Uop>{x}); }

// a^b gives b*a^(b - 1), but 0 where b is 0, and a^b*log(a), but 0 where that is 0*inf.
Terms pow_terms(const Local& l) {
  const Uop &a = l.x[0], &b = l.x[1];
  Adjoint base, exponent;
  const std::optional<double> c = real_literal(b);
  if (c && *c == 1)
    base.value = l.g;
  else if (c && *c == 2)
    base.value = l.g * (a * 2);
  else if (!c || *c != 0)
    base.value = l.g * (pow(a, b - 1) * b);
  if (base.value && !c) base.where = {{ne(b, 0)}};
  exponent.value = l.g * (l.y * log(a));
  if (real_literal(a).value_or(0) == 0) exponent.where = {{eq(a, 0) && b >= 0, true}};
  return {base, exponent};
}

// All to the greater (less) one; half to each where they are equal.
Terms extremum_terms(const Local& l, Uop (*beats)(const Operand&, const Operand&)) {
  const Uop share = where(eq(l.x[0], l.x[1]), l.g * 0.5, l.g);
  return {{share, {{beats(l.x[0], l.x[1])}}}, {share, {{beats(l.x[1], l.x[0])}}}};
}

Terms mul_terms(const Local& l) {
  if (l.x[0].id() == l.x[1].id()) return {{l.g * (l.x[0] * 2), {}}, {}};
  return {{l.g * l.x[1], {}}, {l.g * l.x[0], {}}};
}

// x mod y = x - n*y, n whole.
Terms mod_terms(const Local& l) {
  const Uop n = apply1(MapOp::round, (l.x[0] - l.y) / l.x[1]);
  return {{l.g, {}}, {-(l.g * n), {}}};
}

struct Entry {
  MapOp op;
  Rule rule;  ///< nullptr: nothing flows
};

constexpr Rule kNone = nullptr;

// In the order of MapOp.
constexpr std::array kRules = {
    Entry{MapOp::neg, [](const Local& l) { return Terms{{negate(l.g), {}}}; }},
    Entry{MapOp::abs, [](const Local& l) { return Terms{{l.g * apply1(MapOp::sign, l.x[0]), {}}}; }},
    Entry{MapOp::sign, kNone},
    Entry{MapOp::recip, [](const Local& l) { return Terms{{-(l.g * (l.y * l.y)), {}}}; }},
    Entry{MapOp::sqrt, [](const Local& l) { return Terms{{l.g * 0.5 / l.y, {}}}; }},
    Entry{MapOp::rsqrt,
          [](const Local& l) { return Terms{{l.g * (l.y * l.y * l.y) * -0.5, {}}}; }},
    Entry{MapOp::exp, [](const Local& l) { return Terms{{l.g * l.y, {}}}; }},
    Entry{MapOp::expm1, [](const Local& l) { return Terms{{l.g * exp(l.x[0]), {}}}; }},
    Entry{MapOp::log, [](const Local& l) { return Terms{{l.g / l.x[0], {}}}; }},
    Entry{MapOp::log1p, [](const Local& l) { return Terms{{l.g / (l.x[0] + 1), {}}}; }},
    Entry{MapOp::sin, [](const Local& l) { return Terms{{l.g * apply1(MapOp::cos, l.x[0]), {}}}; }},
    Entry{MapOp::cos,
          [](const Local& l) { return Terms{{-(l.g * apply1(MapOp::sin, l.x[0])), {}}}; }},
    Entry{MapOp::tan, [](const Local& l) { return Terms{{l.g * (l.y * l.y + 1), {}}}; }},
    Entry{MapOp::asin,
          [](const Local& l) { return Terms{{l.g / sqrt((1 - l.x[0]) * (l.x[0] + 1)), {}}}; }},
    Entry{MapOp::acos,
          [](const Local& l) { return Terms{{-(l.g / sqrt((1 - l.x[0]) * (l.x[0] + 1))), {}}}; }},
    Entry{MapOp::atan, [](const Local& l) { return Terms{{l.g / (l.x[0] * l.x[0] + 1), {}}}; }},
    Entry{MapOp::sinh,
          [](const Local& l) { return Terms{{l.g * apply1(MapOp::cosh, l.x[0]), {}}}; }},
    Entry{MapOp::cosh,
          [](const Local& l) { return Terms{{l.g * apply1(MapOp::sinh, l.x[0]), {}}}; }},
    Entry{MapOp::tanh, [](const Local& l) { return Terms{{l.g * (1 - l.y * l.y), {}}}; }},
    Entry{MapOp::erf,
          [](const Local& l) {
            const double slope = 2 / std::sqrt(std::acos(-1.0));
            return Terms{{l.g * (exp(-(l.x[0] * l.x[0])) * slope), {}}};
          }},
    Entry{MapOp::floor, kNone},
    Entry{MapOp::ceil, kNone},
    Entry{MapOp::round, kNone},
    Entry{MapOp::trunc, kNone},
    Entry{MapOp::next_up, [](const Local& l) { return Terms{{l.g, {}}}; }},
    Entry{MapOp::next_down, [](const Local& l) { return Terms{{l.g, {}}}; }},
    Entry{MapOp::lowest_bit, kNone},
    Entry{MapOp::logical_not, kNone},
    Entry{MapOp::isnan, kNone},
    Entry{MapOp::isinf, kNone},
    Entry{MapOp::bitwise_not, kNone},
    Entry{MapOp::cast,
          [](const Local& l) {
            const DType to = l.x[0].dtype();
            return Terms{{l.g.dtype() == to ? l.g : cast(l.g, to), {}}};
          }},
    Entry{MapOp::add, [](const Local& l) { return Terms{{l.g, {}}, {l.g, {}}}; }},
    Entry{MapOp::sub, [](const Local& l) { return Terms{{l.g, {}}, {negate(l.g), {}}}; }},
    Entry{MapOp::mul, mul_terms},
    Entry{MapOp::div,
          [](const Local& l) {
            return Terms{{l.g / l.x[1], {}}, {-(l.g * l.y / l.x[1]), {}}};
          }},
    Entry{MapOp::pow, pow_terms},
    Entry{MapOp::mod, mod_terms},
    Entry{MapOp::min,
          [](const Local& l) {
            return extremum_terms(l, [](const Operand& a, const Operand& b) { return a <= b; });
          }},
    Entry{MapOp::max,
          [](const Local& l) {
            return extremum_terms(l, [](const Operand& a, const Operand& b) { return a >= b; });
          }},
    Entry{MapOp::lt, kNone},
    Entry{MapOp::le, kNone},
    Entry{MapOp::gt, kNone},
    Entry{MapOp::ge, kNone},
    Entry{MapOp::eq, kNone},
    Entry{MapOp::ne, kNone},
    Entry{MapOp::logical_and, kNone},
    Entry{MapOp::logical_or, kNone},
    Entry{MapOp::logical_xor, kNone},
    Entry{MapOp::bitwise_and, kNone},
    Entry{MapOp::bitwise_or, kNone},
    Entry{MapOp::bitwise_xor, kNone},
    Entry{MapOp::shift_left, kNone},
    Entry{MapOp::shift_right, kNone},
    Entry{MapOp::philox, kNone},
    Entry{MapOp::where, [](const Local& l) {
            return Terms{{}, {l.g, {{l.x[0]}}}, {l.g, {{l.x[0], true}}}};
          }}};

constexpr bool in_order() {
  for (std::size_t k = 0; k < kRules.size(); ++k)
    if (static_cast<std::size_t>(kRules[k].op) != k) return false;
  return kRules.size() == static_cast<std::size_t>(MapOp::where) + 1;
}
static_assert(in_order());

Rule rule_of(MapOp op) { return kRules.at(static_cast<std::size_t>(op)).rule; }

}  // namespace

std::optional<double> real_literal(const Uop& u) {
  const auto* s = std::get_if<uop::Scalar>(&u.node().kind);
  return s && s->value.is_real() ? std::optional(s->value.real()) : std::nullopt;
}

bool passes_gradient(MapOp op) { return rule_of(op) != nullptr; }

std::vector<Adjoint> map_terms(MapOp op, const Site& site) {
  Terms terms = rule_of(op)(Local{site.g.value, site.x, site.y});
  if (terms.size() != site.x.size())
    throw InternalError(fmt::format("gradient of {}: {} terms for {} arguments", name(op),
                                    terms.size(), site.x.size()));
  for (Adjoint& t : terms)
    t.where.insert(t.where.begin(), site.g.where.begin(), site.g.where.end());
  return terms;
}

}  // namespace mote
