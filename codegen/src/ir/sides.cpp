// SPDX-License-Identifier: Apache-2.0
#include "ir/sides.h"

namespace mote {

Sides sides_of(const Condition& c) {
  Sides sides{0, 0};
  std::int64_t constant = 0;
  for (const Term& t : c.e.terms()) {
    Expr term = t.coefficient;
    for (const Atom& a : t.atoms) term = term * Expr::from_atom(a);
    if (t.coefficient > 0)
      sides.more = sides.more + term;
    else
      sides.less = sides.less - term;
    if (t.atoms.empty()) constant = t.coefficient;
  }
  sides.is_strict = c.kind == Condition::Kind::nonneg && sides.more != Expr(0) &&
                    sides.less != Expr(1) && constant == -1;
  if (sides.is_strict) sides.less = sides.less - 1;
  return sides;
}

}  // namespace mote
