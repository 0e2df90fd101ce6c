// SPDX-License-Identifier: Apache-2.0
// Tests that divisors in indices are 1 or more: bind() checks the divisors that are known then,
// make_program those that change from element to element.
#include <gtest/gtest.h>

#include "caught.h"

namespace mote {
namespace {

using test::error_of;
using Shapes = std::vector<std::vector<std::int64_t>>;

std::string bind_error(const std::string& body, const Shapes& shapes,
                       const std::map<std::string, Number>& params = {}) {
  const Program p = parse_program("op p\n" + body);
  return error_of([&] { mote::bind(p, shapes, params); });
}
std::string make_error(const std::string& body) {
  return error_of([&] { parse_program("op p\n" + body); });
}

constexpr const char* kLegal = "nothing was thrown";

TEST(Divisor, OfAnIndexIsOneOrMore) {
  for (const std::string op : {"/", "%"}) {
    const std::string body = "param k int = 1\ninput x f32[N]\noutput y = x[i0" + op + "$k over N]";
    EXPECT_EQ(bind_error(body, {{4}}, {{"k", 1}}), kLegal);
    EXPECT_EQ(bind_error(body, {{4}}, {{"k", 0}}),
              "p: Reindex divides by $k = 0, expected >= 1 (x [4])");
    EXPECT_EQ(bind_error(body, {{4}}, {{"k", -3}}),
              "p: Reindex divides by $k = -3, expected >= 1 (x [4])");
  }
}

TEST(Divisor, OfAnIotaIsOneOrMore) {
  const std::string body =
      "param k int = 1\ninput x f32[N]\noutput y = x\noutput z = iota(7 % ($k - N) over 3)";
  EXPECT_EQ(bind_error(body, {{4}}, {{"k", 5}}), kLegal);
  EXPECT_EQ(bind_error(body, {{4}}, {{"k", 4}}),
            "p: Iota divides by $k - N = 0, expected >= 1 (x [4])");
}

TEST(Divisor, OfAnIndexIsFreeWhereThereIsNoElement) {
  const std::string body = "param k int = 1\ninput x f32[N]\noutput y = x[i0/$k over N, 3]";
  EXPECT_EQ(bind_error(body, {{0}}, {{"k", -3}}), kLegal);
  const std::string by_size = "input x f64[1, A]\noutput f = x[0, i0%A over A]";
  EXPECT_EQ(bind_error(by_size, {{1, 0}}), kLegal);
}

// A divisor inside a divisor is checked first: 7/$k is not evaluated before $k is found to be 0.
TEST(Divisor, InADivisorIsCheckedFirst) {
  const std::string body = "param k int = 1\ninput x f32[N]\noutput y = x[i0/(7/$k) over N]";
  EXPECT_EQ(bind_error(body, {{4}}, {{"k", 7}}), kLegal);
  EXPECT_EQ(bind_error(body, {{4}}, {{"k", 0}}),
            "p: Reindex divides by $k = 0, expected >= 1 (x [4])");
  EXPECT_EQ(bind_error(body, {{4}}, {{"k", 8}}),
            "p: Reindex divides by 7/$k = 0, expected >= 1 (x [4])");
}

TEST(Divisor, OfAnExtentIsOneOrMoreEvenWhereTheExtentIsZero) {
  const std::string body = "param k int = 1\ninput x f32[N]\noutput y = x[i0 over N/$k]";
  EXPECT_EQ(bind_error(body, {{4}}, {{"k", 0}}),
            "p: axis 0 of output y divides by $k = 0, expected >= 1 (x [4])");
  EXPECT_EQ(bind_error(body, {{0}}, {{"k", -1}}),
            "p: axis 0 of output y divides by $k = -1, expected >= 1 (x [0])");
  const std::string inner = "param k int = 1\ninput x f32[N]\noutput y = sum[0](x[i0 over N/$k])";
  EXPECT_EQ(bind_error(inner, {{0}}, {{"k", -1}}),
            "p: axis 0 of Reindex divides by $k = -1, expected >= 1 (x [0])");
}

TEST(Divisor, OfNamedSizesRequiresAndInputsIsOneOrMore) {
  const std::string head = "param k int = 1\n";
  const std::map<std::string, Number> params = {{"k", -2}};
  EXPECT_EQ(bind_error(head + "input x f32[N]\nsize Q = N/$k\noutput y = x", {{4}}, params),
            "p: size Q divides by $k = -2, expected >= 1 (x [4])");
  EXPECT_EQ(bind_error(head + "input x f32[N]\nrequire N%$k = 0\noutput y = x", {{4}}, params),
            "p: require divides by $k = -2, expected >= 1 (x [4])");
  EXPECT_EQ(
      bind_error(head + "input x f32[N]\ninput w f32[N/$k]\noutput y = x", {{4}, {2}}, params),
      "p: axis 0 of w divides by $k = -2, expected >= 1 (x [4], w [2])");
}

TEST(Divisor, OfASizeRuleIsOneOrMore) {
  const std::string body = "param k int = 1\ninput x f32[N*(9/$k)]\noutput y = x";
  EXPECT_EQ(bind_error(body, {{9}}, {{"k", 3}}), kLegal);
  EXPECT_EQ(bind_error(body, {{9}}, {{"k", -3}}),
            "p: axis 0 of x divides by $k = -3, expected >= 1 (x [9])");
}

TEST(Divisor, ThatVariesMustBeOneOrMoreForSure) {
  EXPECT_EQ(make_error("input x f32[N]\noutput y = x[i0/(i1 + 1) over N, N]"), kLegal);
  EXPECT_EQ(make_error("input x f32[N]\noutput y = x[i0%(N - i0) over N]"), kLegal);
  EXPECT_EQ(make_error("param k int in 1..\ninput x f32[N]\noutput y = x[i0/(i1 + $k) over N, 2]"),
            kLegal);
  EXPECT_EQ(make_error("input x f32[N]\noutput y = x[i0/i1 over N, N]"),
            "program text: line 3, column 13: p: Reindex divides by i1, which must be surely >= 1");
  EXPECT_EQ(make_error("param k int\ninput x f32[N]\noutput y = x[i0/(i1 + $k) over N, 2]"),
            "program text: line 4, column 13: p: Reindex divides by i1 + $k, which must be surely "
            ">= 1");
  EXPECT_EQ(make_error("input x f32[N]\noutput y = x\noutput z = iota(5 % (2 - i0) over 3)"),
            "program text: line 4, column 12: p: Iota divides by 2 - i0, which must be surely >= "
            "1");
}

// Proving the divisor divides by i1, which is no proof that i1 is 1 or more.
TEST(Divisor, ThatVariesIsNoProofOfItself) {
  EXPECT_EQ(make_error("input x f32[N]\noutput y = x[i0/(i0/i1 + 1) over N, N]"),
            "program text: line 3, column 13: p: Reindex divides by i1, which must be surely >= 1");
}

}  // namespace
}  // namespace mote
