// SPDX-License-Identifier: Apache-2.0
#include "schedule/sign.h"

#include "mote/codegen/loops.h"
#include "passes/conditions.h"

namespace mote {

Facts with_upper_bounds(const Program& source) {
  Facts facts = base_facts(source);
  for (const ParamDecl& d : source.params)
    if (d.is_integer && d.upper)
      facts.assume_nonneg(Expr(*d.upper) - Expr(Symbol(SymbolKind::param, d.name)));
  return facts;
}

std::optional<Expr> flip_of(const Expr& sign, const Facts& facts) {
  const Split half = split_by(1 - sign, 2);
  const bool is_sign = half.remainder == Expr(0) && !sign.has_load() && !mentions_loop(sign) &&
                       facts.prove_nonneg(half.quotient) && facts.prove_nonneg(1 - half.quotient);
  return is_sign ? std::optional(half.quotient) : std::nullopt;
}

}  // namespace mote
