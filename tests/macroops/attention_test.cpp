// SPDX-License-Identifier: Apache-2.0
// Tests attention against its formula written out for each row in the same order: masks, causal
// anchors, grouped heads. Tests rotation by position too.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "run.h"

namespace mote {
namespace {

struct Rows {
  std::vector<double> y, lse;
};

using Visible = std::function<bool(std::int64_t t, std::int64_t s)>;

/// Computes y and lse for q [B, H, T, D], k [B, H/group, S, D], v [B, H/group, S, E]; `bias` is
/// added after the cap.
Rows attend(const Array& q, const Array& k, const Array& v, double scale, const Visible& visible,
            const std::function<double(std::int64_t h, std::int64_t t, std::int64_t s)>& bias,
            double cap = 0) {
  Rows out;
  const std::int64_t group = k.shape[1] == 0 ? 1 : q.shape[1] / k.shape[1];
  for (std::int64_t b = 0; b < q.shape[0]; ++b)
    for (std::int64_t h = 0; h < q.shape[1]; ++h)
      for (std::int64_t t = 0; t < q.shape[2]; ++t) {
        std::vector<std::pair<std::int64_t, double>> scores;
        double greatest = -kInf, total = 0;
        for (std::int64_t s = 0; s < k.shape[2]; ++s) {
          if (!visible(t, s)) continue;
          double dot = 0;
          for (std::int64_t d = 0; d < q.shape[3]; ++d)
            dot += at(q, {b, h, t, d}) * at(k, {b, h / group, s, d});
          const double score = scale * dot;
          const double capped = cap == 0 ? score : cap * std::tanh(score / cap);
          scores.emplace_back(s, capped + bias(h, t, s));
          greatest = std::fmax(greatest, scores.back().second);
        }
        const double m = greatest == -kInf ? 0 : greatest;
        for (auto& [s, score] : scores) total += score = std::exp(score - m);
        for (std::int64_t e = 0; e < v.shape[3]; ++e) {
          double sum = 0;
          for (const auto& [s, p] : scores) sum += p * at(v, {b, h / group, s, e});
          out.y.push_back(total == 0 ? 0 : sum / total);
        }
        out.lse.push_back(m + std::log(total));
      }
  return out;
}

double no_bias(std::int64_t, std::int64_t, std::int64_t) { return 0; }
bool all_visible(std::int64_t, std::int64_t) { return true; }

class Attention : public testing::Test {
 protected:
  Array q = integers(DType::f64, {2, 6, 3, 2}, 1), k = integers(DType::f64, {2, 2, 5, 2}, 2);
  Array v = integers(DType::f64, {2, 2, 5, 3}, 3);

