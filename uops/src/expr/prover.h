// SPDX-License-Identifier: Apache-2.0
// Proves e >= 0 from Knowledge by a bounded search: shifting symbols by their lower limits, adding
// given inequalities, eliminating loop variables by monotonicity, replacing one / % min max at a
// time by a limit of it. One Prover serves one question; its answer depends only on the knowledge
// and the question.
#pragma once

#include <span>
#include <unordered_map>
#include <vector>

#include "expr/knowledge.h"
#include "mote/uops/expr.h"

namespace mote {

class Prover {
 public:
  /// `divisors` (of the expression that the question is about) count as >= 1.
  Prover(const Knowledge& knowledge, std::span<const Expr> divisors);

  /// Returns false if e is not proved, also for lack of fuel or after overflow.
  bool nonneg(const Expr& e);
  /// Returns the work done: a step for each goal, and more for a large one.
  std::size_t steps() const { return steps_; }

  static constexpr std::size_t kMaxSteps = 1000;
  static constexpr std::size_t kMaxWeight = 400;  ///< maximum weight of a goal, in atoms
  static constexpr int kMaxDepth = 12;

 private:
  enum class Trend { flat, up, down, unknown };

  bool exhausted() const { return steps_ >= kMaxSteps; }
  bool prove(const Expr& e, int depth);
  bool refuted(const Expr& e);
  const SamplePoint* sample(std::size_t number);
  bool by_lower_bounds(const Expr& e, int depth);
  bool is_given(const Expr& e) const;
  bool is_limit(const Expr& e);
  bool by_given(const Expr& e, int depth);
  bool by_given_fact(const Expr& e, const Expr& fact, int depth);
  bool by_elimination(const Expr& e, int depth);
  bool by_atoms(const Expr& e, int depth);
  bool by_quotient(const Expr& base, const Expr& factor, const Atom& atom, int depth);
  bool by_remainder(const Expr& base, const Expr& factor, const Atom& atom, int depth);
  bool by_extremum(const Expr& base, const Expr& factor, const Atom& atom, int depth);

  std::optional<std::int64_t> lower_of(const Atom& atom, int depth);
  std::optional<std::int64_t> lower_of(Symbol symbol, int depth);
  Trend trend(const Expr& e, Symbol v, int depth);
  Trend trend(const Atom& atom, Symbol v, int depth);
  Trend times_sign_of(Trend trend, const Expr& factor, int depth);

  const Knowledge& knowledge_;
  Inequalities local_;  // from the question's divisors
  std::vector<Expr> divisors_;
  std::vector<const SamplePoint*> samples_;  // those at which each divisor is >= 1
  std::size_t samples_seen_ = 0;             // of the knowledge
  std::unordered_map<Expr, int> failed_;  // the least depth at which a proof failed
  std::unordered_map<Expr, bool> proved_;
  std::size_t steps_ = 0;
};

}  // namespace mote
