// SPDX-License-Identifier: Apache-2.0
// Unifies sizes: an equality is solved for a size that occurs in it linearly with factor ±1.
#include "program/unify.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace mote {
namespace {

// Returns the difference divided by the greatest common divisor of its coefficients.
Expr reduced(const Expr& difference) {
  std::int64_t divisor = 0;
  for (const Term& t : difference.terms()) divisor = std::gcd(divisor, t.coefficient);
  return divisor > 1 ? split_by(difference, Expr(divisor)).quotient : difference;
}

std::string size_text(const Expr& written, const Expr& solved) {
  if (written == solved) return written.to_string();
  return fmt::format("{} = {}", written.to_string(), solved.to_string());
}

}  // namespace

Unifier::Unifier(std::string program, std::vector<Symbol> declared)
    : program_(std::move(program)), declared_(std::move(declared)) {}

void Unifier::define(Symbol symbol, const Expr& value, const std::string& what, Culprit culprit) {
  if (solution_.contains(symbol)) return require({Expr(symbol), value}, what, culprit);
  const Expr solved = value.substitute(solution_);
  if (solved == Expr(symbol)) return;
  if (solved.mentions(symbol))
    throw ProgramError(fmt::format("{}: {}: {} is defined by itself: {}", program_, what,
                                   symbol.to_string(), solved.to_string()),
                       culprit);
  eliminate(symbol, solved);
}

void Unifier::require(const Constraint& constraint, const std::string& what, Culprit culprit) {
  pending_.push_back({constraint, what, culprit});
}

void Unifier::solve() {
  bool progress = true;
  while (progress) {
    std::vector<Pending> rest;
    for (const Pending& p : pending_)
      if (!solve_one(p)) rest.push_back(p);
    progress = rest.size() < pending_.size();
    pending_ = std::move(rest);
  }
}

bool Unifier::solve_one(const Pending& pending) {
  const Expr left = pending.constraint.left.substitute(solution_);
  const Expr right = pending.constraint.right.substitute(solution_);
  const Expr difference = reduced(left - right);
  if (const std::optional<std::int64_t> c = difference.constant()) {
    if (*c == 0) return true;
    throw ProgramError(fmt::format("{}: {}: sizes {} and {} differ", program_, pending.what,
                                   size_text(pending.constraint.left, left),
                                   size_text(pending.constraint.right, right)),
                       pending.culprit);
  }
  std::optional<Symbol> best;
  for (const Symbol s : difference.symbols()) {
    if (s.kind() != SymbolKind::size || (best && position(s) < position(*best))) continue;
    const std::optional<Linear> linear = linear_in(difference, s);
    if (linear && (linear->factor == Expr(1) || linear->factor == Expr(-1))) best = s;
  }
  if (!best) return false;
  const Linear linear = *linear_in(difference, *best);
  eliminate(*best, linear.factor == Expr(1) ? -linear.rest : linear.rest);
  return true;
}

void Unifier::eliminate(Symbol symbol, const Expr& value) {
  const std::map<Symbol, Expr> step{{symbol, value}};
  for (auto& [key, old] : solution_)
    if (old.mentions(symbol)) old = old.substitute(step);
  solution_.emplace(symbol, value);
}

std::size_t Unifier::position(Symbol symbol) const {
  return static_cast<std::size_t>(std::find(declared_.begin(), declared_.end(), symbol) -
                                  declared_.begin());
}

std::vector<Constraint> Unifier::unsolved() const {
  std::vector<Constraint> result;
  for (const Pending& p : pending_) {
    const Constraint c{p.constraint.left.substitute(solution_),
                       p.constraint.right.substitute(solution_)};
    const Expr difference = c.left - c.right;
    const bool known = std::any_of(result.begin(), result.end(), [&](const Constraint& r) {
      return difference == r.left - r.right || difference == r.right - r.left;
    });
    if (!known) result.push_back(c);
  }
  return result;
}

}  // namespace mote
