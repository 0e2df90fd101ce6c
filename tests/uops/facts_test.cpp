// SPDX-License-Identifier: Apache-2.0
// Tests the prover and simplification under facts, rule by rule.
#include "mote/uops/facts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "expr/prover.h"
#include "mote/base/error.h"
#include "raw_index.h"

namespace mote {
namespace {

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

TEST(Prove, ALimitStandsForAVariableOnlyWhereThatOccursOnce) {
  const Expr i0 = Expr::loop(0), i1 = Expr::loop(1), size = Expr::size("N");
  FactBase facts;
  facts.ranges[*i0.as_symbol()] = {0, size};
  facts.ranges[*i1.as_symbol()] = {max(0, i0 - 1), i0 + 1};
  const Knowledge knowledge(facts, 0);
  const auto proves = [&](const Expr& e) { return Prover(knowledge, {}).nonneg(e); };
  EXPECT_FALSE(proves(i1 - 7 * i0 * i1));  // -6 at i0 = i1 = 1
  EXPECT_FALSE(proves(i1 - 7 * (i1 / 2)));
  EXPECT_TRUE(proves(i1 - i0 + 1));
}

}  // namespace
}  // namespace mote
