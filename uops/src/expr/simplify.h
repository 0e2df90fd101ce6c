// SPDX-License-Identifier: Apache-2.0
// Remembers the prover's answers, and simplifies expressions by them.
#pragma once

#include <memory>
#include <unordered_map>

#include "expr/knowledge.h"
#include "mote/uops/expr.h"

namespace mote {

class Reasoner {
 public:
  explicit Reasoner(const FactBase& base) : knowledge_(base) {}

  /// Returns true if e >= 0 is proved; `divisor` is known to be >= 1, as are those inside e.
  bool nonneg(const Expr& e, const Expr& divisor = 1);
  /// Returns a fixed point of the rewriting rules.
  Expr simplify(const Expr& e);

 private:
  bool within(const Expr& low, const Expr& x, const Expr& high, const Expr& divisor);
  Expr simplify_once(const Expr& e);
  Expr simplify_atom(const Atom& atom);
  Expr simplify_quotient(const Atom& atom);
  Expr simplify_remainder(const Atom& atom);
  Expr simplify_extremum(const Atom& atom);
  std::optional<Expr> split_divisible(const Atom& atom) const;
  struct Factored {
    Expr quotient, remainder, inner, outer;
  };
  std::optional<Factored> factor(const Expr& x, const Expr& divisor);
  Expr cancel_divisible(const Expr& e) const;

  struct Question {
    Expr goal, divisor;
    bool operator==(const Question&) const = default;
  };
  struct QuestionHash {
    std::size_t operator()(const Question& q) const {
      return q.goal.hash() * 31 + q.divisor.hash();
    }
  };
  Knowledge knowledge_;
  std::unordered_map<Question, bool, QuestionHash> answers_;
  std::unordered_map<Expr, Expr> simplified_;
};

}  // namespace mote
