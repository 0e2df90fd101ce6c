// SPDX-License-Identifier: Apache-2.0
// Tests make_program and bind: unification of sizes, size rules, checks and their texts.
#include "mote/uops/program.h"

#include <gtest/gtest.h>

#include "caught.h"

namespace mote {
namespace {

using test::error_of;
using Shapes = std::vector<std::vector<std::int64_t>>;

Program matmul(const Shape& a_shape, const Shape& b_shape, const Shape& shape,
               const std::vector<Constraint>& constraints = {}) {
  const Uop a = input("a", DType::f32, a_shape);
  const Uop b = input("b", DType::f32, b_shape);
  const Uop product = reindex(a, shape, {"i0", "i2"}) * reindex(b, shape, {"i2", "i1"});
  return make_program({"matmul", "", {}, {a, b}, {{"y", sum_over(product, {2})}}, {}, constraints});
}

const char* kConv = R"(op conv2d
  param stride_h int = 1 in 1..
  param pad_top int = 0
  param pad_bottom int = 0
  param groups int = 1 in 1..
  input x f32[N, ci: $groups*CG, H, W]
  input w f32[co: $groups*CO, CG, KH, KW]
  size OH = (H + $pad_top + $pad_bottom - (KH - 1) - 1)/$stride_h + 1
  size OW = W - KW + 1
  xw = x[i0, i1*CG + i5, i3*$stride_h + i6 - $pad_top, i4 + i7
         over N, g: $groups, cc: CO, OH, OW, CG, KH, KW]
  ww = w[i1*CO + i2, i5, i6, i7 over N, g: $groups, cc: CO, OH, OW, CG, KH, KW]
  s = sum[5, 6, 7](xw*ww)
  output y = s[i0, i1/CO, i1%CO, i2, i3 over N, co: $groups*CO, OH, OW])";

Binding bound(const Program& p, const Shapes& shapes,
              const std::map<std::string, Number>& params = {}) {
  return mote::bind(p, shapes, params);
}
std::string bind_error(const Program& p, const Shapes& shapes,
                       const std::map<std::string, Number>& params = {}) {
  return error_of([&] { bound(p, shapes, params); });
}

TEST(Program, EqualSizesWrittenDifferentlyGiveEqualPrograms) {
  const Program plain = matmul({"M", "K"}, {"K", "N"}, {"M", "N", "K"});
  const Program stated = matmul({"M", "K"}, {"L", "N"}, {"da0", "db1", "da1[=db0]"});
  const Program required =
      matmul({"M", "K"}, {"L", "N"}, {"M", "N", "L"}, {{Expr::size("K"), Expr::size("L")}});
  EXPECT_TRUE(equal(plain, stated));
  EXPECT_TRUE(equal(plain, required));
  EXPECT_EQ(to_string(plain), to_string(stated));
  EXPECT_FALSE(equal(plain, matmul({"M", "K"}, {"K", "N"}, {"M", "N", "K + 1"})));
}

TEST(Program, DefaultSizesUnifyToo) {
  const Uop a = input("a", DType::f32, 2);
  const Uop b = input("b", DType::f32, 2);
  const Uop product = reindex(a, {"da0", "db1", "da1[=db0]"}, {"i0", "i2"}) *
                      reindex(b, {"da0", "db1", "db0"}, {"i2", "i1"});
  const Program p = make_program({"mm", "", {}, {a, b}, {{"y", sum_over(product, {2})}}, {}, {}});
  EXPECT_EQ(p.inputs[1].shape()[0], Expr::size("da1"));
  EXPECT_TRUE(p.constraints.empty());
  EXPECT_EQ(p.size_rules.size(), 3U);
}

TEST(Program, MapArgumentsUnify) {
  const Uop a = input("a", DType::f32, {"N"});
  const Uop b = input("b", DType::f32, {"M"});
  const Program p = make_program({"add", "", {}, {a, b}, {{"y", a + b}}, {}, {}});
  EXPECT_EQ(p.inputs[1].shape()[0], Expr::size("N"));
  EXPECT_EQ(p.inputs[1].node().axis_names[0], "n");
  EXPECT_EQ(bind_error(p, {{3}, {4}}), "add: axis 0 of b must be N = 3, got 4 (a [3], b [4])");
}

TEST(Program, ContradictionsNameUopAxisAndSizes) {
  const Uop a = input("a", DType::f32, {"N", "3"});
  const Uop b = input("b", DType::f32, {"N", "K"});
  EXPECT_EQ(error_of([&] {
              make_program({"bad", "", {}, {a, b}, {{"y", a + b}}, {}, {{Expr::size("K"), 5}}});
            }),
            "bad: Map add: axis 1: sizes 3 and K = 5 differ");
  const Uop c = input("c", DType::f32, {"N + 1", "3"});
  EXPECT_EQ(error_of([&] {
              make_program({"bad", "", {}, {a, c}, {{"y", a * c}}, {}, {}});
            }),
            "bad: Map mul: axis 0: sizes N and N + 1 differ");
}

TEST(Program, WhatCannotBeSolvedIsCheckedAtRunTime) {
  const Program p = parse_program(R"(op same
    input a f32[A*B]
    input b f32[C*D]
    input s f32[A, B, C, D]
    output y = a + b)");
  ASSERT_EQ(p.constraints.size(), 1U);
  EXPECT_EQ(bound(p, {{6}, {6}, {2, 3, 1, 6}}).outputs, (Shapes{{6}}));
  EXPECT_EQ(bind_error(p, {{6}, {4}, {2, 3, 2, 2}}),
            "same: A*B must equal C*D, got 6 and 4 (a [6], b [4], s [2,3,2,2])");
}

TEST(Program, MergesEqualNodes) {
  const Uop x = input("x", DType::f32, {"N"});
  const Program p = make_program({"twice", "", {}, {x}, {{"y", exp(x) + exp(x)}}, {}, {}});
  const auto& add = std::get<uop::Map>(p.outputs[0].value.node().kind);
  EXPECT_EQ(add.args[0].id(), add.args[1].id());
}

TEST(Program, NamedSizesAreReplacedByTheirValues) {
  const Program p = parse_program(kConv);
  EXPECT_EQ(p.sizes[1].value, Expr::size("W") - Expr::size("KW") + 1);
  EXPECT_EQ(p.outputs[0].value.shape()[3], p.sizes[1].value);
  EXPECT_EQ(p.size_rules.size(), 7U);
}

TEST(Program, SizesMustFollowFromTheInputs) {
  const Uop x = input("x", DType::f32, {"N"});
  EXPECT_EQ(error_of([&] {
              make_program({"p", "", {}, {x}, {{"y", reindex(x, {"Q"}, {"i0"})}}, {}, {}});
            }),
            "p: size Q does not follow from the inputs (x f32[N])");
  EXPECT_EQ(error_of([&] {
              make_program({"p", "", {}, {x}, {{"y", x}}, {{"A", Expr::size("A") + 1}}, {}});
            }),
            "p: size A: A is defined by itself: A + 1");
}

TEST(Program, ChecksNamesAndParameters) {
  const Uop x = input("x", DType::f32, {"N"});
  const auto made = [&](ProgramSpec spec) { return error_of([&] { make_program(spec); }); };
  EXPECT_EQ(made({"p", "", {}, {x}, {{"x", x}}, {}, {}}), "p: output 'x': the name is taken");
  EXPECT_EQ(made({"p", "", {}, {x}, {{"max", x}}, {}, {}}),
            "p: output 'max': the name is a word of the program text");
  EXPECT_EQ(made({"p", "", {}, {x}, {}, {}, {}}), "p: there is no output");
  EXPECT_EQ(made({"", "", {}, {x}, {{"y", x}}, {}, {}}),
            "the name of a program '' must be letters, digits, _ and .");
  EXPECT_EQ(made({"p", "", {}, {}, {{"y", x}}, {}, {}}),
            "p: Input x f32[N] is not among the inputs");
  const Uop other = input("x", DType::f32, {"M"});
  EXPECT_EQ(made({"p", "", {}, {other}, {{"y", x}}, {}, {}}),
            "p: input x is declared as f32[M] but used as f32[N]");
  EXPECT_EQ(made({"p", "", {}, {x}, {{"y", reindex(x, {"N"}, {"i0 - $pad"})}}, {}, {}}),
            "p: Reindex: unknown parameter $pad");
  const ParamDecl eps{"eps", false, 1e-5, {}, {}, ""};
  EXPECT_EQ(made({"p", "", {eps}, {x}, {{"y", reindex(x, {"$eps"}, {"i0"})}}, {}, {}}),
            "p: Reindex: $eps is real, indices and sizes need an integer");
  EXPECT_EQ(
      made({"p", "", {eps}, {x}, {{"y", cast(x, DType::i32) + param("eps", DType::i32)}}, {}, {}}),
      "p: parameter $eps is real, it cannot be used as i32");
}

TEST(Bind, GroupsDivideTheChannels) {
  const Program p = parse_program(kConv);
  EXPECT_EQ(bound(p, {{1, 4, 5, 5}, {6, 2, 3, 3}}, {{"groups", 2}}).outputs,
            (Shapes{{1, 6, 3, 3}}));
  EXPECT_EQ(bind_error(p, {{1, 4, 4, 5}, {2, 3, 2, 2}}),
            "conv2d: axis 1 of w must be CG = 4, got 3 (x [1,4,4,5], w [2,3,2,2])");
  EXPECT_EQ(bind_error(p, {{1, 4, 4, 5}, {2, 3, 2, 2}}, {{"groups", 3}}),
            "conv2d: axis 1 of x must be a multiple of $groups = 3, got 4 (x [1,4,4,5], w "
            "[2,3,2,2])");
}

TEST(Bind, ExtentsMayBeZeroButNotNegative) {
  const Program p = parse_program(kConv);
  EXPECT_EQ(bound(p, {{1, 1, 3, 3}, {1, 1, 4, 3}}).outputs, (Shapes{{1, 1, 0, 1}}));
  EXPECT_EQ(bind_error(p, {{1, 1, 3, 3}, {1, 1, 3, 5}}),
            "conv2d: axis 3 of output y: OW = W - KW + 1 = -1, expected >= 0 (x [1,1,3,3], w "
            "[1,1,3,5])");
}

TEST(Bind, ChecksParameters) {
  const Program p = parse_program(kConv);
  const Shapes shapes = {{1, 1, 4, 4}, {1, 1, 3, 3}};
  EXPECT_EQ(bind_error(p, shapes, {{"stride_h", 0}}),
            "conv2d: parameter 'stride_h' must be in 1.., got 0 (x [1,1,4,4], w [1,1,3,3])");
  EXPECT_EQ(bind_error(p, shapes, {{"stride_h", 1.5}}),
            "conv2d: parameter 'stride_h': 1.5 is not a value of i64");
  EXPECT_EQ(bind_error(p, shapes, {{"stride", 1}}),
            "conv2d: unknown parameter 'stride' (known: stride_h, pad_top, pad_bottom, groups) (x "
            "[1,1,4,4], w [1,1,3,3])");
  const Program q =
      parse_program("op q\nparam k int\ninput x f32[N]\noutput y = x[i0 + $k over N]");
  EXPECT_EQ(bind_error(q, {{3}}), "q: parameter 'k' is missing and has no default (x [3])");
  EXPECT_EQ(bound(q, {{3}}, {{"k", 2.0}}).params.at("k").integer(), 2);
}

TEST(Bind, ChecksRanks) {
  const Program p = parse_program(kConv);
  EXPECT_EQ(bind_error(p, {{1, 1, 4, 4}}), "conv2d: 2 inputs expected (x, w), got 1");
  EXPECT_EQ(
      bind_error(p, {{1, 4, 4}, {1, 1, 3, 3}}),
      "conv2d: x must have rank 4 [N, CG*$groups, H, W], got rank 3 (x [1,4,4], w [1,1,3,3])");
}

TEST(Bind, BroadcastAxesRepeatOnBothSides) {
  const Program p = parse_program(
      "op add\ninput a f32[1|A, 1|B]\ninput b f32[1|C, 1|D]\n"
      "output y = a + b");
  EXPECT_EQ(bound(p, {{3, 1}, {1, 4}}).outputs, (Shapes{{3, 4}}));
  EXPECT_EQ(bound(p, {{3, 1}, {4}}).outputs, (Shapes{{3, 4}}));
  EXPECT_EQ(bound(p, {{}, {0, 2}}).outputs, (Shapes{{0, 2}}));
  EXPECT_EQ(bound(p, {{3, 1}, {4}}).inputs, (Shapes{{3, 4}, {3, 4}}));
  EXPECT_EQ(bind_error(p, {{3, 2}, {3, 4}}),
            "add: axis 1 of b must be 1 or B = 2, got 4 (a [3,2], b [3,4])");
}

TEST(Bind, APlainAxisDecidesOverBroadcastOnes) {
  const Program p = parse_program("op add\ninput a f32[1|A]\ninput b f32[B]\noutput y = a + b");
  EXPECT_EQ(bound(p, {{1}, {4}}).outputs, (Shapes{{4}}));
  EXPECT_EQ(bind_error(p, {{4}, {1}}), "add: axis 0 of a must be 1 or A = 1, got 4 (a [4], b [1])");
}

TEST(Bind, SizesWithFactorsOfOtherSizes) {
  const Program p = parse_program(
      "op split\ninput x f32[A*B]\ninput s f32[A]\n"
      "output y = x[i0*B + i1 over A, B]");
  EXPECT_EQ(bound(p, {{6}, {2}}).outputs, (Shapes{{2, 3}}));
  EXPECT_EQ(bind_error(p, {{6}, {4}}),
            "split: axis 0 of x must be a multiple of A = 4, got 6 (x [6], s [4])");
  EXPECT_EQ(bind_error(p, {{0}, {0}}),
            "split: axis 0 of x: B cannot be known while A is 0 (x [0], s [0])");
}

TEST(Bind, RefusesEmptyArgmaxAndOverflow) {
  const Program p = parse_program("op am\ninput x f32[R, C]\noutput y = argmax[1](x)");
  EXPECT_EQ(bound(p, {{0, 2}}).outputs, (Shapes{{0}}));
  EXPECT_EQ(bind_error(p, {{2, 0}}),
            "am: Reduce argmax over nothing: axis 1 of its argument is C = 0 (x [2,0])");
  const std::int64_t big = std::int64_t{1} << 40;
  EXPECT_EQ(bind_error(p, {{big, big}}),
            "am: input x: shape [1099511627776,1099511627776] has more than 2^63 elements (x "
            "[1099511627776,1099511627776])");
}

}  // namespace
}  // namespace mote
