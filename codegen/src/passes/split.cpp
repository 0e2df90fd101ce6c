// SPDX-License-Identifier: Apache-2.0
// Splits a loop over A·c whose body divides its variable by c into two: v = g·c + r, so that v/c
// and v%c turn into g and r (the groups of a convolution).
#include "ir/dependence.h"
#include "mote/codegen/passes.h"
#include "passes/conditions.h"

namespace mote {
namespace {

/// Searches, operands first, for a division of the loop's variable by a divisor of its extent.
void look_for_divisor(const Expr& e, const Loop& loop, std::optional<Expr>& found) {
  if (found || !e.mentions(loop.variable)) return;
  for (const Term& t : e.terms()) {
    for (const Atom& a : t.atoms) {
      for (const Expr& arg : a.args) look_for_divisor(arg, loop, found);
      const bool divides = a.kind == Atom::Kind::div || a.kind == Atom::Kind::mod;
      if (!divides || found || a.args[0] != Expr(loop.variable) || mentions_loop(a.args[1]))
        continue;
      const Split s = split_by(loop.end, a.args[1]);
      const bool whole = s.remainder == Expr(0) && s.quotient != Expr(0);
      if (whole && s.quotient != Expr(1)) found = a.args[1];  // v/c with v < c needs no split
    }
  }
}

/// Returns a divisor c of the loop's extent by which the body divides the loop's variable.
std::optional<Expr> divisor_of(const Loop& loop) {
  std::optional<Expr> found;
  for_each(loop.body, [&](const Stmt& s) {
    if (!found) for_each_expr(s, [&](const Expr& e) { look_for_divisor(e, loop, found); });
  });
  return found;
}

/// `used` has the names that the program has, and gets those of the new loops.
void split_loops(Body& body, std::set<std::string>& used) {
  const auto fresh = [&](const std::string& hint) {
    std::string name = hint;
    for (int k = 2; !used.insert(name).second; ++k) name = hint + std::to_string(k);
    return name;
  };
  for (Stmt& s : body) {
    if (Loop* loop = as_loop(s); loop && loop->begin == Expr(0) && loop->step == Expr(1)) {
      if (const auto c = divisor_of(*loop)) {
        const std::string& name = loop->variable.name();
        const Symbol outer(SymbolKind::loop, fresh(name + "_outer"));
        const Symbol inner(SymbolKind::loop, fresh(name + "_inner"));
        const Expr whole = Expr(outer) * *c + Expr(inner);
        Body rest = std::move(loop->body);
        substitute(rest, {{loop->variable, whole}});
        Body middle;
        middle.push_back({Loop{inner, Expr(0), *c, Expr(1), {}, std::move(rest)}});
        Loop replaced{outer,
                      Expr(0),
                      split_by(loop->end, *c).quotient,
                      Expr(1),
                      loop->accumulators,
                      std::move(middle)};
        s = {std::move(replaced)};
      }
    }
    if (Body* nested = nested_body(s)) split_loops(*nested, used);
  }
}

}  // namespace

LoopProgram split(LoopProgram p) {
  std::set<std::string> used = names_used(p);
  split_loops(p.body, used);
  return simplify(std::move(p));
}

}  // namespace mote
