// SPDX-License-Identifier: Apache-2.0
// Tests divisions in vectors by what a loop does not change, which become products: that they stay
// within the bound of a division for any divisor, and where they stay divisions.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "c_library.h"
#include "mote/codegen/emit_c.h"
#include "mote/codegen/passes.h"
#include "mote/codegen/schedule.h"

namespace mote {
namespace {

std::string gen_text(const std::string& body, bool standalone = false) {
  const auto program = std::make_shared<const Program>(parse_program("op quotients\n" + body));
  return emit_c(schedule(compile(program)), {.function = "quotients", .standalone = standalone});
}

bool multiplies(const std::string& body) {
  return gen_text(body).find("mote_divisor_scale(") != std::string::npos;
}

TEST(Divisors, AreReciprocalsWhereALoopDoesNotChangeThem) {
  EXPECT_TRUE(multiplies("input x f32[R, N]\noutput y = x / sum[1](x)[i0 over R, N]\n"));
  EXPECT_TRUE(multiplies("input x f16[R, N]\noutput y = x / sum[1](x)[i0 over R, N]\n"));
  EXPECT_FALSE(multiplies("input x f64[R, N]\noutput y = x / sum[1](x)[i0 over R, N]\n"));
  EXPECT_FALSE(multiplies("input x f32[R, N]\ninput z f32[R, N]\noutput y = x / z\n"));
  EXPECT_FALSE(multiplies("input x i32[R, N]\noutput y = x / sum[1](x)[i0 over R, N]\n"));
}

/// A row's greatest element over itself is 1 where floor, a comparison or a cast asks.
TEST(Divisors, AreDividedByWhereQuotientsAreComparedOrRounded) {
  const std::string q = "input x f32[R, N]\nq = x / max[1](x)[i0 over R, N]\noutput y = ";
  EXPECT_TRUE(multiplies(q + "q + 1\n"));
  for (const char* y : {"floor(q)", "i32(q)", "where(q == 1, x, 0)", "q + round(q)",
                        "x * floor(max[1](q))[i0 over R, N]"})
    EXPECT_FALSE(multiplies(q + y + "\n")) << y;
}

/// The quotient that rounds twice, as docs/bound.md has it: 2.5 units of 2^-24, and a denormal
/// number's own rounding.
void expect_quotient(float a, float b, float got) {
  const double exact = static_cast<double>(a) / static_cast<double>(b);
  const auto rounded = static_cast<float>(exact);
  if (std::isnan(rounded) || std::isinf(rounded) || rounded == 0.0F) {
    EXPECT_TRUE(std::isnan(rounded) ? std::isnan(got) : got == rounded) << a << " / " << b;
    EXPECT_EQ(std::signbit(rounded) && !std::isnan(rounded), std::signbit(got) && !std::isnan(got))
        << a << " / " << b;
    return;
  }
  const double allowed = std::abs(exact) * 2.5 * 0x1p-24 + 0x1p-149;
  EXPECT_LE(std::abs(static_cast<double>(got) - exact), allowed) << a << " / " << b;
}

TEST(Divisors, OfAllSizesGiveQuotientsWithinTheBound) {
  const test::CLibrary library(gen_text(
      "input x f32[R, N]\ninput d f32[R, K]\noutput y = x / max[1](d)[i0 over R, N]\n", true));
  const float inf = std::numeric_limits<float>::infinity();
  std::vector<float> numbers = {0.0F,  1.0F, 3.0F, 7.0F, inf, std::nanf(""), 0x1.fffffep127F,
                                1e-45F};
  for (int k = -148; k < 128; k += 3)
    numbers.push_back(std::ldexp(1.0F + 0.37F * static_cast<float>(k & 1), k));
  const std::size_t positive = numbers.size();
  for (std::size_t k = 0; k < positive; ++k) numbers.push_back(-numbers[k]);
  const auto n = static_cast<std::int64_t>(numbers.size());
  std::vector<float> x, y(numbers.size() * numbers.size());
  for (std::size_t row = 0; row < numbers.size(); ++row)
    x.insert(x.end(), numbers.begin(), numbers.end());
  using Strides = const std::int64_t*;
  const std::int64_t rows[2] = {n, 1}, column[2] = {1, 1};
  const auto run =
      library.function<int(const float*, Strides, const float*, Strides, float*, Strides,
                           std::int64_t, std::int64_t, std::int64_t)>("quotients");
  ASSERT_EQ(run(x.data(), rows, numbers.data(), column, y.data(), rows, n, n, 1), 0);
  for (std::size_t row = 0; row < numbers.size(); ++row)
    for (std::size_t k = 0; k < numbers.size(); ++k)
      expect_quotient(numbers[k], numbers[row], y[row * numbers.size() + k]);
}

}  // namespace
}  // namespace mote
