// SPDX-License-Identifier: Apache-2.0
// Tests the prover and simplification under facts: each rule, and on random facts that nothing
// false is proved, values are kept, simplifying twice changes nothing, and the work is bounded.
#include "mote/uops/facts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "expr/prover.h"
#include "mote/base/error.h"
#include "raw_index.h"

namespace mote {
namespace {

using test::Choices;
using test::RawIndex;

Expr expr_of(std::string_view text) { return parse_expr(text).expr; }
Symbol symbol(std::string_view text) { return expr_of(text).as_symbol().value(); }

struct FactsText {
  Facts facts;
  FactsText& lower(std::string_view s, std::int64_t bound) {
    facts.set_lower(symbol(s), bound);
    return *this;
  }
  FactsText& range(std::string_view v, std::string_view begin, std::string_view end) {
    facts.set_range(symbol(v), expr_of(begin), expr_of(end));
    return *this;
  }
  FactsText& nonneg(std::string_view e) {
    facts.assume_nonneg(expr_of(e));
    return *this;
  }
  FactsText& zero(std::string_view e) {
    facts.assume_zero(expr_of(e));
    return *this;
  }
  bool proves(std::string_view e) const { return facts.prove_nonneg(expr_of(e)); }
  std::string simplify(std::string_view e) const { return facts.simplify(expr_of(e)).to_string(); }
};

TEST(Prove, ShiftsSymbolsByTheirLowerBounds) {
  FactsText f;
  EXPECT_TRUE(f.proves("KH*KW + 3*KH"));
  EXPECT_FALSE(f.proves("KH - 1"));
  EXPECT_FALSE(f.proves("$p"));
  f.lower("KH", 1).lower("KW", 2).lower("$p", -3);
  EXPECT_TRUE(f.proves("KH*KW - KW"));
  EXPECT_TRUE(f.proves("KH*KW - 2"));
  EXPECT_FALSE(f.proves("KH*KW - 3"));
  EXPECT_TRUE(f.proves("$p + 3"));
  EXPECT_FALSE(f.proves("$p + 2"));
}

TEST(Prove, EliminatesLoopVariablesInnermostFirst) {
  FactsText f;
  f.range("i0", "0", "H").range("i1", "0", "i0 + 1").range("i2", "i1", "KH*2");
  EXPECT_TRUE(f.proves("i0 - i1"));
  EXPECT_TRUE(f.proves("H - 1 - i1"));
  EXPECT_TRUE(f.proves("i2 - i1"));
  EXPECT_TRUE(f.proves("2*KH*H - i2*H + i0 - H"));
  EXPECT_FALSE(f.proves("i1 - i0"));
  EXPECT_FALSE(f.proves("H - 2 - i0"));
}

TEST(Prove, KnowsThatRangesAreNotEmpty) {
  FactsText f;
  f.range("i0", "0", "KH").range("i1", "0", "H - KH + 1");
  EXPECT_TRUE(f.proves("KH - 1"));
  EXPECT_TRUE(f.proves("H - KH"));
  EXPECT_TRUE(f.proves("H*W - KH*W"));
  EXPECT_TRUE(f.proves("H - 1"));
  EXPECT_FALSE(f.proves("H - KH - 1"));
}

/// These are the facts of an attention's window: a search for the proof ends before it reaches the
/// fact itself.
TEST(Prove, KnowsWhatIsGivenButForANumber) {
  FactsText f;
  f.lower("S", 1).lower("T", 1).lower("G", 1).lower("$window0", -1).lower("$window1", -1);
  f.lower("$anchor", 0).nonneg("1 - $anchor").lower("$causal", 0).nonneg("1 - $causal");
  f.range("g", "0", "G").range("t", "0", "T").range("s", "0", "S");
  const std::string first =
      "T*$anchor + s + $window0 - S*$anchor - S*min(0, $window0) - T*min(0, $window0) - t";
  const std::string last =
      "S*$anchor + t + $window1 - S*min(0, $window1) - T*$anchor - T*min(0, $window1) - s";
  f.nonneg(first).nonneg(last).nonneg(
      "S*$anchor + t + S + T - S*$causal - T*$anchor - T*$causal - s");
  EXPECT_TRUE(f.facts.prove_nonneg(expr_of(first)));
  EXPECT_TRUE(f.facts.prove_positive(expr_of(first + " + 1")));
  EXPECT_FALSE(f.facts.prove_positive(expr_of(first)));
  EXPECT_TRUE(f.facts.prove_nonneg(expr_of(last + " + 3")));
}

TEST(Prove, TakesDivisorsForPositive) {
  FactsText f;
  EXPECT_TRUE(f.proves("H - s*(H/s)"));
  EXPECT_TRUE(f.proves("H%s"));
  EXPECT_TRUE(f.proves("$s - 1 - H%$s"));
  EXPECT_TRUE(f.proves("s*(H/s) - H + s - 1"));
  EXPECT_FALSE(f.proves("s*(H/s) - H + s - 2"));
  EXPECT_TRUE(f.proves("H - H/s"));
  EXPECT_TRUE(f.proves("H - H%s"));
  EXPECT_FALSE(f.proves("s - 1"));
}

TEST(Prove, BoundsQuotientsExactly) {
  FactsText f;
  f.lower("$s", 1).range("i0", "0", "KH*$s");
  EXPECT_TRUE(f.proves("KH - 1 - i0/$s"));
  EXPECT_FALSE(f.proves("KH - 2 - i0/$s"));
  EXPECT_TRUE(f.proves("(i0 - $s)/$s + 1"));
  EXPECT_FALSE(f.proves("(i0 - $s)/$s"));
  EXPECT_TRUE(f.proves("2*H - (5*H)/3"));
}

TEST(Prove, BoundsExtremaByEitherSide) {
  FactsText f;
  EXPECT_TRUE(f.proves("H - min(H, KH)"));
  EXPECT_TRUE(f.proves("max(H, $p) - H"));
  EXPECT_TRUE(f.proves("min(H, KH, KW)"));
  EXPECT_TRUE(f.proves("max($p, 0)"));
  EXPECT_FALSE(f.proves("min(H, $p)"));
  EXPECT_TRUE(f.proves("H*KH - KH*min(H, $p)"));
  EXPECT_FALSE(f.proves("H - max(H, KH)"));
}

TEST(Prove, UsesWhatIsAssumed) {
  FactsText f;
  f.nonneg("H + 2*$p - $d*KH").nonneg("$q - 3").zero("A - B*C");
  EXPECT_TRUE(f.proves("H + 2*$p - $d*KH + 1"));
  EXPECT_TRUE(f.proves("2*H + 4*$p - 2*$d*KH"));
  EXPECT_FALSE(f.proves("H + 2*$p - $d*KH - 1"));
  EXPECT_TRUE(f.proves("$q - 2"));
  EXPECT_TRUE(f.proves("B*C - A"));
  EXPECT_TRUE(f.proves("A - B*C"));
  f.range("i0", "0", "H").range("i1", "0", "H").nonneg("i0 - i1");
  EXPECT_TRUE(f.proves("i0 - i1"));
  EXPECT_FALSE(f.proves("i1 - i0"));
}

TEST(Prove, HoldsTheWindowOfAConvolutionInside) {
  FactsText f;
  f.lower("$s", 1).lower("$d", 1).lower("$p", 0);
  f.range("i0", "0", "(H + 2*$p - $d*(KH - 1) - 1)/$s + 1").range("i1", "0", "KH");
  EXPECT_TRUE(f.proves("i0*$s + i1*$d"));
  EXPECT_TRUE(f.proves("H + 2*$p - 1 - (i0*$s + i1*$d)"));
  EXPECT_FALSE(f.proves("H - 1 - (i0*$s + i1*$d - $p)"));
}

TEST(Prove, FindsZeros) {
  FactsText f;
  f.zero("i0 % $s").range("i1", "0", "KH");
  EXPECT_TRUE(f.facts.prove_zero(expr_of("$s*(i0/$s) - i0")));
  EXPECT_TRUE(f.facts.prove_zero(expr_of("i1/KH")));
  EXPECT_TRUE(f.facts.prove_zero(expr_of("min(i1, KH) - i1")));
  EXPECT_FALSE(f.facts.prove_zero(expr_of("i1%2")));
}

TEST(Prove, ForgetsWhatFactsThatChangedHadShown) {
  FactsText f;
  f.lower("KH", 3);
  EXPECT_TRUE(f.proves("KH - 3"));
  f.lower("KH", 2);
  EXPECT_FALSE(f.proves("KH - 3"));
  f.range("i0", "0", "KH");
  Facts copy = f.facts;
  EXPECT_TRUE(copy.prove_nonneg(expr_of("KH - 1 - i0")));
  f.range("i0", "0", "KH + 1");
  EXPECT_FALSE(f.proves("KH - 1 - i0"));
  EXPECT_TRUE(copy.prove_nonneg(expr_of("KH - 1 - i0")));
  f.facts = copy;
  EXPECT_TRUE(f.proves("KH - 1 - i0"));
}

TEST(Prove, TakesOverflowForNotProved) {
  FactsText f;
  const Expr huge = std::int64_t{1} << 62;
  f.facts.set_lower(symbol("KH"), std::int64_t{1} << 62);
  EXPECT_FALSE(f.facts.prove_nonneg(huge * expr_of("KH*KW - $p")));
  f.facts.set_range(symbol("i0"), INT64_MIN, INT64_MAX);
  EXPECT_FALSE(f.proves("i0 + 5"));
  EXPECT_EQ(f.simplify("(i0 + 5)/7"), "(i0 + 5)/7");
}

TEST(Simplify, FoldsQuotientsAndRemaindersOfWhatIsSmall) {
  FactsText f;
  f.range("i0", "0", "KH").range("i1", "0", "KW");
  EXPECT_EQ(f.simplify("(x*KH + i0)/KH"), "x");
  EXPECT_EQ(f.simplify("(x*KH + i0)%KH"), "i0");
  EXPECT_EQ(f.simplify("(i0 - KH)/KH"), "-1");
  EXPECT_EQ(f.simplify("(i0 - KH)%KH"), "i0");
  EXPECT_EQ(f.simplify("((x*KH + i0)*KW + i1)/(KH*KW)"), "x");
  EXPECT_EQ(f.simplify("((x*KH + i0)*KW + i1)/KW%KH"), "i0");
  EXPECT_EQ(f.simplify("(i0 + 1)/KH"), "(i0 + 1)/KH");
}

TEST(Simplify, SplitsOverProductsInTheDivisor) {
  FactsText f;
  f.range("i0", "0", "KH").range("i1", "0", "4");
  EXPECT_EQ(f.simplify("(x*KH + i0)/(KH*A)"), "x/A");
  EXPECT_EQ(f.simplify("(x*KH + i0)%(KH*A)"), "KH*(x%A) + i0");
  EXPECT_EQ(f.simplify("(4*x + i1)/8"), "x/2");
  EXPECT_EQ(f.simplify("(4*x + i1)%8"), "i1 + 4*(x%2)");
  EXPECT_EQ(f.simplify("(x*KH)/(KH*A)"), "x/A");
}

TEST(Simplify, DecidesExtrema) {
  FactsText f;
  f.range("i0", "0", "KH");
  EXPECT_EQ(f.simplify("min(i0, KH)"), "i0");
  EXPECT_EQ(f.simplify("max(i0, 0)"), "i0");
  EXPECT_EQ(f.simplify("max(i0, 0, x, -3)"), "max(i0, x)");
  EXPECT_EQ(f.simplify("min(i0, x)"), "min(i0, x)");
}

TEST(Simplify, CancelsWhatDivides) {
  FactsText f;
  f.zero("(i0 + $p)%$s");
  EXPECT_EQ(f.simplify("$s*((i0 + $p)/$s)"), "i0 + $p");
  EXPECT_EQ(f.simplify("3*i1*$s*((i0 + $p)/$s)"), "3*i0*i1 + 3*i1*$p");
  EXPECT_EQ(f.simplify("(i0 + $p)%$s"), "0");
  EXPECT_EQ(f.simplify("(-i0 - $p)%$s"), "0");
  EXPECT_EQ(f.simplify("(i0 + $p + i1)%$s"), "i1%$s");
  EXPECT_EQ(f.simplify("(i0 + $p + i1)/$s"), "(i0 + $p)/$s + i1/$s");
  EXPECT_EQ(f.simplify("(i0 + $p)/$s"), "(i0 + $p)/$s");
}

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
    Knowledge knowledge(world.base);
    knowledge.samples.clear();
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

TEST(Prove, ALimitStandsForAVariableOnlyWhereThatOccursOnce) {
  const Expr i0 = Expr::loop(0), i1 = Expr::loop(1), size = Expr::size("N");
  FactBase facts;
  facts.ranges[*i0.as_symbol()] = {0, size};
  facts.ranges[*i1.as_symbol()] = {max(0, i0 - 1), i0 + 1};
  Knowledge knowledge(facts);
  knowledge.samples.clear();
  const auto proves = [&](const Expr& e) { return Prover(knowledge, {}).nonneg(e); };
  EXPECT_FALSE(proves(i1 - 7 * i0 * i1));  // -6 at i0 = i1 = 1
  EXPECT_FALSE(proves(i1 - 7 * (i1 / 2)));
  EXPECT_TRUE(proves(i1 - i0 + 1));
}

TEST(Prove, SamplesNeverRefuteWhatTheRulesProve) {
  EXPECT_TRUE(test::holds("refutation agrees", 300, [&](Choices& choices) {
    const World world = draw_world(choices);
    Knowledge knowledge(world.base);
    const auto samples = knowledge.samples;
    knowledge.samples.clear();
    for (int i = 0; i < 3; ++i) {
      const auto e = draw_expr(choices, 3);
      if (!e) continue;
      std::vector<Expr> divisors;
      collect_divisors(*e, divisors);
      if (!Prover(knowledge, divisors).nonneg(*e)) continue;
      for (const SamplePoint& point : samples) {
        if (knowledge.value(*e, point).value_or(0) < 0) return false;
      }
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
    Knowledge knowledge(world.base);
    knowledge.samples.clear();  // no goal is refuted early
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
