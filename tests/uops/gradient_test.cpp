// SPDX-License-Identifier: Apache-2.0
// Tests the gradient of programs: known mistakes of other systems, and the values that are pinned
// where there is no derivative.
#include "mote/uops/gradient.h"

#include <gtest/gtest.h>

#include "caught.h"
#include "gradient_check.h"
#include "gradient_programs.h"

namespace mote {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

// ---- known mistakes of other systems

TEST(Gradient, ProductWithARepeatedFactor) {
  const Arrays g = gradients(std::string(kXW) + "x*x*w",
                             {f64({2}, {1, 10}), f64({2}, {3, 4}), f64({2}, {5, 7})});
  EXPECT_EQ(g.at(0), f64({2}, {30, 560}));  // 2*x*w
  EXPECT_EQ(g.at(1), f64({2}, {9, 160}));   // x*x
}

TEST(Gradient, DivisionOnBothSides) {
  const Arrays g =
      gradients(std::string(kXW) + "x/w", {f64({2}, {1, 8}), f64({2}, {12, 3}), f64({2}, {2, 4})});
  EXPECT_EQ(g.at(0), f64({2}, {0.5, 2}));
  EXPECT_EQ(g.at(1), f64({2}, {-3, -1.5}));  // -x/w^2
}

TEST(Gradient, FanOutSums) {
  EXPECT_EQ(
      gradients(std::string(kX) + "x + x*x", {f64({3}, {1, 1, 2}), f64({3}, {0, 3, -4})}).at(0),
      f64({3}, {1, 7, -14}));
  EXPECT_EQ(gradients(std::string(kX) + "x + x", {f64({1}, {3})}).at(0), f64({1}, {6}));
  EXPECT_EQ(gradients(std::string(kX) + "x - x", {f64({1}, {3})}).at(0), f64({1}, {0}));
}

TEST(Gradient, MaxAndMinWithTies) {
  const Array gy = f64({3}, {8, 8, 8}), x = f64({3}, {1, 2, 3}), w = f64({3}, {2, 2, 2});
  EXPECT_EQ(gradients(std::string(kXW) + "max(x, w)", {gy, x, w}),
            (Arrays{f64({3}, {0, 4, 8}), f64({3}, {8, 4, 0})}));
  EXPECT_EQ(gradients(std::string(kXW) + "min(x, w)", {gy, x, w}),
            (Arrays{f64({3}, {8, 4, 0}), f64({3}, {0, 4, 8})}));
  EXPECT_EQ(gradients(std::string(kX) + "min(max(x, 1), 3)", {gy, f64({3}, {0, 1, 2})}).at(0),
            f64({3}, {0, 4, 8}));
  EXPECT_EQ(gradients(std::string(kX) + "max(x, x)", {gy, x}).at(0), gy);
  EXPECT_EQ(gradients(std::string(kXW) + "max(x, w)",
                      {gy, f64({3}, {kNan, 1, 5}), f64({3}, {1, kNan, 1})}),
            (Arrays{f64({3}, {0, 0, 8}), f64({3}, {0, 0, 0})}));
}

TEST(Gradient, ReductionsWithTies) {
  const std::string head = "input x f64[N, M]\noutput y = ";
  const Array gy = f64({2}, {12, 12}), x = f64({2, 3}, {1, 5, 5, 7, 7, 7});
  EXPECT_EQ(gradients(head + "max[1](x)", {gy, x}).at(0), f64({2, 3}, {0, 6, 6, 4, 4, 4}));
  EXPECT_EQ(gradients(head + "min[1](x)", {gy, x}).at(0), f64({2, 3}, {12, 0, 0, 4, 4, 4}));
  EXPECT_EQ(gradients(head + "max[1](x)", {gy, f64({2, 3}, {1, kNan, 5, 7, 7, 7})}).at(0),
            f64({2, 3}, {0, 0, 0, 4, 4, 4}));
}

TEST(Gradient, ScattersWithTies) {
  // The last write, of 0, is out of range: it has no share and no gradient.
  const std::string head =
      "input b f64[N]\ninput x f64[M]\noutput y = scatter[max](b, x to i0/2 + 1)";
  EXPECT_EQ(gradients(head, {f64({2}, {1, 12}), f64({2}, {7, 3}), f64({3}, {3, 3, 0})}),
            (Arrays{f64({2}, {1, 4}), f64({3}, {4, 4, 0})}));
}

TEST(Gradient, Mean) {
  EXPECT_EQ(gradients("input x f64[N, M]\noutput y = mean[1](x)",
                      {f64({2}, {8, 4}), f64({2, 4}, std::vector<double>(8))})
                .at(0),
            f64({2, 4}, {2, 2, 2, 2, 1, 1, 1, 1}));
}

TEST(Gradient, MaxByArgmaxAndSelectTakesTheFirst) {
  const std::string text = "input x f64[N, M]\nn = argmax[1 keep](x)\noutput y = select[1](x, n)";
  EXPECT_EQ(gradients(text, {f64({2, 1}, {3, 4}), f64({2, 3}, {1, 5, 5, 7, 7, 7})}).at(0),
            f64({2, 3}, {0, 3, 0, 4, 0, 0}));
}

// ---- where

TEST(Gradient, TheUntakenBranchStaysOut) {
  const Array gy = f64({3}, {1, 1, 1}), x = f64({3}, {-1, 0, 4});
  EXPECT_EQ(gradients(std::string(kX) + "where(x > 0, log(x), 3*x)", {gy, x}).at(0),
            f64({3}, {3, 3, 0.25}));
  EXPECT_EQ(gradients(std::string(kX) + "where(x <= 0, 0, x/(x*sqrt(x)))", {gy, x}).at(0),
            f64({3}, {0, 0, -1.0 / 16}));
  // The same log has two users, neither of which takes it; the last case is an inner where.
  EXPECT_EQ(
      gradients(std::string(kX) + "where(x > 0, log(x), 1) + where(x > 3, 2*log(x), x)", {gy, x})
          .at(0),
      f64({3}, {1, 1, 0.75}));
  EXPECT_EQ(
      gradients(std::string(kX) + "where(x > 0, where(x > 9, log(x), sqrt(x)), x)", {gy, x}).at(0),
      f64({3}, {1, 1, 0.25}));
}

TEST(Gradient, TheUntakenBranchStaysOutOfReductionsAndBroadcasts) {
  const std::string text = R"(
    input x f64[N]
    input w f64[M]
    l = log(x)
    seen = iota(i0 over N, M) >= 1
    output y = sum[0](where(seen, l[i0 over N, M]*w[i1 over N, M], 0)))";
  EXPECT_EQ(gradients(text, {f64({2}, {1, 1}), f64({3}, {0, 1, 2}), f64({2}, {8, 4})}).at(0),
            f64({3}, {0, 12, 6}));
  EXPECT_EQ(
      gradients("input x f64[N]\noutput y = where(iota(i0 over N) < 2, sum[0](log(x))[over N], 0)",
                {f64({3}, {1, 1, 1}), f64({3}, {1, 2, 4})})
          .at(0),
      f64({3}, {2, 1, 0.5}));
}

