// SPDX-License-Identifier: Apache-2.0
// Implements the prover's search: its order, its limits, lower limits of symbols and given
// inequalities. Monotonicity and the rules for / % min max are in prover_rules.cpp. Every step
// holds at each point where the facts hold, so the search drops a goal that is negative at such a
// point at once.
#include "expr/prover.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

#include "expr/node.h"
#include "mote/base/error.h"

namespace mote {

Prover::Prover(const Knowledge& knowledge, std::span<const Expr> divisors)
    : knowledge_(knowledge), divisors_(divisors.begin(), divisors.end()) {
  for (const Expr& divisor : divisors_) local_.add_divisor(divisor);
}

bool Prover::nonneg(const Expr& e) {
  try {
    return prove(e, 0);
  } catch (const Error&) {
    return false;  // a coefficient overflowed on the way
  }
}

const SamplePoint* Prover::sample(std::size_t number) {
  while (samples_.size() <= number) {
    const SamplePoint* point = knowledge_.sample(samples_seen_);
    if (point == nullptr) return nullptr;
    ++samples_seen_;
    const bool usable = std::ranges::all_of(divisors_, [&](const Expr& divisor) {
      const auto at = knowledge_.value(divisor, *point);
      return at && *at >= 1;
    });
    if (usable) samples_.push_back(point);
  }
  return samples_[number];
}

bool Prover::refuted(const Expr& e) {
  for (std::size_t k = 0; const SamplePoint* point = sample(k); ++k)
    if (const auto at = knowledge_.value(e, *point); at && *at < 0) return true;
  return false;
}

bool Prover::prove(const Expr& e, int depth) {
  if (const auto c = e.constant()) return *c >= 0;
  if (depth > kMaxDepth || exhausted()) return false;
  ++steps_;
  const std::size_t weight = ExprBuilder::node(e)->weight;
  if (weight > kMaxWeight) return false;
  if (proved_.contains(e)) return true;
  // While a goal is being proved it counts as failed, so that no proof rests on itself.
  const auto [memo, fresh] = failed_.emplace(e, depth);
  if (!fresh) {
    if (memo->second <= depth) return false;
    memo->second = depth;
  }
  steps_ += 1 + weight / 4;
  // The question itself is asked of these rules first, since they are cheaper than samples.
  if (depth == 0 && (is_given(e) || by_lower_bounds(e, depth))) return true;
  if (refuted(e)) {
    failed_[e] = -1;
    return false;
  }
  const bool proved = (depth == 0 ? is_limit(e) : by_lower_bounds(e, depth)) ||
                      by_elimination(e, depth) || by_atoms(e, depth) || by_given(e, depth);
  if (proved) proved_.emplace(e, true);
  return proved;
}

std::optional<std::int64_t> Prover::lower_of(Symbol symbol, int depth) {
  const auto better = [](std::optional<std::int64_t> a, std::optional<std::int64_t> b) {
    return !a ? b : !b ? a : std::max(*a, *b);
  };
  auto bound = knowledge_.lower(symbol);
  if (const auto own = local_.lower.find(symbol.id()); own != local_.lower.end()) {
    bound = better(bound, own->second);
  }
  const Range* range = knowledge_.range(symbol);
  if (range == nullptr) return bound;
  if (const auto begin = range->begin.constant()) return better(bound, *begin);
  if (bound && *bound >= 0) return bound;
  return better(bound,
                prove(range->begin, depth + 1) ? std::optional<std::int64_t>(0) : std::nullopt);
}

std::optional<std::int64_t> Prover::lower_of(const Atom& atom, int depth) {
  const auto is_nonneg = [&](const Expr& arg) { return prove(arg, depth + 1); };
  bool known = false;
  switch (atom.kind) {
    case Atom::Kind::symbol:
      return lower_of(*atom.symbol, depth);
    case Atom::Kind::div:
      known = is_nonneg(atom.args[0]);
      break;
    case Atom::Kind::mod:
      known = true;
      break;
    case Atom::Kind::min:
      known = std::all_of(atom.args.begin(), atom.args.end(), is_nonneg);
      break;
    case Atom::Kind::max:
      for (const Expr& arg : atom.args) {
        if (const auto c = arg.constant()) return *c;
      }
      known = std::any_of(atom.args.begin(), atom.args.end(), is_nonneg);
      break;
    case Atom::Kind::load:
      break;
  }
  return known ? std::optional<std::int64_t>(0) : std::nullopt;
}

// Returns true if no coefficient is negative with each atom as its lower limit plus a value >= 0.
bool Prover::by_lower_bounds(const Expr& e, int depth) {
  constexpr std::size_t kMaxExpansion = 512;
  Terms shifted;
  for (const Term& term : e.terms()) {
    Terms product{Term{term.coefficient, {}}};
    for (const Atom& atom : term.atoms) {
      const auto bound = lower_of(atom, depth);
      if (!bound) return false;
      const std::size_t count = product.size();
      if (*bound != 0) {
        for (std::size_t i = 0; i < count; ++i) {
          product.push_back(product[i]);
          product.back().coefficient = checked_mul(product[i].coefficient, *bound);
        }
      }
      for (std::size_t i = 0; i < count; ++i) product[i].atoms.push_back(atom);
      if (product.size() > kMaxExpansion) return false;
    }
    shifted.insert(shifted.end(), product.begin(), product.end());
  }
  shifted = normalise_terms(std::move(shifted));
  return std::all_of(shifted.begin(), shifted.end(),
                     [](const Term& term) { return term.coefficient >= 0; });
}

// Returns true if e is a given inequality plus a number >= 0, which a long search might not reach.
bool Prover::is_given(const Expr& e) const {
  const auto follows = [&](const Expr& fact) {
    const auto more = (e - fact).constant();
    return more && *more >= 0;
  };
  return std::ranges::any_of(local_.nonneg, follows) ||
         std::ranges::any_of(knowledge_.given.nonneg, follows);
}

// Returns true if e follows from one of the limits of a variable whose range has several, which a
// long search might not reach: with that limit in the variable's place, e is short and >= 0. The
// variable stands nowhere else in e, which therefore rises or falls with it.
bool Prover::is_limit(const Expr& e) {
  constexpr std::size_t kMaxTerms = 4;
  for (const Term& term : e.terms()) {
    if (term.atoms.size() != 1 || !term.atoms[0].symbol) continue;
    const Symbol v = *term.atoms[0].symbol;
    const Range* range = knowledge_.range(v);
    const auto linear = range != nullptr ? linear_in(e, v) : std::nullopt;
    if (!linear || !linear->factor.constant()) continue;
    const bool is_up = term.coefficient > 0;
    const Atom* limits = (is_up ? range->begin : range->end).as_atom();
    if (limits == nullptr || limits->kind != (is_up ? Atom::Kind::max : Atom::Kind::min)) continue;
    for (const Expr& limit : limits->args) {
      const Expr rest = e.substitute({{v, is_up ? limit : limit - 1}});
      if (rest.terms().size() <= kMaxTerms && prove(rest, 1)) return true;
    }
  }
  return false;
}

bool Prover::by_given(const Expr& e, int depth) {
  for (const Inequalities* given : {&std::as_const(local_), &knowledge_.given}) {
    for (const Expr& fact : given->nonneg) {
      if (by_given_fact(e, fact, depth)) return true;
    }
  }
  return false;
}

// Proves e >= 0 by j·e - k·m·fact >= 0 for a monomial m >= 0 and j, k > 0 that cancel a term.
bool Prover::by_given_fact(const Expr& e, const Expr& fact, int depth) {
  for (const Term& term : e.terms()) {
    for (const Term& given : fact.terms()) {
      if (given.atoms.empty() || (given.coefficient < 0) != (term.coefficient < 0)) continue;
      if (exhausted()) return false;
      if (!std::includes(term.atoms.begin(), term.atoms.end(), given.atoms.begin(),
                         given.atoms.end())) {
        continue;
      }
      Term cofactor{1, {}};
      std::set_difference(term.atoms.begin(), term.atoms.end(), given.atoms.begin(),
                          given.atoms.end(), std::back_inserter(cofactor.atoms));
      const Expr m = ExprBuilder::wrap({std::move(cofactor)});
      if (!prove(m, depth + 1)) continue;
      const std::int64_t divisor = std::gcd(term.coefficient, given.coefficient);
      const Expr j = given.coefficient / divisor, k = term.coefficient / divisor;
      const std::int64_t sign = given.coefficient < 0 ? -1 : 1;
      if (prove(sign * (j * e - k * m * fact), depth + 3)) return true;
    }
  }
  return false;
}

}  // namespace mote
