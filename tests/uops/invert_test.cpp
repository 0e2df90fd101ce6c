// SPDX-License-Identifier: Apache-2.0
// Tests invert: scatters that become a gather, scatters that stay, and that both are equal on exact
// data.
#include "mote/uops/invert.h"

#include <gtest/gtest.h>

#include "caught.h"
#include "golden.h"
#include "gradient_check.h"
#include "gradient_programs.h"

namespace mote {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

int scatters(const Program& p) {
  const std::vector<Uop> roots = mote::roots(p);
  int count = 0;
  for (const Uop& u : topological(roots))
    count += int{std::holds_alternative<uop::Scatter>(u.node().kind) ||
                 std::holds_alternative<uop::SelectScatter>(u.node().kind)};
  return count;
}

Array whole_eighths(const std::vector<std::int64_t>& shape, std::uint64_t seed) {
  Array a = random_array(DType::f64, shape, seed);
  for (Number& n : a.values) n = Number(std::floor(n.real() * 8));
  return a;
}

struct Case {
  const char* body;  ///< the body of a program with inputs b and x and the output y
  std::vector<std::int64_t> b, x;
  std::map<std::string, Number> params = {};
};

void expect_same(const Program& p, const Program& q, const Case& c) {
  const std::vector<Array> in = {whole_eighths(c.b, 1), whole_eighths(c.x, 2)};
  EXPECT_EQ(evaluate(q, in, c.params), evaluate(p, in, c.params)) << c.body << "\n" << to_string(q);
}

const char* const kHead = R"(op p
  param s int = 1 in 1..
  param d int = 1 in 1..
  param o int = 0
)";

TEST(Invert, SolvesWhatNetworksWriteTo) {
  const Case cases[] = {
      {"input b f64[N, M]\ninput x f64[M, N]\noutput y = scatter[add](b, x to i1, i0)",
       {3, 2},
       {2, 3}},
      {"input b f64[N]\ninput x f64[M]\noutput y = scatter[add](b, x to i0 - 2)", {3}, {6}},
      {"input b f64[N]\ninput x f64[M]\noutput y = scatter[add](b, x to 3 - i0)", {3}, {6}},
      {"input b f64[N]\ninput x f64[M]\noutput y = scatter[add](b, x to 2*i0 + 1)", {7}, {5}},
      {"input b f64[N]\ninput x f64[M]\noutput y = scatter[add](b, x to 5 - 3*i0)", {7}, {5}},
      {"input b f64[N]\ninput x f64[M, K]\noutput y = scatter[add](b, x to i0*$s + i1*$d - $o)",
       {7},
       {4, 3},
       {{"s", 2}, {"d", 3}, {"o", 2}}},
      {"input b f64[N]\ninput x f64[M, K]\noutput y = scatter[add](b, x to i0*$s + i1*$d - $o)",
       {7},
       {4, 3},
       {{"s", 3}, {"d", 2}, {"o", -1}}},
      {"input b f64[N*M]\ninput x f64[N, M]\noutput y = scatter[add](b, x to i0*M + i1)",
       {6},
       {2, 3}},
      {"input b f64[A*B*C]\ninput x f64[A, B, C]\ninput z f64[A, B]\n"
       "output y = scatter[add](b, x to i0*B*C + i1*C + i2)",
       {24},
       {2, 3, 4}},
      {"input b f64[N, M]\ninput x f64[N*M]\noutput y = scatter[add](b, x to i0/M, i0%M)",
       {2, 3},
       {6}},
      {"input b f64[N, M]\ninput x f64[N*M]\noutput y = scatter[add](b, x to i0/2, i0%2)",
       {2, 3},
       {6}},
      {"input b f64[N, M]\ninput x f64[N*M]\noutput y = scatter[add](b, x to i0/2, i0%2)",
       {4, 1},
       {4}},
      {"input b f64[A, B, C]\ninput x f64[A*B*C]\ninput z f64[A, B]\n"
       "output y = scatter[add](b, x to i0/C/B, i0/C%B, i0%C)",
       {2, 3, 4},
       {24}},
      {"input b f64[N]\ninput x f64[K]\noutput y = scatter[add](b, x to i0/2)", {3}, {7}},
      {"input b f64[N]\ninput x f64[K]\noutput y = scatter[add](b, x to (i0 + 1)/3)", {3}, {7}},
      {"input b f64[N]\ninput x f64[3*N]\noutput y = scatter[add](b, x to i0%N)", {3}, {9}},
      {"input b f64[N]\ninput x f64[K]\noutput y = scatter[add](b, x to i0%4)", {6}, {10}},
      {"input b f64[N, N]\ninput x f64[N]\noutput y = scatter[add](b, x to i0, i0)", {3, 3}, {3}},
      {"input b f64[N, K]\ninput x f64[N]\noutput y = scatter[add](b, x to i0, 1)", {3, 2}, {3}},
      {"input b f64[N]\ninput x f64[N, M]\noutput y = scatter[add](b, x to i0)", {3}, {3, 2}},
      {"input b f64[K]\ninput x f64[N, M]\noutput y = scatter[add](b, x to 1)", {3}, {3, 2}},
      {"input b f64[N, K]\ninput x f64[M, 2]\noutput y = scatter[add](b, x to i0/K*2 + i1, i0%K)",
       {5, 2},
       {5, 2}},
      // The windows overlap: i1 is no digit.
      {"input b f64[N]\ninput x f64[M, 3]\noutput y = scatter[add](b, x to i0*2 + i1)",
       {7},
       {3, 3}},
      // K may be 0 if b has elements: no rule may divide by it.
      {"input b f64[N]\ninput x f64[M, K]\noutput y = scatter[add](b, x to i0*K + i1)",
       {5},
       {2, 3}},
      {"input b f64[N]\ninput x f64[M, K]\noutput y = scatter[add](b, x to i0*K + i1)",
       {5},
       {2, 0}},
      {"input b f64[N]\ninput x f64[0]\noutput y = scatter[add](b, x to i0)", {3}, {0}},
  };
  for (const Case& c : cases) {
    std::string text = kHead + std::string(c.body);
    const std::size_t z =
        text.find("input z");  // it declares sizes that cannot be solved from products of them
    Case full = c;
    const Program p = parse_program(text);
    const Program q = invert(p);
    EXPECT_EQ(scatters(p), 1) << c.body;
    EXPECT_EQ(scatters(q), 0) << c.body;
    if (z == std::string::npos) {
      expect_same(p, q, full);
    } else {
      const std::vector<Array> in = {whole_eighths(c.b, 1), whole_eighths(c.x, 2),
                                     whole_eighths({2, 3}, 3)};
      EXPECT_EQ(evaluate(q, in, {}), evaluate(p, in, {})) << to_string(q);
    }
  }
}

