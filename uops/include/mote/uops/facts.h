// SPDX-License-Identifier: Apache-2.0
// Holds facts about symbols (lower limits of sizes and parameters, half-open ranges of loop
// variables, divisibility) and proves statements from them. The prover has fuel and never hangs:
// running out means "not proved". Facts is a value with cheap copies; proofs are remembered, also
// for copies of one Facts that come to the same facts, so a Facts and its copies belong to one
// thread.
//
// Each divisor counts as >= 1, in the question as in the facts: make_program and bind (program.h)
// let no program divide by anything else if there is an element to compute. Answers depend only on
// the facts and the question, not on earlier questions.
#pragma once

#include <cstdint>
#include <map>
#include <memory>

#include "mote/base/export.h"
#include "mote/uops/expr.h"

namespace MOTE_API mote {

class Facts {
 public:
  Facts();
  Facts(const Facts& other);
  Facts& operator=(const Facts& other);
  ~Facts();

  /// States that symbol >= bound. Without it a size is known to be >= 0, and nothing is known of a
  /// parameter.
  void set_lower(Symbol symbol, std::int64_t bound);
  /// States that begin <= variable < end; inside the loop the range is not empty.
  void set_range(Symbol variable, const Expr& begin, const Expr& end);
  /// States that e >= 0 (a condition that encloses the use).
  void assume_nonneg(const Expr& e);
  /// States that e == 0; useful if e is x % s (then s·(x/s) = x).
  void assume_zero(const Expr& e);

  /// Returns true if e >= 0 is proved; false says nothing.
  bool prove_nonneg(const Expr& e) const;
  bool prove_positive(const Expr& e) const { return prove_nonneg(e - 1); }
  bool prove_negative(const Expr& e) const;
  /// Returns true if e == 0 is proved.
  bool prove_zero(const Expr& e) const;

  /// Returns an expression with the same value wherever the facts hold. It is idempotent.
  Expr simplify(const Expr& e) const;

 private:
  struct Added;
  struct State;
  void add(const Added& fact);

  std::shared_ptr<State> state_;
};

}  // namespace mote
