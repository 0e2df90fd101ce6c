// SPDX-License-Identifier: Apache-2.0
// Implements the prover's rules: elimination of loop variables by monotonicity, innermost first,
// and limits of one quotient, remainder, minimum or maximum at a time. Divisors are >= 1.
#include <algorithm>

#include "expr/node.h"
#include "expr/prover.h"

namespace mote {
namespace {

Expr product_of(std::int64_t coefficient, const std::vector<Atom>& atoms, std::size_t but) {
  Term term{coefficient, atoms};
  term.atoms.erase(term.atoms.begin() + static_cast<std::ptrdiff_t>(but));
  return ExprBuilder::sum({std::move(term)});
}

bool mentions(const Atom& atom, Symbol v) {
  return atom.symbol == v || std::any_of(atom.args.begin(), atom.args.end(),
                                         [v](const Expr& arg) { return arg.mentions(v); });
}

}  // namespace

Prover::Trend Prover::times_sign_of(Trend trend, const Expr& factor, int depth) {
  if (trend != Trend::up && trend != Trend::down) return trend;
  if (prove(factor, depth + 1)) return trend;
  if (!prove(-factor, depth + 1)) return Trend::unknown;
  return trend == Trend::up ? Trend::down : Trend::up;
}

// Returns how an atom that is not v itself changes with v.
Prover::Trend Prover::trend(const Atom& atom, Symbol v, int depth) {
  if (atom.kind == Atom::Kind::div && !atom.args[1].mentions(v)) {
    return trend(atom.args[0], v, depth + 1);
  }
  if (atom.kind != Atom::Kind::min && atom.kind != Atom::Kind::max) return Trend::unknown;
  Trend common = Trend::flat;
  for (const Expr& arg : atom.args) {
    const Trend own = trend(arg, v, depth + 1);
    if (own == Trend::flat) continue;
    if (own == Trend::unknown || (common != Trend::flat && common != own)) return Trend::unknown;
    common = own;
  }
  return common;
}

Prover::Trend Prover::trend(const Expr& e, Symbol v, int depth) {
  if (!e.mentions(v)) return Trend::flat;
  if (depth > kMaxDepth) return Trend::unknown;
  Trend common = Trend::flat;
  const auto merge = [&common](Trend own) {
    if (own == Trend::flat) return true;
    if (own == Trend::unknown || (common != Trend::flat && common != own)) return false;
    common = own;
    return true;
  };
  TermGatherer factor;  // factor of v itself
  for (const Term& term : e.terms()) {
    std::size_t at = term.atoms.size(), count = 0;
    for (std::size_t i = 0; i < term.atoms.size(); ++i) {
      if (!mentions(term.atoms[i], v)) continue;
      at = i;
      ++count;
    }
    if (count == 0) continue;
    if (count > 1) return Trend::unknown;
    const Expr rest = product_of(term.coefficient, term.atoms, at);
    if (term.atoms[at].symbol) {
      factor.add(Terms(rest.terms().begin(), rest.terms().end()));
    } else if (!merge(times_sign_of(trend(term.atoms[at], v, depth), rest, depth))) {
      return Trend::unknown;
    }
  }
  const Expr slope = factor.take();
  if (slope != Expr(0) && !merge(times_sign_of(Trend::up, slope, depth))) return Trend::unknown;
  return common;
}

bool Prover::by_elimination(const Expr& e, int depth) {
  std::vector<Symbol> variables;
  for (const Symbol symbol : e.symbols()) {
    if (knowledge_.range(symbol) != nullptr) variables.push_back(symbol);
  }
  std::stable_sort(variables.begin(), variables.end(),
                   [this](Symbol a, Symbol b) { return knowledge_.rank(a) > knowledge_.rank(b); });
  for (const Symbol v : variables) {
    const Range& range = *knowledge_.range(v);
    const Trend how = trend(e, v, depth);
    if (how == Trend::unknown || how == Trend::flat) continue;
    const Expr worst = how == Trend::up ? range.begin : range.end - 1;
    if (prove(e.substitute({{v, worst}}), depth + 1)) return true;
  }
  return false;
}

bool Prover::by_atoms(const Expr& e, int depth) {
  for (const Term& term : e.terms()) {
    for (std::size_t i = 0; i < term.atoms.size(); ++i) {
      const Atom& atom = term.atoms[i];
      if (atom.args.empty() || atom.kind == Atom::Kind::load) continue;
      if (exhausted()) return false;
      const Expr factor = product_of(term.coefficient, term.atoms, i);
      const Expr base = e - ExprBuilder::wrap({term});
      const bool proved = atom.kind == Atom::Kind::div   ? by_quotient(base, factor, atom, depth)
                          : atom.kind == Atom::Kind::mod ? by_remainder(base, factor, atom, depth)
                                                         : by_extremum(base, factor, atom, depth);
      if (proved) return true;
    }
  }
  return false;
}

// Proves base + factor·(x/s) >= 0.
bool Prover::by_quotient(const Expr& base, const Expr& factor, const Atom& atom, int depth) {
  const Expr &x = atom.args[0], &s = atom.args[1];
  // Alone, a quotient is exact: b + x/s >= 0 <=> x + b·s >= 0; b - x/s >= 0 <=> b·s + s-1 - x >= 0.
  if (factor == Expr(1)) return prove(x + base * s, depth + 1);
  if (factor == Expr(-1)) return prove(base * s + s - 1 - x, depth + 1);
  const bool up = prove(factor, depth + 1);
  if (!up && !prove(-factor, depth + 1)) return false;
  // x - s + 1 <= s·(x/s) <= x.
  const Expr bound = up ? x - s + 1 : x;
  const Split split = split_by(factor, s);
  if (split.remainder == Expr(0)) return prove(base + split.quotient * bound, depth + 1);
  return prove(base * s + factor * bound, depth + 1);
}

// Proves base + factor·(x%s) >= 0, with 0 <= x%s <= s - 1, and x%s <= x for x >= 0.
bool Prover::by_remainder(const Expr& base, const Expr& factor, const Atom& atom, int depth) {
  const Expr &x = atom.args[0], &s = atom.args[1];
  if (prove(factor, depth + 1)) return prove(base, depth + 1);
  if (!prove(-factor, depth + 1)) return false;
  if (prove(base + factor * (s - 1), depth + 1)) return true;
  return prove(x, depth + 1) && prove(base + factor * x, depth + 1);
}

// Proves base + factor·min(…) >= 0: by one argument if that limits from the right side, else by
// all.
bool Prover::by_extremum(const Expr& base, const Expr& factor, const Atom& atom, int depth) {
  const bool up = prove(factor, depth + 1);
  if (!up && !prove(-factor, depth + 1)) return false;
  const auto with = [&](const Expr& arg) { return prove(base + factor * arg, depth + 1); };
  if ((atom.kind == Atom::Kind::max) == up) {
    return std::any_of(atom.args.begin(), atom.args.end(), with);
  }
  return std::all_of(atom.args.begin(), atom.args.end(), with);
}

}  // namespace mote