TEST(Gradient, StopsWhereItIsTold) {
  EXPECT_EQ(gradients(std::string(kX) + "x*stop_gradient(x) + floor(x) + sign(x) + f64(i64(x))",
                      {f64({2}, {1, 1}), f64({2}, {3, -5})})
                .at(0),
            f64({2}, {3, -5}));
}

TEST(Gradient, PowAtZero) {
  const Arrays g =
      gradients(std::string(kXW) + "pow(x, w)",
                {f64({4}, {1, 1, 1, 1}), f64({4}, {0, 0, 0, 2}), f64({4}, {0, 1, 2, 3})});
  EXPECT_EQ(g.at(0), f64({4}, {0, 1, 0, 12}));
  EXPECT_EQ(values_of(g.at(1))[0], 0);
  EXPECT_EQ(values_of(g.at(1))[1], 0);
  EXPECT_EQ(values_of(g.at(1))[3], 8 * std::log(2.0));
  EXPECT_EQ(gradients(std::string(kX) + "pow(x, 2)", {f64({2}, {1, 1}), f64({2}, {0, 3})}).at(0),
            f64({2}, {0, 6}));
}

/// Where the base of a power is a difference that is 0, the slope is infinite, and both terms of
/// the difference get it: the gradient is NaN, by the chain rule, and dual numbers say nothing.
TEST(Gradient, PowOfADifferenceThatIsZeroHasNone) {
  const std::string text = "input w f64[N]\noutput y = pow(w[0 over N] - w, w*0.25)";
  const Array w = f64({3}, {1, 0.5, 0.25});
  const Arrays g = gradients(text, {f64({3}, {1, 1, 1}), w});
  EXPECT_TRUE(std::isnan(values_of(g.at(0))[0]));
  EXPECT_TRUE(std::isfinite(values_of(g.at(0))[1]));
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    const Judgement j = check_adjoint({with_body(text), {w}, {}}, seed);
    EXPECT_TRUE(j.agrees) << j.text;
    EXPECT_FALSE(j.judged);
  }
}

}  // namespace
}  // namespace mote
