// SPDX-License-Identifier: Apache-2.0
// Finds divisors, and asks the prover about those that vary.
#include "expr/divisors.h"

#include <algorithm>

#include "graph/node.h"
#include "mote/uops/facts.h"

namespace mote {

void for_each_divisor(const Expr& e, const std::function<void(const Expr&)>& f) {
  for (const Term& term : e.terms())
    for (const Atom& atom : term.atoms) {
      for (const Expr& arg : atom.args) for_each_divisor(arg, f);
      if (atom.kind == Atom::Kind::div || atom.kind == Atom::Kind::mod) f(atom.args[1]);
    }
}

bool varies(const Expr& e) {
  const auto& symbols = e.symbols();
  return std::any_of(symbols.begin(), symbols.end(),
                     [](Symbol s) { return s.kind() == SymbolKind::loop; });
}

// The prover counts the divisors inside a question as >= 1; those come first, so that each has been
// proved, or is left to bind(), before it helps another one.
std::optional<Expr> doubtful_divisor(const Uop& u, const std::vector<ParamDecl>& params) {
  std::optional<Facts> facts;
  std::optional<Expr> found;
  for_each_expr(u, [&](const Expr& e) {
    for_each_divisor(e, [&](const Expr& d) {
      if (found || !varies(d)) return;
      if (!facts) facts = facts_over(index_space(u), facts_of(params));
      if (!facts->prove_positive(d)) found = d;
    });
  });
  return found;
}

}  // namespace mote
