// SPDX-License-Identifier: Apache-2.0
// The rule for functions of c + exp(u): n/(c + exp(u)), log(c + exp(u)), log1p(exp(u)), c > 0. The
// rules of the parts would give exp(u)/(c + exp(u))^2, which is inf/inf where exp(u) overflows, and
// has lost its digits where the square overflows.
#include <optional>

#include "gradient/rules.h"
#include "graph/node.h"

namespace mote {
namespace {

const uop::Map* as_map(const Uop& u, MapOp op) {
  const auto* m = std::get_if<uop::Map>(&u.node().kind);
  return m && m->op == op ? m : nullptr;
}

/// The value exp(u) + c.
struct Shifted {
  Uop u;
  double c = 1;
};

std::optional<Shifted> as_shifted(const Uop& sum) {
  const uop::Map* add = as_map(sum, MapOp::add);
  for (std::size_t k = 0; add && k < 2; ++k) {
    const uop::Map* e = as_map(add->args[k], MapOp::exp);
    const std::optional<double> c = real_literal(add->args[1 - k]);
    if (e && c.value_or(0) > 0) return Shifted{e->args[0], *c};
  }
  return std::nullopt;
}

std::optional<Shifted> shifted_under(const Uop& node) {
  const auto* m = std::get_if<uop::Map>(&node.node().kind);
  if (!m) return std::nullopt;
  if (m->op == MapOp::recip || m->op == MapOp::div || m->op == MapOp::log)
    return as_shifted(m->args.back());
  const uop::Map* e = m->op == MapOp::log1p ? as_map(m->args[0], MapOp::exp) : nullptr;
  return e ? std::optional(Shifted{e->args[0]}) : std::nullopt;
}

}  // namespace

Uop exponent_under(const Uop& node) {
  const std::optional<Shifted> s = shifted_under(node);
  return s ? s->u : Uop();
}

// With s = c/(c + exp(u)), log(c + exp(u))' = 1/(1 + c*exp(-u)), and the derivative of
// y = n/(c + exp(u)) is -y*(1 - s), as others compute it: without a second exp, and with an error
// of one rounding of y.
std::vector<Adjoint> logistic_terms(const Site& s) {
  const double c = shifted_under(s.node)->c;
  const auto& map = std::get<uop::Map>(s.node.node().kind);
  if (map.op == MapOp::log || map.op == MapOp::log1p) {
    const Uop e = exp(negate(s.x.back()));
    return {{s.g.value / (1 + (c == 1 ? e : e * c)), s.g.where}};
  }
  const bool is_recip = map.op == MapOp::recip;
  const Uop& sum = s.x[is_recip ? 0 : 1];
  const std::optional<double> n = is_recip ? 1 : real_literal(map.args[0]);
  const Uop share = n == c ? s.y : c / sum;
  const Adjoint to_exponent{-(s.g.value * (s.y * (1 - share))), s.g.where};
  if (is_recip) return {to_exponent};
  return {{s.g.value / sum, s.g.where}, to_exponent};
}

}  // namespace mote
