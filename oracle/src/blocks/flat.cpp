// SPDX-License-Identifier: Apache-2.0
// Proves such reads; it is tried only if there are digits to recombine, since proofs take time.
#include "flat.h"

#include <algorithm>

namespace mote::blocks {
namespace {

bool divides(const Expr& e) {
  return std::ranges::any_of(e.terms(), [](const Term& term) {
    return std::ranges::any_of(term.atoms, [](const Atom& atom) { return !atom.symbol; });
  });
}

/// Rewrites e/(c*d) as (e/c)/d if another position is (e/c)%d; simplify() recombines these.
Expr nested(const Expr& given, const std::vector<Expr>& positions) {
  return given.transform([&](const Atom& atom) {
    const Expr same = rebuild(atom);
    if (atom.kind != Atom::Kind::div) return same;
    for (const Expr& position : positions) {
      const Atom* mod = position.as_atom();
      if (mod == nullptr || mod->kind != Atom::Kind::mod) continue;
      const Atom* inner = mod->args[0].as_atom();
      const bool matches = inner != nullptr && inner->kind == Atom::Kind::div &&
                           inner->args[0] == atom.args[0] &&
                           inner->args[1] * mod->args[1] == atom.args[1];
      if (matches) return nested(mod->args[0], positions) / nested(mod->args[1], positions);
    }
    return same;
  });
}

}  // namespace

Read flattened(Read read, const std::vector<Expr>& shape, const Facts& params) {
  if (std::ranges::count_if(read.from, divides) < 2) return read;
  const Facts facts = facts_over(shape, params);
  Expr flat;
  Expr count(1);
  for (std::size_t k = read.from.size(); k-- > 0; count = count * read.tensor[k])
    flat = flat + nested(read.from[k], read.from) * count;
  flat = facts.simplify(flat);
  if (divides(flat)) return read;
  for (std::size_t k = 0; k < read.from.size(); ++k)
    if (!facts.prove_nonneg(read.from[k]) || !facts.prove_nonneg(read.tensor[k] - 1 - read.from[k]))
      return read;
  return {{flat}, {count}};
}

}  // namespace mote::blocks
