// SPDX-License-Identifier: Apache-2.0
// Tests on random facts that nothing false is proved, values are kept, simplifying twice changes
// nothing, and the work is bounded.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "expr/prover.h"
#include "mote/base/error.h"
#include "mote/uops/facts.h"
#include "raw_index.h"

namespace mote {
namespace {

using test::Choices;
using test::RawIndex;

// Random facts over the symbols of raw_index.h, and random points at which they hold.
struct World {
  FactBase base;
  Facts facts;

  void lower(int s, std::int64_t bound) {
    base.lower[at(s)] = bound;
    facts.set_lower(at(s), bound);
  }
  void range(int v, const Expr& begin, const Expr& end) {
    base.ranges[at(v)] = {begin, end};
    facts.set_range(at(v), begin, end);
  }
  static Symbol at(int i) { return test::raw_symbols()[static_cast<std::size_t>(i)]; }
};

std::optional<Expr> draw_expr(Choices& choices, int depth) {
  try {
    return test::build(test::draw_raw(choices, depth));
  } catch (const Error&) {
    return std::nullopt;  // it divides by the constant 0
  }
}

World draw_world(Choices& choices) {
  World world;
  const Expr i0 = World::at(0), i1 = World::at(1), size = World::at(3), kh = World::at(4),
             p = World::at(5);
  for (const int s : {3, 4, 5}) {
    if (choices.below(3) == 0) world.lower(s, choices.between(s == 5 ? -2 : 0, 2));
  }
  const Expr ends[] = {size, kh + 2, size * kh, size / kh + 1, min(size, kh), size - p + 1};
  const Expr begins[] = {0, -1, p, size - kh};
  world.range(0, begins[choices.below(4)], ends[choices.below(6)]);
  const Expr inner_ends[] = {i0 + 1, kh, i0 * 2 + size, (i0 + kh) / 2 + 1};
  const Expr inner_begins[] = {0, max(0, i0 - 1), i0 / 2, i0 - kh};
  if (choices.below(4) != 0) {
    world.range(1, inner_begins[choices.below(4)], inner_ends[choices.below(4)]);
  }
  if (choices.below(2) == 0) world.range(2, i1 - i0, size + i1);
  if (choices.below(3) == 0) {
    const auto e = draw_expr(choices, 2);
    if (e) {
      world.base.nonneg.push_back(*e);
      world.facts.assume_nonneg(*e);
    }
  }
  if (choices.below(4) == 0) {
    const Expr zeros[] = {i0 % kh, (i0 + p) % 2, (i1 * kh + i0) % size, i0 - i1};
    const Expr zero = zeros[choices.below(4)];
    world.base.zero.push_back(zero);
    world.facts.assume_zero(zero);
  }
  return world;
}

// Returns the value, or nullopt if a divisor is < 1 or something overflows.
std::optional<std::int64_t> value_at(const Expr& e, const std::map<Symbol, std::int64_t>& point) {
  std::vector<Expr> divisors;
  collect_divisors(e, divisors);
  try {
    // The last listed divisors are the innermost, so that a division by 0 is seen before it is
    // evaluated.
    for (std::size_t k = divisors.size(); k-- > 0;) {
      if (evaluate(divisors[k], point) < 1) return std::nullopt;
    }
    return evaluate(e, point);
  } catch (const Error&) {
    return std::nullopt;
  }
}

std::vector<std::map<Symbol, std::int64_t>> points_of(const FactBase& base, unsigned seed) {
  std::mt19937 random(seed);
  const auto between = [&random](std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(high - low + 1));
  };
  std::vector<std::map<Symbol, std::int64_t>> points;
  for (int tries = 0; tries < 250 && points.size() < 80; ++tries) {
    std::map<Symbol, std::int64_t> point;
    const std::int64_t spread = tries % 2 == 0 ? 4 : 15;
    for (const int s : {3, 4}) point[World::at(s)] = between(0, spread);
    point[World::at(5)] = between(-spread, spread);
    bool holds = true;
    for (const int v : {0, 1, 2}) {
      const auto range = base.ranges.find(World::at(v));
      if (range == base.ranges.end()) {
        point[World::at(v)] = between(-spread, spread);
        continue;
      }
      const auto begin = value_at(range->second.begin, point),
                 end = value_at(range->second.end, point);
      holds = holds && begin && end && *begin < *end;
      if (!holds) break;
      point[World::at(v)] = between(*begin, *end - 1);
    }
    if (!holds) continue;
    for (const auto& [s, bound] : base.lower) holds = holds && point[s] >= bound;
    for (const Expr& e : base.nonneg) holds = holds && value_at(e, point).value_or(-1) >= 0;
    for (const Expr& e : base.zero) holds = holds && value_at(e, point) == 0;
    if (holds) points.push_back(std::move(point));
  }
  return points;
}

TEST(Prove, ClaimsNothingFalseOnRandomFacts) {
  int proved = 0, checked = 0;
  EXPECT_TRUE(test::holds("prove_nonneg is sound", 500, [&](Choices& choices) {
    const World world = draw_world(choices);
    // Without samples the rules are tested alone: a false goal is not refuted before they see it.
    const Knowledge knowledge(world.base, 0);
    const auto points = points_of(world.base, 7);
    for (int i = 0; i < 3; ++i) {
      const auto drawn = draw_expr(choices, 3);
      if (!drawn) continue;
      for (const Expr& e : {*drawn, -*drawn, *drawn + 3}) {
        std::vector<Expr> divisors;
        collect_divisors(e, divisors);
        const bool by_rules = Prover(knowledge, divisors).nonneg(e);
        if (!by_rules && !world.facts.prove_nonneg(e)) continue;
        ++proved;
        for (const auto& point : points) {
          const auto value = value_at(e, point);
          if (value && *value < 0) {
            RC_LOG() << e.to_string() << " is " << *value << std::endl;
            return false;
          }
          checked += value ? 1 : 0;
        }
      }
    }
    return true;
  }));
  EXPECT_GT(proved, 800);
  EXPECT_GT(checked, 15000);
}

TEST(Prove, SamplesNeverRefuteWhatTheRulesProve) {
  EXPECT_TRUE(test::holds("refutation agrees", 300, [&](Choices& choices) {
    const World world = draw_world(choices);
    const Knowledge knowledge(world.base, 0), with_samples(world.base);
    for (int i = 0; i < 3; ++i) {
      const auto e = draw_expr(choices, 3);
      if (!e) continue;
      std::vector<Expr> divisors;
      collect_divisors(*e, divisors);
      if (!Prover(knowledge, divisors).nonneg(*e)) continue;
      for (std::size_t k = 0; const SamplePoint* point = with_samples.sample(k); ++k)
        if (with_samples.value(*e, *point).value_or(0) < 0) return false;
    }
    return true;
  }));
}

TEST(Simplify, KeepsValuesAndIsAFixedPointOnRandomFacts) {
  int changed = 0, checked = 0;
  EXPECT_TRUE(test::holds("simplify", 600, [&](Choices& choices) {
    const World world = draw_world(choices);
    const auto points = points_of(world.base, 11);
    for (int i = 0; i < 3; ++i) {
      const auto e = draw_expr(choices, 4);
      if (!e) continue;
      const Expr simple = world.facts.simplify(*e);
      changed += simple == *e ? 0 : 1;
      // A fresh copy has no memory of the first answer.
      const Facts fresh = world.facts;
      if (fresh.simplify(simple) != simple) {
        RC_LOG() << e->to_string() << " -> " << simple.to_string() << " -> "
                 << fresh.simplify(simple).to_string() << std::endl;
        return false;
      }
      for (const auto& point : points) {
        const auto before = value_at(*e, point);
        if (!before) continue;
        ++checked;
        if (value_at(simple, point) != before) {
          RC_LOG() << e->to_string() << " -> " << simple.to_string() << std::endl;
          return false;
        }
      }
    }
    return true;
  }));
  EXPECT_GT(changed, 200);
  EXPECT_GT(checked, 15000);
}

TEST(Prove, AnswersNastyQuestionsInBoundedSteps) {
  std::size_t most = 0;
  EXPECT_TRUE(test::holds("fuel", 100, [&](Choices& choices) {
    World world = draw_world(choices);
    for (int i = 0; i < 6; ++i) {
      if (const auto e = draw_expr(choices, 3)) world.base.nonneg.push_back(*e);
    }
    const Knowledge knowledge(world.base, 0);  // no goal is refuted early
    for (int i = 0; i < 3; ++i) {
      const auto a = draw_expr(choices, 6), b = draw_expr(choices, 6);
      if (!a || !b) continue;
      Prover prover(knowledge, {});
      prover.nonneg(*a - *b);
      most = std::max(most, prover.steps());
      if (prover.steps() > Prover::kMaxSteps + Prover::kMaxWeight) return false;
    }
    return true;
  }));
  EXPECT_GT(most, 1000U);
}

}  // namespace
}  // namespace mote
