// SPDX-License-Identifier: Apache-2.0
// The rules for functions of c + exp(u): n/(c + exp(u)), log(c + exp(u)), log1p(exp(u)), c > 0, and
// for max(u, 0) + log1p(exp(-|u|)), which is log(1 + exp(u)) too, and the same less a term. The
// rules of the parts would give exp(u)/(c + exp(u))^2, which is inf/inf where exp(u) overflows, and
// has lost its digits where the square overflows; and of the last, which is smooth, a second
// derivative of 0 where u is 0.
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

/// The value max(u, 0) - less + log1p(exp(-|u|)).
struct Softplus {
  Uop u;
  Uop less;  ///< empty: 0
};

/// Returns u if x is max(u, 0), else empty.
Uop above_zero(const Uop& x) {
  const uop::Map* m = as_map(x, MapOp::max);
  for (std::size_t k = 0; m && k < 2; ++k)
    if (real_literal(m->args[k]) == 0) return m->args[1 - k];
  return {};
}

/// Returns u if x is log1p(exp(-|u|)), else empty.
Uop tail_under(const Uop& x) {
  const uop::Map* log = as_map(x, MapOp::log1p);
  const uop::Map* e = log ? as_map(log->args[0], MapOp::exp) : nullptr;
  const Uop minus = e ? negated(e->args[0]) : Uop();
  const uop::Map* magnitude = minus ? as_map(minus, MapOp::abs) : nullptr;
  return magnitude ? magnitude->args[0] : Uop();
}

std::optional<Softplus> as_softplus(const Uop& sum) {
  const uop::Map* add = as_map(sum, MapOp::add);
  const Uop u = add ? tail_under(add->args[1]) : Uop();
  if (!u) return std::nullopt;
  const uop::Map* less = as_map(add->args[0], MapOp::sub);
  const Uop above = above_zero(less ? less->args[0] : add->args[0]);
  if (!above || above.id() != u.id()) return std::nullopt;
  return Softplus{u, less ? less->args[1] : Uop()};
}

}  // namespace

std::vector<Uop> inner_operands(const Uop& node) {
  if (const std::optional<Softplus> s = as_softplus(node))
    return s->less ? std::vector{s->less, s->u} : std::vector{s->u};
  const std::optional<Shifted> s = shifted_under(node);
  return s ? std::vector{s->u} : std::vector<Uop>();
}

// With s = c/(c + exp(u)), log(c + exp(u))' = 1/(1 + c*exp(-u)), and the derivative of
// y = n/(c + exp(u)) is -y*(1 - s), as others compute it: without a second exp, and with an error
// of one rounding of y.
std::vector<Adjoint> logistic_terms(const Site& s) {
  if (const std::optional<Softplus> sum = as_softplus(s.node)) {
    const Adjoint to_u{s.g.value / (1 + exp(negate(s.x.back()))), s.g.where};
    const Adjoint to_less{sum->less ? negate(s.g.value) : Uop(), s.g.where};
    return {to_less, to_u};
  }
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
