// SPDX-License-Identifier: Apache-2.0
// Tests computed_once: nodes that it recognises as each other's twins, nodes that it must tell
// apart, and that programs compute the same bits afterwards.
#include "mote/uops/once.h"

#include <gtest/gtest.h>

#include "gradient_check.h"
#include "mote/uops/evaluate.h"
#include "twin.h"

namespace mote {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

Program parsed(const std::string& body) {
  return parse_program("op twins\nparam s int = 1 in 1..\ninput x f64[M, K]\ninput z f64[N, K]\n" +
                       body);
}

/// The scores of each pair of rows of x and z, along M, N and along N, M.
const std::string kScores =
    "a = exp(sum[2](x[i0, i2 over M, N, K] * z[i1, i2 over M, N, K]))\n"
    "b = exp(sum[2](x[i1, i2 over N, M, K] * z[i0, i2 over N, M, K]))\n";

std::size_t reductions(const Program& p) {
  const std::vector<Uop> all = roots(p);
  std::size_t count = 0;
  for (const Uop& u : topological(all))
    count += std::holds_alternative<uop::Reduce>(u.node().kind) ? 1U : 0U;
  return count;
}

/// Expects that the program is computed with that many reductions fewer, to the same bits.
void expect_fewer(const Program& p, std::size_t fewer) {
  const auto once = computed_once(p);
  ASSERT_TRUE(once.has_value()) << to_string(p);
  EXPECT_EQ(reductions(p) - reductions(*once), fewer) << to_string(*once);
  const std::vector<Array> in = {random_array(DType::f64, {3, 5}, 1),
                                 random_array(DType::f64, {4, 5}, 2)};
  const std::vector<Array> before = evaluate(p, in, {});
  const std::vector<Array> after = evaluate(*once, in, {});
  for (std::size_t o = 0; o < before.size(); ++o)
    for (std::size_t k = 0; k < before[o].values.size(); ++k)
      ASSERT_TRUE(identical(before[o].values[k], after[o].values[k])) << to_string(*once);
}

TEST(ComputedOnce, ReadsTheOtherNodeAlongItsAxes) {
  const Program p = parsed(kScores + "output y = sum[1](a)\noutput t = sum[1](b)\n");
  expect_fewer(p, 1);
  EXPECT_NE(to_string(*computed_once(p)).find("[i1, i0 over N, M]"), std::string::npos)
      << to_string(*computed_once(p));
}

/// A condition that stands in a fill, and one in iota, are those of the same elements.
TEST(ComputedOnce, LooksThroughConditions) {
  expect_fewer(parsed("a = sum[2](x[i0 + 1, i2 over M, N, K] * z[i1, i2 over M, N, K])\n"
                      "b = sum[2](x[i1 + 1, i2 over N, M, K] * z[i0, i2 over N, M, K])\n"
                      "output y = where(iota(i0 - i1 over M, N) >= 0, a, 0)\n"
                      "output t = where(iota(i1 - i0 over N, M) >= 0, b, 0)\n"),
               1);
}

/// Among axes of equal extents, the order is found by trying them.
TEST(ComputedOnce, FindsTheOrderOfEqualAxes) {
  const Program p = parsed(
      "a = sum[3](x[i0, i3 over M, M, N, K] * x[i1, i3 over M, M, N, K] / z[i2, i3 over M, M, N, "
      "K])\n"
      "b = sum[3](x[i2, i3 over M, N, M, K] * x[i0, i3 over M, N, M, K] / z[i1, i3 over M, N, M, "
      "K])\n"
      "output y = a\noutput t = b\n");
  expect_fewer(p, 1);
  EXPECT_NE(to_string(*computed_once(p)).find("[i2, i0, i1 over M, N, M]"), std::string::npos)
      << to_string(*computed_once(p));
}

TEST(ComputedOnce, TellsOtherNodesApart) {
  const auto stays = [](const std::string& b) {
    const Program p = parsed("a = sum[2](x[i0, i2 over M, N, K] * z[i1, i2 over M, N, K])\n" + b +
                             "output y = a\noutput t = b\n");
    const auto once = computed_once(p);
    EXPECT_FALSE(once.has_value()) << to_string(*once);
  };
  stays("b = sum[2](x[i1, K - 1 - i2 over N, M, K] * z[i0, K - 1 - i2 over N, M, K])\n");  // order
  stays("b = sum[2](z[i0, i2 over N, M, K] * x[i1, i2 over N, M, K])\n");  // factors: NaN's bits
  stays("b = sum[2](x[i1, i2 over N, M, K] / z[i0, i2 over N, M, K])\n");
  stays("b = max[2](x[i1, i2 over N, M, K] * z[i0, i2 over N, M, K])\n");
  stays("b = sum[2](x[i1 + 1, i2 over N, M, K] * z[i0, i2 over N, M, K])\n");
  stays("b = sum[2](x[i0, i2 over N, M, K] * z[i0, i2 over N, M, K])\n");
  stays("b = sum[2](x[i1*$s, i2 over N, M, K] * z[i0, i2 over N, M, K])\n");
}

TEST(ComputedOnce, TellsFillsApart) {
  const auto with = [](const char* fill) {
    return parsed(
        "a = sum[2](x[i0 + 1, i2 over M, N, K else 1] * z[i1, i2 over M, N, K])\n"
        "b = sum[2](x[i1 + 1, i2 over N, M, K else " +
        std::string(fill) +
        "] * z[i0, i2 over N, M, K])\n"
        "output y = a\noutput t = b\n");
  };
  EXPECT_TRUE(computed_once(with("1")).has_value());
  EXPECT_FALSE(computed_once(with("2")).has_value());
}

TEST(ComputedOnce, LeavesWhatCostsNothing) {
  EXPECT_FALSE(computed_once(parsed("output y = x + 1\noutput t = x[i1, i0 over K, M] + 1\n")));
}

/// Each twin of the chain is known when the next is compared.
TEST(ComputedOnce, TakesLongChains) {
  const Uop x = input("x", DType::f64, {"M", "N"});
  Uop u = x;
  for (int k = 0; k < 200; ++k) u = u - max(u, {k % 2});
  ProgramSpec spec;
  spec.name = "chain";
  spec.inputs = {x};
  spec.outputs = {{"y", u}, {"t", twin_of(u, {1, 0})}};
  const Program p = make_program(spec);
  const auto once = computed_once(p);
  ASSERT_TRUE(once.has_value());
  EXPECT_EQ(reductions(*once), 200U);
}

}  // namespace
}  // namespace mote