  static void expect_rows(const std::vector<Array>& inputs, const Params& params, const Rows& want,
                          const std::string& op = "attention") {
    const auto out = run_all(op + "_with_lse", DType::f64, inputs, params);
    EXPECT_EQ(out.at(0), f64({2, 6, 3, 3}, want.y));
    EXPECT_EQ(out.at(1), f64({2, 6, 3}, want.lse));
    EXPECT_EQ(run(op, inputs, params), out.at(0));
  }
};

TEST_F(Attention, GroupedHeadsAndTheUsualScale) {
  expect_rows({q, k, v, absent()}, {}, attend(q, k, v, 1 / std::sqrt(2.0), all_visible, no_bias));
  expect_rows({q, k, v, absent()}, {{"scale", 0.25}}, attend(q, k, v, 0.25, all_visible, no_bias));
}

TEST_F(Attention, CausalFromTheTopLeft) {
  expect_rows({q, k, v, absent()}, {{"scale", 0.5}, {"causal", 1}},
              attend(
                  q, k, v, 0.5, [](auto t, auto s) { return s <= t; }, no_bias));
}

TEST_F(Attention, CausalFromTheBottomRight) {
  expect_rows({q, k, v, absent()}, {{"scale", 0.5}, {"causal", 1}, {"anchor", 1}},
              attend(
                  q, k, v, 0.5, [](auto t, auto s) { return s <= t + 2; }, no_bias));
  expect_rows({q, k, v, absent()}, {{"scale", 0.5}, {"anchor", 1}},
              attend(q, k, v, 0.5, all_visible, no_bias));
}

TEST_F(Attention, TheMaskIsAddedAndBroadcasts) {
  const Array mask =
      f64({6, 1, 5}, {0, 1,     -kInf, 2, 3, -kInf, 0, 0, 0,     0,  0, 5, -1, -2, 0,
                      1, -kInf, -kInf, 0, 1, 2,     2, 0, -kInf, -1, 3, 0, 0,  7,  -5});
  expect_rows({q, k, v, mask}, {{"scale", 0.5}},
              attend(q, k, v, 0.5, all_visible, [&](auto h, auto, auto s) {
                return at(mask, {h, 0, s});
              }));
}

TEST_F(Attention, AFullyMaskedRowGivesZeroAndMinusInfinity) {
  const Array none = f64({1, 1, 1, 5}, std::vector<double>(5, -kInf));
  const auto masked = run_all("attention_with_lse", DType::f64, {q, k, v, none});
  EXPECT_EQ(masked.at(0), f64({2, 6, 3, 3}, std::vector<double>(108, 0)));
  EXPECT_EQ(masked.at(1), f64({2, 6, 3}, std::vector<double>(36, -kInf)));
  // There are more queries than keys: aligned at the bottom right, the first queries see nothing.
  const Array one = f64({1, 1, 1, 1}, {1}), two = f64({1, 1, 2, 1}, {1, 1});
  const auto causal =
      run_all("attention_with_lse", DType::f64, {two, one, f64({1, 1, 1, 1}, {kInf})},
              {{"causal", 1}, {"anchor", 1}});
  EXPECT_EQ(causal.at(0), f64({1, 1, 2, 1}, {0, kInf}));
  EXPECT_EQ(causal.at(1), f64({1, 1, 2}, {-kInf, 1}));
}

TEST_F(Attention, HiddenKeysDoNotExist) {
  const Array x = f64({1, 1, 2, 1}, {1, 1}), keys = f64({1, 1, 2, 1}, {1, kNan});
  const Array values = f64({1, 1, 2, 1}, {5, kNan});
  EXPECT_EQ(run("attention", {x, keys, values}, {{"causal", 1}}), f64({1, 1, 2, 1}, {5, kNan}));
}

TEST_F(Attention, TheWindowIsAboutTheQuerysOwnKey) {
  const auto near = [](std::int64_t before, std::int64_t after, std::int64_t shift) {
    return [=](std::int64_t t, std::int64_t s) {
      const std::int64_t own = t + shift;
      return (before < 0 || s >= own - before) && (after < 0 || s <= own + after);
    };
  };
  for (const int before : {-1, 0, 1, 3}) {
    for (const int after : {-1, 0, 2}) {
      for (const int anchor : {0, 1}) {
        expect_rows({q, k, v, absent()},
                    {{"scale", 0.5}, {"window0", before}, {"window1", after}, {"anchor", anchor}},
                    attend(q, k, v, 0.5, near(before, after, std::int64_t{2} * anchor), no_bias));
      }
    }
  }
  expect_rows({q, k, v, absent()}, {{"scale", 0.5}, {"window0", 1}, {"window1", 2}, {"causal", 1}},
              attend(q, k, v, 0.5, near(1, 0, 0), no_bias));
}

TEST_F(Attention, AWindowWithoutKeysGivesZero) {
  const Array two = f64({1, 1, 2, 1}, {1, 1}), one = f64({1, 1, 1, 1}, {1});
  const auto out = run_all("attention_with_lse", DType::f64, {two, one, f64({1, 1, 1, 1}, {7})},
                           {{"window0", 0}});
  EXPECT_EQ(out.at(0), f64({1, 1, 2, 1}, {7, 0}));
  EXPECT_EQ(out.at(1), f64({1, 1, 2}, {1, -kInf}));
}

TEST_F(Attention, SoftcapBoundsTheScoresBeforeTheMask) {
  const Array mask = f64({1, 1, 5}, {0, 3, -kInf, 2, -100});
  const auto bias = [&](auto, auto, auto s) { return at(mask, {0, 0, s}); };
  expect_rows({q, k, v, mask}, {{"scale", 0.5}, {"softcap", 4.0}},
              attend(q, k, v, 0.5, all_visible, bias, 4), "attention_softcap");
}

TEST_F(Attention, WithoutKeys) {
  const Array none = f64({1, 1, 0, 2}, {});
  const auto out =
      run_all("attention_with_lse", DType::f64, {f64({1, 1, 1, 2}, {1, 2}), none, none});
  EXPECT_EQ(out.at(0), f64({1, 1, 1, 2}, {0, 0}));
  EXPECT_EQ(out.at(1), f64({1, 1, 1}, {-kInf}));
}

TEST(Rope, TurnsEachPairByItsAngle) {
  const Array x = f64({1, 1, 2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  std::vector<double> want;
  for (int t = 0; t < 2; ++t)
    for (int second = 0; second < 2; ++second)
      for (int p = 0; p < 2; ++p) {
        const double angle = (t + 3) * std::pow(100.0, -p / 2.0);
        const double mine = at(x, {0, 0, t, second, p}), other = at(x, {0, 0, t, 1 - second, p});
        const double s = std::sin(angle);
        want.push_back(mine * std::cos(angle) + other * (second == 0 ? -s : s));
      }
  EXPECT_EQ(run("rope", {x}, {{"offset", 3}, {"base", 100.0}}), f64({1, 1, 2, 2, 2}, want));
}

TEST(Rope, PositionZeroStays) {
  const Array x = integers(DType::f64, {2, 3, 1, 2, 4}, 1);
  EXPECT_EQ(run("rope", {x}), x);
}

}  // namespace
}  // namespace mote