TEST(Invert, DigitsOfARowOfAllElementsNeedNoSum) {
  const char* const locations[] = {"i0/(B*C), (i0/C)%B, i0%C", "i0/C/B, (i0/C)%B, i0%C",
                                   "i0/(B*C), (i0%(B*C))/C, i0%C"};
  for (const char* const location : locations) {
    const Program p = parse_program(
        "op p\ninput b f64[A, B, C]\ninput x f64[A*B*C]\noutput y = scatter[add](b, x to " +
        std::string(location) + ")");
    const Program q = invert(p);
    EXPECT_EQ(to_string(q).find("sum"), std::string::npos) << to_string(q);
    const std::vector<Array> in = {whole_eighths({2, 3, 4}, 1), whole_eighths({24}, 2)};
    EXPECT_EQ(evaluate(q, in, {}), evaluate(p, in, {})) << to_string(q);
  }
}

TEST(Invert, LeavesAlone) {
  const char* const bodies[] = {
      // The combining operation is not a sum.
      "input b f64[N]\ninput x f64[M]\noutput y = scatter[set](b, x to i0)",
      "input b f64[N]\ninput x f64[M]\noutput y = scatter[mul](b, x to i0)",
      "input b f64[N]\ninput x f64[M]\noutput y = scatter[max](b, x to 2*i0)",
      // No rule solves this index.
      "input b f64[N]\ninput x f64[M]\noutput y = scatter[add](b, x to min(i0, 3))",
      "input b f64[N]\ninput x f64[M]\noutput y = scatter[add](b, x to i0*i0)",
      "input b f64[N]\ninput x f64[M, K]\noutput y = scatter[add](b, x to i0*i1)",
      // $o may be 0 or negative.
      "input b f64[N]\ninput x f64[M]\noutput y = scatter[add](b, x to i0*$o)",
      // The indices are data.
      "input b f64[N]\ninput x f64[M]\ninput n i64[M]\noutput y = select_scatter[0, add](b, x, n)",
      "input b f64[N]\ninput x f64[1]\ninput n i64[1]\noutput y = select_scatter[0, max](b, x, n)"};
  for (const char* const body : bodies) {
    const Program p = parse_program(kHead + std::string(body));
    EXPECT_TRUE(equal(invert(p), p)) << to_string(invert(p));
  }
}

