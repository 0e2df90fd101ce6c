// SPDX-License-Identifier: Apache-2.0
#include "lower/index_uops.h"

#include <map>
#include <string>

namespace mote {
namespace {

/// Returns an integer uop that is an index expression as that expression.
std::optional<Expr> as_index(const Uop& u, const std::vector<Expr>& index) {
  if (!is_integer(u.dtype())) return std::nullopt;
  if (const auto* i = std::get_if<uop::Iota>(&u.node().kind)) return at(i->value, index);
  if (const auto* s = std::get_if<uop::Scalar>(&u.node().kind); s && !s->value.is_real())
    return Expr(s->value.integer());
  if (const auto* q = std::get_if<uop::Param>(&u.node().kind)) return Expr::param(q->name);
  return std::nullopt;
}

}  // namespace

Expr at(const Expr& e, const std::vector<Expr>& index) {
  if (e.constant()) return e;
  static const std::vector<Symbol> variables = [] {
    std::vector<Symbol> all;
    for (int k = 0; k < kMaxRank; ++k) all.emplace_back(SymbolKind::loop, "i" + std::to_string(k));
    return all;
  }();
  std::map<Symbol, Expr> env;
  const auto symbol = e.as_symbol();
  for (std::size_t k = 0; k < index.size(); ++k) {
    if (symbol == variables[k]) return index[k];
    if (e.mentions(variables[k])) env.emplace(variables[k], index[k]);
  }
  return env.empty() ? e : e.substitute(env);
}

std::optional<Conditions> as_conditions(const Uop& u, const std::vector<Expr>& index) {
  const auto* m = std::get_if<uop::Map>(&u.node().kind);
  if (!m || m->args.size() != 2) return std::nullopt;
  if (m->op == MapOp::logical_and) {
    auto a = as_conditions(m->args[0], index);
    const auto b = as_conditions(m->args[1], index);
    if (!a || !b) return std::nullopt;
    a->insert(a->end(), b->begin(), b->end());
    return a;
  }
  const auto a = as_index(m->args[0], index);
  const auto b = as_index(m->args[1], index);
  if (!a || !b) return std::nullopt;
  switch (m->op) {
    case MapOp::eq:
      return Conditions{{Condition::Kind::zero, *a - *b}};
    case MapOp::le:
      return Conditions{{Condition::Kind::nonneg, *b - *a}};
    case MapOp::lt:
      return Conditions{{Condition::Kind::nonneg, *b - *a - 1}};
    case MapOp::ge:
      return Conditions{{Condition::Kind::nonneg, *a - *b}};
    case MapOp::gt:
      return Conditions{{Condition::Kind::nonneg, *a - *b - 1}};
    default:
      return std::nullopt;
  }
}

}  // namespace mote
