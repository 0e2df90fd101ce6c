// SPDX-License-Identifier: Apache-2.0
// Tests bodies whose products and sums another formula evaluates in another order.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <utility>

#include "bound_ends.h"
#include "judge.h"

namespace mote::test {
namespace {

/// A product of three factors has three orders, a product of a sum may be distributed, a difference
/// of squares factored: the bound contains them all.
TEST(BoundOrders, OtherOrdersOfAProductAreCorrect) {
  using Formula = std::function<float(float a, float b, float c)>;
  const std::vector<std::pair<std::string, std::vector<Formula>>> bodies = {
      {"a*b*c",
       {[](float a, float b, float c) { return a * (b * c); },
        [](float a, float b, float c) { return a * c * b; }}},
      {"(a - b)*c",
       {[](float a, float b, float c) { return a * c - b * c; },
        [](float a, float b, float c) { return std::fma(a, c, -(b * c)); }}},
      {"max(a + b, 0)*c",
       {[](float a, float b, float c) { return a + b > 0 ? a * c + b * c : 0; }}},
      {"a*(b/3 + 0.5) + 0*c",
       {[](float a, float b, float) { return a * b / 3 + a * 0.5F; },
        [](float a, float b, float) { return a * b * (1.0F / 3) + a * 0.5F; }}},
      {"c*(1 - a*a) + 0*b",
       {[](float a, float, float c) { return c * (1 - a) * (1 + a); },
        [](float a, float, float c) { return c - c * a * a; }}}};
  constexpr std::int64_t kCount = 256;
  std::vector<Array> in;
  for (std::uint64_t seed = 1; seed <= 3; ++seed)
    in.push_back({DType::f32, {kCount}, draw(Data::uniform, DType::f32, kCount, seed)});
  for (const auto& [body, formulas] : bodies) {
    const Ends e =
        ends_of("input a f32[N]\ninput b f32[N]\ninput c f32[N]\noutput y = " + body, in);
    for (std::size_t k = 0; k < kCount; ++k) {
      const auto value = [&](std::size_t n) { return static_cast<float>(in[n].values[k].real()); };
      for (const Formula& f : formulas) {
        const double y = f(value(0), value(1), value(2));
        EXPECT_LE(store_as(e.lo[k], DType::f32).real(), y) << body << k;
        EXPECT_GE(store_as(e.hi[k], DType::f32).real(), y) << body << k;
      }
    }
  }
}

TEST(BoundOrders, AProductOfTwoFactorsHasOneOrder) {
  const std::string inputs = "input a f32[N]\ninput b f32[N]\noutput y = ";
  for (const char* body : {"a*b", "a*b + b", "0.5*a*b", "a*(2*b)", "max(a, b)*b", "a*b*4 - a*b"}) {
    const Program p = parse_program("op test\n" + inputs + body + "\n");
    EXPECT_TRUE(is_rigid(p, 0)) << body;
  }
  for (const char* body :
       {"a*b*b", "0.1*a*b", "(a + b)*b", "where(a > b, a*b, 1.5)*b", "a*a - b*b"}) {
    const Program p = parse_program("op test\n" + inputs + body + "\n");
    EXPECT_FALSE(is_rigid(p, 0)) << body;
  }
}

}  // namespace
}  // namespace mote::test
