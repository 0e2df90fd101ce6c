// SPDX-License-Identifier: Apache-2.0
// Holds the facts and the consequences that the prover uses: lower limits, given inequalities, the
// nesting of loop variables, and sample points at which all the facts hold.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "mote/uops/expr.h"

namespace mote {

struct Range {
  Expr begin, end;
};

/// The facts as the user of Facts stated them.
struct FactBase {
  std::map<Symbol, std::int64_t> lower;
  std::map<Symbol, Range> ranges;
  std::vector<Expr> nonneg;
  std::vector<Expr> zero;
};

/// Inequalities symbol >= bound, or e >= 0. Divisors count as >= 1.
struct Inequalities {
  std::unordered_map<std::uint32_t, std::int64_t> lower;  ///< by symbol id
  std::vector<Expr> nonneg;  ///< those that are not a lower limit of one symbol

  void add_lower(Symbol symbol, std::int64_t bound);
  void add_nonneg(const Expr& e);
  void add_divisor(const Expr& d);
};

/// Adds all divisors that occur inside e, outermost first, without repetition.
void collect_divisors(const Expr& e, std::vector<Expr>& into);

/// One assignment of values. Symbols without a range get theirs by a hash of the name, on demand.
struct SamplePoint {
  std::uint64_t seed = 0;
  mutable std::vector<std::pair<std::uint32_t, std::int64_t>> values;  ///< by symbol id; few

  const std::int64_t* find(Symbol symbol) const {
    for (const auto& [id, value] : values)
      if (id == symbol.id()) return &value;
    return nullptr;
  }
};

struct Knowledge {
  /// Draws at most so many samples; without any, the prover's rules are alone.
  explicit Knowledge(FactBase facts, std::size_t max_samples = 16);
  Knowledge(const Knowledge&) = delete;
  Knowledge& operator=(const Knowledge&) = delete;

  const Range* range(Symbol symbol) const;
  /// Returns a lower limit of a symbol without a range.
  std::optional<std::int64_t> lower(Symbol symbol) const;
  /// Returns the depth of a variable's nesting: more than that of each variable that its range
  /// mentions.
  int rank(Symbol variable) const;
  /// Returns e's value at a sample; nullopt if it is undefined there (overflow, a divisor < 1).
  std::optional<std::int64_t> value(const Expr& e, const SamplePoint& point) const;

  FactBase base;
  Inequalities given;
  std::vector<std::pair<Expr, Expr>> divisible;  ///< (x, s) with x % s == 0 given, -x too

  /// Returns the sample of that number, which is drawn if no smaller number was asked for; null if
  /// there are not so many.
  const SamplePoint* sample(std::size_t number) const;

 private:
  friend struct SampleValue;
  std::int64_t choose(Symbol symbol, const SamplePoint& point) const;
  bool assign(Symbol variable, SamplePoint& point, int depth) const;
  bool facts_hold(const SamplePoint& point) const;
  void derive_inequalities();
  void derive_divisible();
  int compute_rank(Symbol variable, int depth) const;

  std::unordered_map<std::uint32_t, int> ranks_;
  std::vector<std::pair<std::uint32_t, const Range*>> ranges_;  ///< of `base`, by symbol id; few
  std::size_t max_samples_;
  mutable std::deque<SamplePoint> samples_;
  mutable int candidates_ = 0;  ///< that samples were looked for among
};

}  // namespace mote
