// SPDX-License-Identifier: Apache-2.0
// Tests which cases must be exact and which must not be judged, decided from the program, sizes and
// data alone.
#include "mote/oracle/exactness.h"

#include <gtest/gtest.h>

#include "mote/oracle/case.h"

namespace mote {
namespace {

Judgement judgement(const std::string& text) {
  const Case c = parse_case(text);
  return judge(*c.program, c.binding, c.fill.kind);
}

void expect_judged(const std::string& text, std::int64_t radius) {
  const Judgement j = judgement(text);
  EXPECT_TRUE(j.judged) << text << ": " << j.reason;
  EXPECT_EQ(j.radius, radius) << text;
}

void expect_not_judged(const std::string& text, const std::string& reason) {
  const Judgement j = judgement(text);
  EXPECT_FALSE(j.judged) << text;
  EXPECT_NE(j.reason.find(reason), std::string::npos) << text << ": " << j.reason;
}

TEST(Exactness, SumsOfProductsAreExactWhileTheyFitTheMantissa) {
  expect_judged("gemm a=f32[1,7] b=f32[7,1] fill=integer:1", 9);
  expect_judged("gemm a=f32[1,1000000] b=f32[1000000,1] fill=integer:1", 3);
  expect_judged("gemm a=f32[1,4194304] b=f32[4194304,1] fill=integer:1", 2);
  expect_judged("gemm a=f32[1,16777216] b=f32[16777216,1] fill=integer:1", 1);
  expect_not_judged("gemm a=f32[1,16777217] b=f32[16777217,1] fill=integer:1", "f32 has 24");
  expect_judged("gemm a=f64[1,16777217] b=f64[16777217,1] fill=integer:1", 9);
}

TEST(Exactness, AShiftedWordHasTheBitsThatAreLeft) {
  expect_judged("uniform x=f32[1,1,1,9] fill=integer:1", 9);
  expect_judged("uniform x=f32[1,1,1,9] low=0 high=2 fill=integer:1", 9);
  expect_not_judged("uniform x=f32[1,1,1,9] low=-2 high=1 fill=integer:1", "f32 has 24");
  expect_judged("dropout x=f32[1,1,1,9] training=1 ratio=0.5 fill=integer:1", 9);
  expect_not_judged("dropout x=f32[1,1,1,9] training=1 ratio=0.25 fill=integer:1", "div");
}

TEST(Exactness, ParametersCountWithTheBitsThatTheyHave) {
  expect_judged("gemm a=f32[1,7] b=f32[7,1] alpha=0.5 fill=integer:1", 9);
  expect_judged("gemm a=f32[1,7] b=f32[7,1] alpha=-2 fill=integer:1", 9);
  expect_judged("gemm a=f32[1,7] b=f32[7,1] alpha=0 fill=integer:1", 9);
  expect_not_judged("gemm a=f32[1,7] b=f32[7,1] alpha=0.1 fill=integer:1", "0.1 is not an f32");
  for (const char* value : {"nan", "inf", "-inf"}) {
    const std::string text =
        std::string("gemm a=f32[1,7] b=f32[7,1] fill=integer:1 alpha=") + value;
    expect_not_judged(text, std::string("Map mul of the constant ") + value);
  }
  expect_not_judged("gemm a=f64[1,7] b=f64[7,1] alpha=0.1 fill=integer:1", "f64 has 53");
  expect_judged("gemm a=f32[1,4194304] b=f32[4194304,1] alpha=0.5 fill=integer:1", 2);
  // c is then a multiple of 1/2, as are the products: the sum needs one bit more.
  expect_not_judged("gemm a=f32[1,16777216] b=f32[16777216,1] c=f32[1,1] beta=0.5 fill=integer:1",
                    "f32 has 24");
}

TEST(Exactness, DataWithAFullMantissaMayOnlyBeMoved) {
  expect_not_judged("gemm a=f32[1,7] b=f32[7,1] fill=uniform:1", "full mantissa");
  expect_not_judged("add a=f32[3] b=f32[3] fill=uniform:1", "full mantissa");
  for (const char* text :
       {"transpose x=f32[1,2,3]", "max_pool2d x=f32[1,1,4,4] kernel=2,2", "neg x=f64[1,1,2,3]",
        "abs x=f32[1,1,2,3]", "max a=f32[3] b=f32[3]", "reduce_min x=f32[2,3,4]",
        "argmax x=f32[2,3,4]", "sign x=f32[1,1,2,3]", "less a=f32[3] b=f32[3]",
        "floor x=f32[1,1,2,3]", "isnan x=f32[1,1,2,3]"}) {
    expect_judged(std::string(text) + " fill=uniform:1", 1);
  }
}

TEST(Exactness, DivisionAndFunctionsAreNotJudged) {
  expect_not_judged("softmax x=f32[2,3,4] fill=integer:1", "exp");
  expect_not_judged("div a=f32[3] b=f32[3] fill=integer:1", "div");
  expect_not_judged("sqrt x=f32[1,1,2,3] fill=integer:1", "sqrt");
  expect_not_judged("layer_norm x=f32[2,4] fill=integer:1", "");
  expect_not_judged("exp x=f64[1,1,2,3] fill=onehot:1", "exp");
}

TEST(Exactness, AMeanOverAPowerOfTwoIsExact) {
  expect_judged("mean x=f32[2,8,3] fill=integer:1", 9);
  expect_not_judged("mean x=f32[2,7,3] fill=integer:1", "div");
}

TEST(Exactness, ProductsGrowWithTheirCount) {
  expect_judged("prod x=f32[2,7,3] fill=integer:1", 9);  // 9^7 < 2^24
  expect_judged("prod x=f32[2,8,3] fill=integer:1", 3);  // 9^8 > 2^24
  expect_judged("prod x=f32[2,24,3] fill=integer:1", 2);
  expect_judged("prod x=f32[2,5000,3] fill=integer:1", 1);
  expect_judged("prod x=f32[2,0,3] fill=integer:1", 9);
}

TEST(Exactness, IntegersAlwaysAgree) {
  for (const char* op : {"add", "mul", "div", "mod", "pow"}) {
    expect_judged(std::string(op) + " a=i32[3] b=i32[3] fill=uniform:1", 1);
  }
  expect_judged("gemm a=i64[1,99999999] b=i64[99999999,1] fill=integer:1", 9);
  expect_judged("mean x=i32[2,7,3] fill=integer:1", 9);
}

TEST(Exactness, IndexFillsUseTheGreatestRadiusThatFits) {
  expect_judged("transpose x=f32[1,2,3] fill=index:1", 1'000'000);
  expect_judged("gemm a=f32[1,1] b=f32[1,1] fill=index:1", 1000);
  expect_judged("gemm a=f32[1,100] b=f32[100,1] fill=onehot:1", 31);
}

TEST(Exactness, WorkIsTheLargestOperandOfAReduction) {
  const auto work = [](const std::string& text) {
    const Case c = parse_case(text);
    return multiply_adds(*c.program, c.binding);
  };
  EXPECT_EQ(work("gemm a=f32[2,3] b=f32[3,5] c=f32[2,5]"), 30);
  EXPECT_EQ(work("conv2d x=f32[1,4,5,5] w=f32[6,2,3,3] groups=2"), 6 * 9 * 2 * 9);
  EXPECT_EQ(work("add a=f32[4,1] b=f32[3]"), 12);
}

}  // namespace
}  // namespace mote