TEST(Invert, OneWriteAlongTheAxisIsAComparison) {
  const Program p = parse_program(
      "op p\ninput b f64[K, M]\ninput x f64[1, M]\ninput n i32[1, M]\n"
      "output y = select_scatter[0, add](b, x, n)");
  const Program q = invert(p);
  EXPECT_EQ(scatters(q), 0);
  const std::vector<Array> in = {whole_eighths({3, 4}, 1), whole_eighths({1, 4}, 2),
                                 array(DType::i32, {1, 4}, {0, 2, -1, 3})};
  EXPECT_EQ(evaluate(q, in, {}), evaluate(p, in, {}));
}

TEST(Invert, AddsToTheBaseThatThereIs) {
  const char* const with_base =
      "op p\ninput b f64[N]\ninput x f64[N]\noutput y = scatter[add](b, x to i0)";
  EXPECT_EQ(to_string(invert(parse_program(with_base))),
            "op p\ninput b f64[N]\ninput x f64[N]\noutput y = b + x\n");
  const char* const zero = "op p\ninput x f64[N]\noutput y = scatter[add](f64(0)[over N], x to i0)";
  EXPECT_EQ(to_string(invert(parse_program(zero))), "op p\ninput x f64[N]\noutput y = x\n");
}

// A transposed convolution reads x[(h + p)/s] only if s divides h + p: this condition saves a loop
// over the remainders.
TEST(Invert, UsesConditionsOfWhatIsWritten) {
  const Program p = parse_program(R"(op p
    param s int = 1 in 1..
    param p int = 0
    input b f64[N]
    input v f64[H, K]
    x = where(iota((i0 + $p - i1)%$s over H, K) == 0, v, 0)
    output y = scatter[add](b, x to (i0 + $p - i1)/$s))");
  const Program q = invert(p);
  EXPECT_EQ(to_string(q), R"(op p
param s int = 1 in 1..
param p int = 0
input b f64[N]
input v f64[H, K]
v1 = where(iota((i0 + $p - i1)%$s over H, K) == 0, v, 0)[i0*$s + i1 - $p, i1 over N, K]
output y = b + sum[1](v1)
)");
  for (const std::int64_t s : {1, 2, 3}) {
    const std::vector<Array> in = {whole_eighths({4}, 1), whole_eighths({7, 3}, 2)};
    const std::map<std::string, Number> params = {{"s", s}, {"p", 1}};
    EXPECT_EQ(evaluate(q, in, params), evaluate(p, in, params));
  }
}

Program gradient_of(const Program& p, const std::string& wrt) {
  GradientRequest request;
  request.wrt = {wrt};
  return gradient(p, request).program;
}

TEST(Invert, Conv2dGradientOfX) {
  expect_golden(to_string(
      invert(gradient_of(parse_program(std::string("op conv2d\n") + test::kConvBody), "x"))));
}
TEST(Invert, Conv2dGradientOfW) {
  expect_golden(to_string(
      invert(gradient_of(parse_program(std::string("op conv2d\n") + test::kConvBody), "w"))));
}

TEST(Invert, Conv2dGradientsAreEqualOnExactData) {
  const Program p = parse_program(std::string("op conv2d\n") + test::kConvBody);
  struct Sizes {
    std::int64_t groups, sh, sw, dh, dw, ph, pw, H, W;
  };
  for (const Sizes& c : {Sizes{1, 1, 1, 1, 1, 0, 0, 4, 3}, Sizes{2, 2, 1, 1, 2, 1, 2, 5, 4},
                         Sizes{1, 3, 2, 2, 1, 2, 0, 6, 5}, Sizes{3, 2, 3, 2, 3, 3, 3, 4, 7}}) {
    const GradientCase conv{
        p,
        {whole_eighths({2, c.groups * 2, c.H, c.W}, 1), whole_eighths({c.groups * 3, 2, 3, 2}, 2)},
        {{"groups", c.groups},
         {"sh", c.sh},
         {"sw", c.sw},
         {"dh", c.dh},
         {"dw", c.dw},
         {"ph", c.ph},
         {"pw", c.pw}}};
    GradientCase g = gradient_case(conv, 3);
    for (Array& a : g.inputs)
      for (Number& n : a.values) n = Number(std::floor(n.real() * 8));
    const Program q = invert(g.program);
    EXPECT_EQ(scatters(q), 0);
    EXPECT_EQ(evaluate(q, g.inputs, g.params), evaluate(g.program, g.inputs, g.params));
    // The gradient of the inverted gradient is checked as that of the gradient would be.
    int judged = 0;
    EXPECT_EQ(check_gradient({q, g.inputs, g.params}, 1, 5, &judged), "");
    EXPECT_EQ(judged, 2);
  }
}

TEST(Invert, TwiceIsOnce) {
  const Program q =
      invert(gradient_of(parse_program(std::string("op conv2d\n") + test::kConvBody), "x"));
  EXPECT_TRUE(equal(invert(q), q));
}

}  // namespace
}  // namespace mote
