// SPDX-License-Identifier: Apache-2.0
// Computes values of index expressions: floor division, the remainder with the sign of the divisor,
// and an Error for every overflow.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "expr/node.h"
#include "mote/base/error.h"
#include "mote/uops/expr.h"

namespace mote {
namespace {

std::int64_t divide(const Atom& atom, std::int64_t a, std::int64_t b) {
  const bool is_div = atom.kind == Atom::Kind::div;
  if (b == 0) {
    throw Error(
        fmt::format("index expression: division by zero in {}", Expr::from_atom(atom).to_string()));
  }
  if (b == -1) return is_div ? checked_mul(a, -1) : 0;
  return is_div ? floor_div(a, b) : floor_mod(a, b);
}

std::int64_t evaluate_atom(const Atom& atom, const Environment& env) {
  if (atom.symbol) {
    if (!env.symbol) throw Error("index expression: no value for " + atom.symbol->to_string());
    return env.symbol(*atom.symbol);
  }
  std::vector<std::int64_t> args;
  args.reserve(atom.args.size());
  for (const Expr& arg : atom.args) args.push_back(evaluate(arg, env));
  switch (atom.kind) {
    case Atom::Kind::div:
    case Atom::Kind::mod:
      return divide(atom, args[0], args[1]);
    case Atom::Kind::min:
      return *std::min_element(args.begin(), args.end());
    case Atom::Kind::max:
      return *std::max_element(args.begin(), args.end());
    case Atom::Kind::load:
    case Atom::Kind::symbol:
      break;
  }
  if (!env.load) throw Error("index expression: no values for the elements of " + atom.tensor);
  return env.load(atom.tensor, args);
}

}  // namespace

std::int64_t evaluate(const Expr& e, const Environment& env) {
  std::int64_t total = 0;
  for (const Term& term : e.terms()) {
    std::int64_t product = term.coefficient;
    for (const Atom& atom : term.atoms) product = checked_mul(product, evaluate_atom(atom, env));
    total = checked_add(total, product);
  }
  return total;
}

std::int64_t evaluate(const Expr& e, const std::map<Symbol, std::int64_t>& values) {
  Environment env;
  env.symbol = [&values](Symbol symbol) {
    const auto found = values.find(symbol);
    if (found == values.end()) {
      throw Error("index expression: no value for " + symbol.to_string());
    }
    return found->second;
  };
  return evaluate(e, env);
}

}  // namespace mote
