// SPDX-License-Identifier: Apache-2.0
// Builds canonical index expressions: + - * / % min max with their folding. Each rule holds for all
// integers (with a divisor that is not 0), so none depends on facts about a symbol.
//
// In a canonical expression, terms are sorted and combined; no pair s·(x/s), x%s of the same sign
// is left to combine; every multiple of c has been taken out of x in each x/c and x%c.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "expr/node.h"
#include "mote/base/error.h"
#include "mote/uops/expr.h"

namespace mote {

namespace {

std::size_t mix(std::size_t seed, std::size_t value) {
  return seed ^ (value + 0x9e3779b97f4a7c15ULL + (seed << 6) + (seed >> 2));
}

std::size_t hash_atom(const Atom& atom) {
  std::size_t hash = static_cast<std::size_t>(atom.kind) + 17;
  if (atom.symbol) return mix(hash, atom.symbol->id());
  if (!atom.tensor.empty()) hash = mix(hash, std::hash<std::string>()(atom.tensor));
  for (const Expr& arg : atom.args) hash = mix(hash, arg.hash());
  return hash;
}

Term without_atom(const Term& term, std::size_t at) {
  Term rest = term;
  rest.atoms.erase(rest.atoms.begin() + static_cast<std::ptrdiff_t>(at));
  return rest;
}

// Returns how many times the polynomial `part` fits into `terms`, each coefficient of the same sign
// as sign·part's.
std::uint64_t count_inside(const Terms& terms, const Terms& part, std::int64_t sign) {
  std::uint64_t count = std::numeric_limits<std::uint64_t>::max();
  for (const Term& wanted : part) {
    const Term* have = find_monomial(terms, wanted.atoms);
    if (have == nullptr) return 0;
    if ((have->coefficient < 0) != ((wanted.coefficient < 0) != (sign < 0))) return 0;
    count = std::min(count, magnitude(have->coefficient) / magnitude(wanted.coefficient));
  }
  return part.empty() ? 0 : count;
}

// Applies k·s·(x/s) + k·(x%s) = k·x to the mod at terms[i].atoms[j], for the largest common k.
bool join_mod(Terms& terms, std::size_t i, std::size_t j) {
  const Atom mod = terms[i].atoms[j];
  const std::int64_t sign = terms[i].coefficient < 0 ? -1 : 1;
  Term rest = without_atom(terms[i], j);
  rest.coefficient = 1;
  const Expr quotient = mod.args[0] / mod.args[1];
  const Terms whole =
      multiply_terms(multiply_terms(std::span(&rest, 1), mod.args[1].terms()), quotient.terms());
  const std::uint64_t count =
      std::min(magnitude(terms[i].coefficient), count_inside(terms, whole, sign));
  if (count == 0 || count > magnitude(std::numeric_limits<std::int64_t>::max())) return false;
  const std::int64_t k = sign * static_cast<std::int64_t>(count);
  Term remainder = terms[i];
  remainder.coefficient = 1;
  Terms result = add_terms(terms, whole, -k);
  result = add_terms(result, std::span(&remainder, 1), -k);
  terms = add_terms(result, multiply_terms(std::span(&rest, 1), mod.args[0].terms()), k);
  return true;
}

bool join_some_mod(Terms& terms) {
  for (std::size_t i = 0; i < terms.size(); ++i) {
    for (std::size_t j = 0; j < terms[i].atoms.size(); ++j) {
      if (terms[i].atoms[j].kind == Atom::Kind::mod && join_mod(terms, i, j)) return true;
    }
  }
  return false;
}

bool contains(const Terms& terms, Atom::Kind kind) {
  return std::any_of(terms.begin(), terms.end(), [kind](const Term& term) {
    return std::any_of(term.atoms.begin(), term.atoms.end(),
                       [kind](const Atom& atom) { return atom.kind == kind; });
  });
}

}  // namespace

Expr ExprBuilder::sum(Terms terms) {
  if (terms.size() > 1 && contains(terms, Atom::Kind::mod) && contains(terms, Atom::Kind::div)) {
    while (join_some_mod(terms)) {
    }
  }
  return wrap(std::move(terms));
}

Expr ExprBuilder::wrap(Terms terms) {
  if (terms.empty()) return {};
  auto node = std::make_shared<Expr::Node>();
  node->hash = terms.size();
  for (const Term& term : terms) {
    node->hash = mix(node->hash, static_cast<std::size_t>(term.coefficient));
    node->weight += 1;
    for (const Atom& atom : term.atoms) {
      node->hash = mix(node->hash, hash_atom(atom));
      node->weight += 1;
      node->has_load = node->has_load || atom.kind == Atom::Kind::load;
      if (atom.symbol) node->symbol_mask |= symbol_bit(*atom.symbol);
      for (const Expr& arg : atom.args) {
        if (const auto* inner = arg.node_.get()) {
          node->symbol_mask |= inner->symbol_mask;
          node->weight += inner->weight;
          node->depth = std::max(node->depth, inner->depth + 1);
          node->has_load = node->has_load || inner->has_load;
        }
      }
    }
  }
  if (node->weight > kMaxWeight) throw Error("index expression: too large");
  if (node->depth > kMaxOperandNesting) {
    throw Error(fmt::format("index expression: nested deeper than {}", kMaxOperandNesting));
  }
  node->terms = std::move(terms);
  return Expr(std::shared_ptr<const Expr::Node>(std::move(node)));
}

MOTE_API Expr operator+(const Expr& a, const Expr& b) {
  if (!a.node_) return b;
  if (!b.node_) return a;
  return ExprBuilder::sum(add_terms(a.terms(), b.terms()));
}
MOTE_API Expr operator-(const Expr& a, const Expr& b) {
  if (!b.node_) return a;
  return ExprBuilder::sum(add_terms(a.terms(), b.terms(), -1));
}
Expr Expr::operator-() const { return ExprBuilder::wrap(add_terms({}, terms(), -1)); }
MOTE_API Expr operator*(const Expr& a, const Expr& b) {
  return ExprBuilder::sum(multiply_terms(a.terms(), b.terms()));
}

namespace {

// Returns t = x / c for one term each, if the division is exact.
std::optional<Term> divide_term(const Term& x, const Term& c) {
  if (c.coefficient == -1 && x.coefficient == std::numeric_limits<std::int64_t>::min()) return {};
  if (x.coefficient % c.coefficient != 0) return {};
  Term quotient{x.coefficient / c.coefficient, {}};
  auto wanted = c.atoms.begin();
  for (const Atom& atom : x.atoms) {
    if (wanted != c.atoms.end() && atom == *wanted) {
      ++wanted;
    } else {
      quotient.atoms.push_back(atom);
    }
  }
  if (wanted != c.atoms.end()) return {};
  return quotient;
}

Split split_by_term(const Expr& x, const Term& c) {
  Terms quotient, remainder;
  for (const Term& term : x.terms()) {
    if (auto t = divide_term(term, c)) {
      quotient.push_back(std::move(*t));
    } else if (term.atoms.empty() && c.atoms.empty()) {
      const std::int64_t sign = c.coefficient < 0 ? -1 : 1;
      const std::int64_t size = checked_mul(c.coefficient, sign);
      const std::int64_t q = sign * floor_div(term.coefficient, size);
      if (q != 0) quotient.push_back(Term{q, {}});
      remainder.push_back(Term{floor_mod(term.coefficient, size), {}});
    } else {
      remainder.push_back(term);
    }
  }
  return {ExprBuilder::sum(std::move(quotient)), ExprBuilder::wrap(std::move(remainder))};
}

// Returns true if x holds each term of t·c with exactly its coefficient, and the constant at least
// to that amount.
bool holds_multiple(const Terms& x, const Terms& multiple) {
  return std::all_of(multiple.begin(), multiple.end(), [&x](const Term& wanted) {
    const Term* have = find_monomial(x, wanted.atoms);
    if (have == nullptr) return false;
    if (!wanted.atoms.empty()) return have->coefficient == wanted.coefficient;
    return (have->coefficient < 0) == (wanted.coefficient < 0) &&
           magnitude(have->coefficient) >= magnitude(wanted.coefficient);
  });
}

// Splits by a c of several terms: takes out t·c wherever all of its terms stand in x.
Split split_by_sum(const Expr& x, const Expr& c) {
  Terms rest(x.terms().begin(), x.terms().end());
  TermGatherer quotient;
  for (std::size_t i = 0; i < rest.size();) {
    const auto t = divide_term(rest[i], c.terms().front());
    if (t) {
      const Terms multiple = multiply_terms(std::span(&*t, 1), c.terms());
      if (holds_multiple(rest, multiple)) {
        quotient.add({*t});
        rest = add_terms(rest, multiple, -1);
        continue;
      }
    }
    ++i;
  }
  return {quotient.take(), ExprBuilder::wrap(std::move(rest))};
}

[[noreturn]] void throw_zero_divisor(const Expr& x, const char* what) {
  throw Error(fmt::format("index expression: {} of {} by the constant 0", what, x.to_string()));
}

Expr binary(Atom::Kind kind, const Expr& a, const Expr& b) {
  return Expr::from_atom(Atom{kind, {}, {}, {a, b}});
}

}  // namespace

Split split_by(const Expr& x, const Expr& c) {
  if (c == Expr(0)) throw InternalError("index expression: split by 0");
  if (c.terms().size() == 1) return split_by_term(x, c.terms().front());
  return split_by_sum(x, c);
}

MOTE_API Expr operator/(const Expr& a, const Expr& b) {
  const auto c = b.constant();
  if (c == 0) throw_zero_divisor(a, "division");
  if (c == 1) return a;
  if (c && *c < 0) return (-a) / (-b);
  const auto [q, r] = split_by(a, b);
  if (r == Expr(0) || (c && r.constant())) return q;  // a constant r lies in [0, c)
  if (const Atom* atom = r.as_atom()) {
    if (c && atom->kind == Atom::Kind::div) return q + atom->args[0] / (atom->args[1] * b);
    if (atom->kind == Atom::Kind::mod && atom->args[1] == b) return q;
  }
  return q + binary(Atom::Kind::div, r, b);
}

MOTE_API Expr operator%(const Expr& a, const Expr& b) {
  const auto c = b.constant();
  if (c == 0) throw_zero_divisor(a, "remainder");
  if (c == 1) return 0;
  if (c && *c < 0) return -((-a) % (-b));
  const Expr r = split_by(a, b).remainder;
  if (r.constant() && (c || r == Expr(0))) return r;
  if (const Atom* atom = r.as_atom()) {
    if (atom->kind == Atom::Kind::mod && atom->args[1] == b) return r;
  }
  return binary(Atom::Kind::mod, r, b);
}

namespace {

void flatten(Atom::Kind kind, const Expr& e, std::vector<Expr>& into) {
  const Atom* atom = e.as_atom();
  if (atom == nullptr || atom->kind != kind) {
    into.push_back(e);
    return;
  }
  for (const Expr& arg : atom->args) flatten(kind, arg, into);
}

// Returns the min or max. Arguments that differ by a constant fold into one; the rest are sorted.
Expr extremum(Atom::Kind kind, std::span<const Expr> operands) {
  std::vector<Expr> flat;
  for (const Expr& e : operands) flatten(kind, e, flat);
  std::map<Expr, std::int64_t> groups;  // the part without its constant -> the constant
  for (const Expr& e : flat) {
    const auto terms = e.terms();
    const bool has_constant = !terms.empty() && terms.back().atoms.empty();
    const std::int64_t constant = has_constant ? terms.back().coefficient : 0;
    const auto rest = terms.first(terms.size() - (has_constant ? 1 : 0));
    const auto [at, fresh] =
        groups.emplace(ExprBuilder::wrap(Terms(rest.begin(), rest.end())), constant);
    if (fresh) continue;
    at->second =
        kind == Atom::Kind::min ? std::min(at->second, constant) : std::max(at->second, constant);
  }
  std::vector<Expr> args;
  for (const auto& [rest, constant] : groups) args.push_back(rest + constant);
  if (args.size() == 1) return args.front();
  std::sort(args.begin(), args.end());
  return Expr::from_atom(Atom{kind, {}, {}, std::move(args)});
}

}  // namespace

Expr min(const Expr& a, const Expr& b) {
  const Expr operands[] = {a, b};
  return extremum(Atom::Kind::min, operands);
}
Expr max(const Expr& a, const Expr& b) {
  const Expr operands[] = {a, b};
  return extremum(Atom::Kind::max, operands);
}
Expr load(std::string_view tensor, std::vector<Expr> index) {
  return Expr::from_atom(Atom{Atom::Kind::load, {}, std::string(tensor), std::move(index)});
}
Expr ceil_div(const Expr& a, const Expr& b) { return (a + b - 1) / b; }

Expr rebuild(const Atom& atom) {
  switch (atom.kind) {
    case Atom::Kind::div:
      return atom.args.at(0) / atom.args.at(1);
    case Atom::Kind::mod:
      return atom.args.at(0) % atom.args.at(1);
    case Atom::Kind::min:
    case Atom::Kind::max:
      return extremum(atom.kind, atom.args);
    case Atom::Kind::symbol:
    case Atom::Kind::load:
      break;
  }
  return Expr::from_atom(atom);
}

}  // namespace mote
