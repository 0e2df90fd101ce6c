// SPDX-License-Identifier: Apache-2.0
// Tests index expressions: canonical form against direct evaluation, text both ways, each folding
// rule, errors with their positions.
#include "mote/uops/expr.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <thread>

#include "mote/base/error.h"
#include "raw_index.h"

namespace mote {
namespace {

using test::Choices;
using test::RawIndex;

Expr parse(std::string_view text) { return parse_expr(text).expr; }
std::string canonical(std::string_view text) { return parse(text).to_string(); }

std::string error_of(std::string_view text, int line = 1, int column = 1) {
  try {
    return "no error: " + parse_expr(text, line, column).expr.to_string();
  } catch (const Error& error) {
    return error.what();
  }
}

template <class F>
std::string error_from(const F& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

// Returns nullopt if the tree divides by a constant 0 (then it has no value anywhere).
std::optional<Expr> try_build(const RawIndex& raw) {
  try {
    return test::build(raw);
  } catch (const Error&) {
    return std::nullopt;
  }
}

TEST(Expr, EqualsDirectEvaluation) {
  int compared = 0;
  EXPECT_TRUE(test::holds("canonical value", 8000, [&](Choices& choices) {
    const RawIndex raw = test::draw_raw(choices, 5);
    const auto e = try_build(raw);
    // The points are not drawn from the bytes, since a large tree uses them all.
    std::mt19937 random(static_cast<unsigned>(to_string(raw).size()));
    for (int repeat = 0; repeat < 12; ++repeat) {
      std::vector<std::int64_t> point;
      for (std::size_t i = 0; i < test::raw_symbols().size(); ++i) {
        point.push_back(static_cast<std::int64_t>(random() % 23) - 11);
      }
      const auto expected = test::evaluate_raw(raw, point);
      if (!expected) continue;
      if (!e || evaluate(*e, test::as_map(point)) != *expected) return false;
      ++compared;
    }
    return true;
  }));
  EXPECT_GT(compared, 30000);
}

TEST(Expr, ReadsBackWhatItPrints) {
  EXPECT_TRUE(test::holds("parse(print(e)) == e", 8000, [](Choices& choices) {
    const RawIndex raw = test::draw_raw(choices, 5);
    const auto e = try_build(raw);
    if (!e) return true;
    const Expr again = parse(e->to_string());
    return again == *e && again.hash() == e->hash() && (again <=> *e) == 0;
  }));
}

TEST(Expr, ParsesTreesAsTheOperatorsBuildThem) {
  EXPECT_TRUE(test::holds("parse(raw text) == build(raw)", 5000, [](Choices& choices) {
    const RawIndex raw = test::draw_raw(choices, 5);
    const auto e = try_build(raw);
    if (e) return parse(to_string(raw)) == *e;
    return error_of(to_string(raw)).starts_with("index text: line 1, column ");
  }));
}

TEST(Expr, RebuildingChangesNothing) {
  EXPECT_TRUE(test::holds("a canonical form is a fixed point", 8000, [](Choices& choices) {
    const auto e = try_build(test::draw_raw(choices, 5));
    if (!e) return true;
    std::map<Symbol, Expr> identity;
    for (const Symbol s : test::raw_symbols()) identity[s] = s;
    Expr from_terms;
    for (const Term& term : e->terms()) {
      Expr product = term.coefficient;
      for (const Atom& atom : term.atoms) product = product * Expr::from_atom(atom);
      from_terms = product + from_terms;
    }
    return e->transform(rebuild) == *e && e->substitute(identity) == *e && from_terms == *e;
  }));
}

TEST(Expr, SubstitutesTheValueOfSymbols) {
  EXPECT_TRUE(test::holds("substitute, then evaluate", 5000, [](Choices& choices) {
    const auto point = test::draw_point(choices, -9, 9);
    const RawIndex raw = test::draw_raw(choices, 4), into = test::draw_raw(choices, 2);
    const auto e = try_build(raw), image = try_build(into);
    const auto inner = test::evaluate_raw(into, point);
    if (!e || !image || !inner) return true;
    auto outer = point;
    outer[1] = *inner;
    const auto expected = test::evaluate_raw(raw, outer);
    if (!expected) return true;
    const Expr replaced = e->substitute({{test::raw_symbols()[1], *image}});
    return evaluate(replaced, test::as_map(point)) == *expected;
  }));
}

TEST(Expr, OrdersTotally) {
  EXPECT_TRUE(test::holds("order", 3000, [](Choices& choices) {
    std::vector<Expr> list;
    for (int i = 0; i < 3; ++i) list.push_back(try_build(test::draw_raw(choices, 3)).value_or(i));
    std::sort(list.begin(), list.end());
    const bool antisymmetric = (list[0] <=> list[2]) == (0 <=> (list[2] <=> list[0]));
    return antisymmetric && list[0] <= list[1] && list[1] <= list[2] && list[0] <= list[2] &&
           ((list[0] <=> list[2]) == 0) == (list[0] == list[2]);
  }));
}

TEST(Symbol, ComparesNumbersAsNumbersWhateverWasInternedFirst) {
  const Symbol i10(SymbolKind::loop, "i10"), i9(SymbolKind::loop, "i9"), i2(SymbolKind::loop, "i2");
  EXPECT_LT(i2, i9);
  EXPECT_LT(i9, i10);
  const Symbol b12(SymbolKind::size, "b12x"), b9(SymbolKind::size, "b9y"),
      b09(SymbolKind::size, "b09y");
  EXPECT_LT(b9, b12);
  EXPECT_NE(b9, b09);
  EXPECT_NE(b9 < b09, b09 < b9);
  EXPECT_LT(i10, b9);  // loops before sizes
  EXPECT_EQ((Expr(i10) + i9 + i2).to_string(), "i2 + i9 + i10");
  EXPECT_EQ(Symbol(SymbolKind::param, "p").to_string(), "$p");
  EXPECT_EQ(error_from([] { Symbol(SymbolKind::size, "i3"); }),
            "index expression: a size may not be called 'i3', the name of a loop variable");
  EXPECT_EQ(error_from([] { Symbol(SymbolKind::size, ""); }),
            "index expression: a symbol needs a name");
}

TEST(Symbol, InternsFromManyThreads) {
  std::vector<std::vector<Symbol>> seen(4);
  std::vector<std::thread> threads;
  for (auto& own : seen) {
    threads.emplace_back([&own] {
      for (int i = 0; i < 3000; ++i)
        own.emplace_back(SymbolKind::size, "thread_" + std::to_string(i));
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& own : seen) EXPECT_EQ(own, seen[0]);
  for (int i = 0; i < 3000; ++i) {
    EXPECT_EQ(seen[0][static_cast<std::size_t>(i)].name(), "thread_" + std::to_string(i));
  }
}

TEST(ExprPrint, ReadsAsIfWrittenByHand) {
  EXPECT_EQ(canonical("-$pad + i3*$dilation + $stride*i1"), "i1*$stride + i3*$dilation - $pad");
  EXPECT_EQ(canonical("(i0+3)/KH"), "(i0 + 3)/KH");
  EXPECT_EQ(canonical("(i0 + 3)%KH"), "(i0 + 3)%KH");
  EXPECT_EQ(canonical("(i0/KH)*KH"), "KH*(i0/KH)");
  EXPECT_EQ(canonical("2*i0/KH"), "2*i0/KH");
  EXPECT_EQ(canonical("2*(i0/KH)"), "2*(i0/KH)");
  EXPECT_EQ(canonical("-(i0/KH)"), "-(i0/KH)");
  EXPECT_EQ(canonical("-i0/KH"), "(-i0)/KH");
  EXPECT_EQ(canonical("dA0 - i0/KH"), "dA0 - i0/KH");
  EXPECT_EQ(canonical("(i0/KH)/$s"), "(i0/KH)/$s");
  EXPECT_EQ(canonical("i0/(KH*$s)"), "i0/(KH*$s)");
  EXPECT_EQ(canonical("min(KH, i0 + 1)*2"), "2*min(i0 + 1, KH)");
  EXPECT_EQ(canonical("H - KH + 1"), "H - KH + 1");
  EXPECT_EQ(canonical("-i0 + 3"), "3 - i0");
  EXPECT_EQ(canonical("-i0 - 3"), "-i0 - 3");
  EXPECT_EQ(canonical("i0 - i0"), "0");
  EXPECT_EQ(load("x", {Expr::loop(0), Expr::loop(1) + 1}).to_string(), "x[i0, i1 + 1]");
}

TEST(ExprFold, PullsMultiplesOutOfQuotientsAndRemainders) {
  EXPECT_EQ(canonical("(i0*KH + i1)/KH"), "i0 + i1/KH");
  EXPECT_EQ(canonical("(i0*KH + i1)%KH"), "i1%KH");
  EXPECT_EQ(canonical("(4*i0 + i1 + 9)/4"), "i0 + (i1 + 1)/4 + 2");
  EXPECT_EQ(canonical("(4*i0 + i1 - 9)%4"), "(i1 + 3)%4");
  EXPECT_EQ(canonical("(i0*KH*KW + i1*KW + i2)/(KH*KW)"), "i0 + (i1*KW + i2)/(KH*KW)");
  EXPECT_EQ(canonical("(-6*i0*$s)/(-3*$s)"), "2*i0");
}

TEST(ExprFold, PullsMultiplesOfSums) {
  EXPECT_EQ(canonical("(i0*(H - KH + 1) + i1)/(H - KH + 1)"), "i0 + i1/(H - KH + 1)");
  EXPECT_EQ(canonical("(i0*(H - KH + 1) + i1)%(H - KH + 1)"), "i1%(H - KH + 1)");
  EXPECT_EQ(canonical("(H - KH + 4)/(H - KH + 1)"), "3/(H - KH + 1) + 1");
}

TEST(ExprFold, FoldsQuotientsOfQuotientsByPositiveConstants) {
  EXPECT_EQ(canonical("(i0/KH)/3"), "i0/(3*KH)");
  EXPECT_EQ(canonical("(i0/4)/3"), "i0/12");
  EXPECT_EQ(canonical("(i0/4)/KH"), "(i0/4)/KH");
  EXPECT_EQ(canonical("(i0/4)/-3"), "(-(i0/4))/3");
}

TEST(ExprFold, FoldsRemaindersOfTheSameDivisor) {
  EXPECT_EQ(canonical("(i0%KH)%KH"), "i0%KH");
  EXPECT_EQ(canonical("(i0%KH)/KH"), "0");
  EXPECT_EQ(canonical("(i0%4)%3"), "(i0%4)%3");
  EXPECT_EQ(canonical("i0/1 + i0%1"), "i0");
}

TEST(ExprFold, JoinsQuotientAndRemainder) {
  EXPECT_EQ(canonical("KH*(i0/KH) + i0%KH"), "i0");
  EXPECT_EQ(canonical("-3*i1*KH*(i0/KH) - 3*i1*(i0%KH)"), "-3*i0*i1");
  EXPECT_EQ(canonical("4*(i0/4) + i0%4 + 1"), "i0 + 1");
  EXPECT_EQ(canonical("3*(i0/12) + (i0/4)%3"), "i0/4");
  EXPECT_EQ(canonical("(H - 1)*(i0/(H - 1)) + i0%(H - 1)"), "i0");
  EXPECT_EQ(canonical("KH*(i0/KH) - i0%KH"), "KH*(i0/KH) - i0%KH");
}

TEST(ExprFold, FloorsLikeMathematics) {
  EXPECT_EQ(canonical("-7/2"), "-4");
  EXPECT_EQ(canonical("-7%2"), "1");
  EXPECT_EQ(canonical("7/-2"), "-4");
  EXPECT_EQ(canonical("7%-2"), "-1");
  EXPECT_EQ(canonical("-7/-2"), "3");
  EXPECT_EQ(canonical("i0/-3"), "(-i0)/3");
  EXPECT_EQ(ceil_div(Expr::loop(0), 4), parse("(i0 + 3)/4"));
}

TEST(ExprFold, FlattensSortsAndFoldsExtrema) {
  EXPECT_EQ(canonical("min(KH, min(i0, KH), i0 + 3)"), "min(i0, KH)");
  EXPECT_EQ(canonical("max(3, i0, 7, i0 - 2)"), "max(i0, 7)");
  EXPECT_EQ(canonical("min(i0, i0 + 1)"), "i0");
  EXPECT_EQ(canonical("max(KH, KH)"), "KH");
  EXPECT_EQ(canonical("min(i0, max(i0, KH))"), "min(i0, max(i0, KH))");
}

TEST(ExprParse, CollectsConstraints) {
  const ParsedExpr one = parse_expr("dA3[=dB3]");
  EXPECT_EQ(one.expr, Expr::size("dA3"));
  EXPECT_EQ(one.constraints, (std::vector<Constraint>{{Expr::size("dA3"), Expr::size("dB3")}}));
  const ParsedExpr two = parse_expr("2*(dA1 + 1)[=KH] - dA3[= dB3*2 ]");
  EXPECT_EQ(two.expr.to_string(), "2*dA1 - dA3 + 2");
  ASSERT_EQ(two.constraints.size(), 2U);
  EXPECT_EQ(two.constraints[0], (Constraint{parse("dA1 + 1"), parse("KH")}));
  EXPECT_EQ(two.constraints[1], (Constraint{parse("dA3"), parse("2*dB3")}));
}

TEST(ExprParse, TellsKindsOfNamesApart) {
  EXPECT_EQ(parse("i12").as_symbol(), Symbol(SymbolKind::loop, "i12"));
  EXPECT_EQ(parse("i").as_symbol(), Symbol(SymbolKind::size, "i"));
  EXPECT_EQ(parse("i1x").as_symbol(), Symbol(SymbolKind::size, "i1x"));
  EXPECT_EQ(parse("$i1").as_symbol(), Symbol(SymbolKind::param, "i1"));
  EXPECT_EQ(parse("min + max").to_string(), "max + min");
  EXPECT_EQ(parse("-i0 + 3"), Expr(3) - Expr::loop(0));
  EXPECT_EQ(parse("- - -3"), Expr(-3));
  EXPECT_EQ(parse("8 - 4 - 2"), Expr(2));
  EXPECT_EQ(parse("64/8/2"), Expr(4));
  EXPECT_EQ(parse("-9223372036854775808"), Expr(std::numeric_limits<std::int64_t>::min()));
}

TEST(ExprParse, SaysWhereTextIsWrong) {
  EXPECT_EQ(error_of(""),
            "index text: line 1, column 1: expected a number, a name or '(', got the end");
  EXPECT_EQ(error_of("(i0 x)"), "index text: line 1, column 5: expected ')', got 'x'");
  EXPECT_EQ(error_of("(i0 + 1"), "index text: line 1, column 8: expected ')', got the end");
  EXPECT_EQ(error_of("i0 +\n  * 2"),
            "index text: line 2, column 3: expected a number, a name or '(', got '*'");
  EXPECT_EQ(error_of("i0 i1"),
            "index text: line 1, column 4: expected an operator or the end, got 'i1'");
  EXPECT_EQ(error_of("i0 + $", 7, 10),
            "index text: line 7, column 16: expected a name after '$', got the end");
  EXPECT_EQ(error_of("3x"),
            "index text: line 1, column 2: expected an operator after a number, got 'x'");
  EXPECT_EQ(
      error_of("max(KH)"),
      "index text: line 1, column 7: expected ',' (max takes two or more arguments), got ')'");
  EXPECT_EQ(error_of("sqrt(i0)"),
            "index text: line 1, column 1: unknown function 'sqrt', known are min and max");
  EXPECT_EQ(error_of("dA3[i0]"), "index text: line 1, column 5: expected '=', got 'i0'");
  EXPECT_EQ(error_of("dA3[=dB3"), "index text: line 1, column 9: expected ']', got the end");
  EXPECT_EQ(error_of("i0[=dB3]"),
            "index text: line 1, column 3: expected an operator or the end, got '['");
  EXPECT_EQ(error_of("i0 @ 1"),
            "index text: line 1, column 4: expected an operator or the end, got '@'");
  EXPECT_EQ(error_of("\xc3\xa9"),
            "index text: line 1, column 1: expected a number, a name or '(', got the byte 0xc3");
}

TEST(ExprParse, SaysWhereArithmeticFails) {
  EXPECT_EQ(error_of("1 + i0/0"), "index text: line 1, column 7: division of i0 by the constant 0");
  EXPECT_EQ(error_of("i0 % (KH - KH)"),
            "index text: line 1, column 4: remainder of i0 by the constant 0");
  EXPECT_EQ(error_of("9223372036854775808"),
            "index text: line 1, column 1: 9223372036854775808 does not fit in 64 bits");
  EXPECT_EQ(error_of("9223372036854775807*i0*3"),
            "index text: line 1, column 23: 9223372036854775807 * 3 does not fit in 64 bits");
  EXPECT_EQ(error_of("9223372036854775807 + 1"),
            "index text: line 1, column 1: 9223372036854775807 + 1 does not fit in 64 bits");
}

TEST(ExprParse, RefusesWhatIsTooLarge) {
  const std::string deep(772, '(');
  EXPECT_EQ(error_of(deep + "i0"), "index text: line 1, column 772: nested deeper than 771");
  EXPECT_EQ(error_of(std::string(772, '-') + "i0"),
            "index text: line 1, column 772: nested deeper than 771");
  EXPECT_EQ(parse(std::string(770, '(') + "i0" + std::string(770, ')')), Expr::loop(0));
  EXPECT_EQ(error_of(std::string((1U << 26U) + 1, ' ')),
            "index text: line 1, column 1: longer than 67108864 characters");
  std::string sum = "a0";
  for (int i = 1; i <= 4096; ++i) sum += " + a" + std::to_string(i);
  EXPECT_EQ(error_of(sum), "index text: line 1, column 1: more than 4096 terms");
  std::string product = "a";
  for (int i = 0; i < 64; ++i) product += "*a";
  EXPECT_EQ(error_of(product), "index text: line 1, column 128: a product of more than 64 factors");
  std::string squares = "(a0 + b0)";
  for (int i = 1; i < 13; ++i) {
    squares += "*(a" + std::to_string(i) + " + b" + std::to_string(i) + ")";
  }
  EXPECT_NE(error_of(squares).find("more than 4096 terms"), std::string::npos);
}

TEST(ExprParse, ReadsTheDeepestExpressionBack) {
  Expr e = Expr::loop(0);
  int levels = 0;
  const std::string error = error_from([&] {
    for (;; ++levels) e = Expr::size("C") * -(e / Expr::size("KH" + std::to_string(levels % 2)));
  });
  EXPECT_EQ(error, "index expression: nested deeper than 256");
  EXPECT_GT(levels, 250);
  EXPECT_EQ(parse(e.to_string()), e);
}

TEST(ExprParse, ReadsALongExpressionBack) {
  const std::string name(60, 'a');
  Expr e = 1;
  for (int i = 0; i < 12; ++i) {
    e = e * (Expr::size(name + std::to_string(i)) + Expr::param(name + std::to_string(i)));
  }
  const std::string text = e.to_string();
  EXPECT_GT(text.size(), 3000000U);
  EXPECT_EQ(parse(text), e);
}

TEST(Expr, RefusesEndlessNesting) {
  Expr e = Expr::loop(0);
  EXPECT_EQ(error_from([&] {
              for (int i = 0; i < 1000; ++i) e = (e + 1) / Expr::size("KH");
            }),
            "index expression: nested deeper than 256");
  Expr wide = Expr::loop(0);
  EXPECT_EQ(error_from([&] {
              for (int i = 0; i < 40; ++i) wide = wide / Expr::size("KH") + wide % Expr::size("KW");
            }),
            "index expression: too large");
}

TEST(Expr, AnswersQuestions) {
  const Expr e = parse("i1*$stride + dA0/KH - 4");
  EXPECT_TRUE(e.mentions(Symbol(SymbolKind::size, "KH")));
  EXPECT_FALSE(e.mentions(Symbol(SymbolKind::size, "KW")));
  EXPECT_EQ(e.symbols().size(), 4U);
  EXPECT_FALSE(e.has_load());
  EXPECT_TRUE((e / (load("x", {e}) + 1)).has_load());
  EXPECT_EQ(Expr(5).constant(), 5);
  EXPECT_EQ(Expr().constant(), 0);
  EXPECT_EQ(e.constant(), std::nullopt);
  EXPECT_EQ(e.as_atom(), nullptr);
  EXPECT_EQ(parse("i0/KH").as_atom()->kind, Atom::Kind::div);
  EXPECT_EQ(parse("2*KH").as_symbol(), std::nullopt);
}

TEST(Expr, SubstitutesAllAtOnceAndInsideLoads) {
  const Symbol i0(SymbolKind::loop, "i0"), i1(SymbolKind::loop, "i1");
  EXPECT_EQ(parse("i0 - 2*i1").substitute({{i0, i1}, {i1, i0}}), parse("i1 - 2*i0"));
  EXPECT_EQ(load("x", {parse("i0 + 1")}).substitute({{i0, 4}}).to_string(), "x[5]");
  EXPECT_EQ(parse("min(i0, KH)/4").substitute({{i0, parse("KH + 1")}}), parse("KH/4"));
}

TEST(Expr, FindsLinearForms) {
  const Symbol v(SymbolKind::loop, "i0");
  const auto linear = linear_in(parse("3*i0*KH - i0 + i1/KH"), v);
  ASSERT_TRUE(linear);
  EXPECT_EQ(linear->factor, parse("3*KH - 1"));
  EXPECT_EQ(linear->rest, parse("i1/KH"));
  EXPECT_EQ(linear_in(parse("KH"), v)->factor, Expr(0));
  EXPECT_FALSE(linear_in(parse("i0*i0"), v));
  EXPECT_FALSE(linear_in(parse("i0 + i0/KH"), v));
}

TEST(Expr, Splits) {
  const Split split = split_by(parse("6*i0*KH + i1 + KH"), parse("KH"));
  EXPECT_EQ(split.quotient, parse("6*i0 + 1"));
  EXPECT_EQ(split.remainder, parse("i1"));
  const Split constant = split_by(parse("6*i0 + i1 - 7"), -3);
  EXPECT_EQ(constant.quotient, parse("3 - 2*i0"));
  EXPECT_EQ(constant.remainder, parse("i1 + 2"));
}

TEST(ExprEvaluate, FindsDivisionByZeroAndOverflow) {
  const Symbol i0(SymbolKind::loop, "i0"), kh(SymbolKind::size, "KH");
  EXPECT_EQ(evaluate(parse("i0/KH"), {{i0, -7}, {kh, 2}}), -4);
  EXPECT_EQ(evaluate(parse("i0%KH"), {{i0, 7}, {kh, -2}}), -1);
  EXPECT_EQ(error_from([&] {
              evaluate(parse("i0/KH"), {{i0, 1}, {kh, 0}});
            }),
            "index expression: division by zero in i0/KH");
  EXPECT_EQ(error_from([&] {
              evaluate(parse("i0*KH"), {{i0, 1LL << 40}, {kh, 1LL << 40}});
            }),
            "index expression: 1099511627776 * 1099511627776 does not fit in 64 bits");
  const std::int64_t least = std::numeric_limits<std::int64_t>::min();
  EXPECT_NE(error_from([&] { evaluate(parse("i0/KH"), {{i0, least}, {kh, -1}}); }), "no error");
  EXPECT_EQ(evaluate(parse("i0%KH"), {{i0, least}, {kh, -1}}), 0);
  EXPECT_EQ(error_from([&] { evaluate(parse("i0"), std::map<Symbol, std::int64_t>{}); }),
            "index expression: no value for i0");
  EXPECT_EQ(error_from([&] { evaluate(load("x", {0}), std::map<Symbol, std::int64_t>{}); }),
            "index expression: no values for the elements of x");
}

}  // namespace
}  // namespace mote
