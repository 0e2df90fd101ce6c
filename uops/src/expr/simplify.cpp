// SPDX-License-Identifier: Apache-2.0
// Simplifies under facts, bottom-up until nothing changes: removes quotients and remainders of
// provably small operands, splits products in the divisor, decides minima and maxima, and uses
// s·(x/s) = x if x % s == 0 is given.
#include "expr/simplify.h"

#include <algorithm>
#include <numeric>

#include "expr/node.h"
#include "expr/prover.h"
#include "mote/base/error.h"

namespace mote {
namespace {

constexpr int kMaxRounds = 32;

// Returns the proper factors of c that are worth a try: parts of its product, or numbers that
// divide c and a coefficient.
std::vector<Expr> factors_of(const Expr& c, const Expr& x) {
  std::vector<Expr> factors;
  const auto add = [&](const Expr& f) {
    if (f == c || f == Expr(1)) return;
    if (std::find(factors.begin(), factors.end(), f) == factors.end()) factors.push_back(f);
  };
  if (c.terms().size() != 1 || c.terms()[0].coefficient < 1) return factors;
  const Term& term = c.terms()[0];
  constexpr std::size_t kMaxAtoms = 4;
  if (term.atoms.size() > kMaxAtoms) return factors;
  for (unsigned chosen = (1U << term.atoms.size()) - 1; chosen > 0; --chosen) {
    Term part{1, {}};
    for (std::size_t i = 0; i < term.atoms.size(); ++i) {
      if ((chosen >> i & 1U) != 0) part.atoms.push_back(term.atoms[i]);
    }
    const Expr symbols = ExprBuilder::wrap({std::move(part)});
    add(symbols * term.coefficient);
    add(symbols);
  }
  add(term.coefficient);
  for (const Term& t : x.terms()) add(std::gcd(term.coefficient, t.coefficient));
  return factors;
}

// Returns true if each term of `part` stands in x.
bool holds_terms(const Expr& x, const Expr& part) {
  const auto terms = x.terms();
  return std::all_of(part.terms().begin(), part.terms().end(), [&](const Term& wanted) {
    return std::find(terms.begin(), terms.end(), wanted) != terms.end();
  });
}

}  // namespace

bool Reasoner::nonneg(const Expr& e, const Expr& divisor) {
  if (const auto c = e.constant()) return *c >= 0;
  const auto [answer, fresh] = answers_.emplace(Question{e, divisor}, false);
  if (!fresh) return answer->second;
  std::vector<Expr> divisors;
  collect_divisors(e, divisors);
  collect_divisors(divisor, divisors);
  if (!divisor.constant()) divisors.push_back(divisor);
  const bool proved = Prover(knowledge_, divisors).nonneg(cancel_divisible(e));
  return answers_[Question{e, divisor}] = proved;
}

bool Reasoner::within(const Expr& low, const Expr& x, const Expr& high, const Expr& divisor) {
  return nonneg(x - low, divisor) && nonneg(high - x, divisor);
}

Expr Reasoner::simplify(const Expr& e) {
  if (const auto known = simplified_.find(e); known != simplified_.end()) return known->second;
  Expr result = e;
  try {
    for (int round = 0; round < kMaxRounds; ++round) {
      Expr next = simplify_once(result);
      if (next == result) break;
      result = std::move(next);
    }
  } catch (const Error&) {
    // A rewriting that overflows is discarded.
  }
  simplified_.emplace(e, result);
  simplified_.emplace(result, result);
  return result;
}

Expr Reasoner::simplify_once(const Expr& e) {
  return cancel_divisible(e.transform([this](const Atom& atom) { return simplify_atom(atom); }));
}

Expr Reasoner::simplify_atom(const Atom& atom) {
  Expr built = rebuild(atom);
  const Atom* kept = built.as_atom();
  if (kept == nullptr || *kept != atom) return built;
  switch (atom.kind) {
    case Atom::Kind::div:
      return simplify_quotient(atom);
    case Atom::Kind::mod:
      return simplify_remainder(atom);
    case Atom::Kind::min:
    case Atom::Kind::max:
      return simplify_extremum(atom);
    case Atom::Kind::symbol:
    case Atom::Kind::load:
      break;
  }
  return built;
}

// For y/s and y%s with y = x + w, returns an x for which x % s == 0 is given.
std::optional<Expr> Reasoner::split_divisible(const Atom& atom) const {
  for (const auto& [x, s] : knowledge_.divisible) {
    const Expr& y = atom.args[0];
    if (atom.args[1] != s || !holds_terms(y, x)) continue;
    if (y == x && atom.kind == Atom::Kind::div) continue;
    return x;
  }
  return std::nullopt;
}

// Factors x = quotient·inner + remainder and divisor = outer·inner, with 0 <= remainder < inner.
std::optional<Reasoner::Factored> Reasoner::factor(const Expr& x, const Expr& divisor) {
  for (const Expr& inner : factors_of(divisor, x)) {
    const Split outer = split_by(divisor, inner);
    if (outer.remainder != Expr(0)) continue;
    const Split split = split_by(x, inner);
    if (split.quotient == Expr(0)) continue;
    if (!nonneg(inner - 1, divisor)) continue;
    if (!within(0, split.remainder, inner - 1, divisor)) continue;
    return Factored{split.quotient, split.remainder, inner, outer.quotient};
  }
  return std::nullopt;
}

Expr Reasoner::simplify_quotient(const Atom& atom) {
  const Expr &x = atom.args[0], &s = atom.args[1];
  if (const auto part = split_divisible(atom)) return *part / s + (x - *part) / s;
  if (within(0, x, s - 1, s)) return 0;
  if (within(-s, x, -1, s)) return -1;
  if (const auto parts = factor(x, s)) return parts->quotient / parts->outer;
  return Expr::from_atom(atom);
}

Expr Reasoner::simplify_remainder(const Atom& atom) {
  const Expr &x = atom.args[0], &s = atom.args[1];
  if (const auto part = split_divisible(atom)) return (x - *part) % s;
  if (within(0, x, s - 1, s)) return x;
  if (within(-s, x, -1, s)) return x + s;
  if (const auto parts = factor(x, s)) {
    return (parts->quotient % parts->outer) * parts->inner + parts->remainder;
  }
  return Expr::from_atom(atom);
}

Expr Reasoner::simplify_extremum(const Atom& atom) {
  std::vector<Expr> kept = atom.args;
  const bool is_min = atom.kind == Atom::Kind::min;
  for (std::size_t i = 0; i < kept.size();) {
    const bool decided = std::any_of(kept.begin(), kept.end(), [&](const Expr& other) {
      if (&other == &kept[i]) return false;
      return nonneg(is_min ? kept[i] - other : other - kept[i]);
    });
    if (decided) {
      kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(i));
    } else {
      ++i;
    }
  }
  if (kept.size() == 1) return kept.front();
  return rebuild(Atom{atom.kind, {}, {}, std::move(kept)});
}

// Replaces k·s·(x/s) by k·x for each x % s == 0 that is given.
Expr Reasoner::cancel_divisible(const Expr& e) const {
  Expr result = e;
  for (const auto& [x, s] : knowledge_.divisible) {
    const Atom quotient{Atom::Kind::div, {}, {}, {x, s}};
    for (const Term& term : e.terms()) {
      const auto at = std::find(term.atoms.begin(), term.atoms.end(), quotient);
      if (at == term.atoms.end()) continue;
      Term rest = term;
      rest.atoms.erase(rest.atoms.begin() + (at - term.atoms.begin()));
      const Split split = split_by(ExprBuilder::sum({std::move(rest)}), s);
      if (split.remainder != Expr(0)) continue;
      result = result - ExprBuilder::wrap({term}) + split.quotient * x;
    }
  }
  return result;
}

}  // namespace mote
