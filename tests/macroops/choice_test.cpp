// SPDX-License-Identifier: Apache-2.0
// Tests where, clamp and casts: broadcasting, NaN, saturation.
#include <gtest/gtest.h>

#include <limits>

#include "run.h"

namespace mote {
namespace {

constexpr std::int64_t kLeastI32 = std::numeric_limits<std::int32_t>::min();
constexpr std::int64_t kGreatestI32 = std::numeric_limits<std::int32_t>::max();

TEST(Where, ChoosesAndBroadcastsAllThree) {
  const Array condition = boolean({2, 1}, {1, 0});
  const Array a = f64({1, 1, 1, 2}, {1, kNan}), b = f64({1, 1, 2, 2}, {kNan, 5, 6, 7});
  EXPECT_EQ(run_all("where", DType::f64, {condition, a, b}).at(0),
            f64({1, 1, 2, 2}, {1, kNan, 6, 7}));
  EXPECT_EQ(run_all("where", DType::i32, {condition, i32({1}, {3}), i32({1}, {4})}).at(0),
            i32({1, 1, 2, 1}, {3, 4}));
  EXPECT_EQ(
      run_all("where", DType::boolean, {condition, boolean({1}, {0}), boolean({1}, {1})}).at(0),
      boolean({1, 1, 2, 1}, {0, 1}));
}

TEST(Clamp, WithEitherBoundOrBothOrNone) {
  const Array x = f64({1, 1, 1, 4}, {-5, 0.5, 5, kNan}), low = f64({}, {-1}), high = f64({}, {2});
  EXPECT_EQ(run("clamp", {x, low, high}), f64({1, 1, 1, 4}, {-1, 0.5, 2, kNan}));
  EXPECT_EQ(run("clamp", {x, low, absent()}), f64({1, 1, 1, 4}, {-1, 0.5, 5, kNan}));
  EXPECT_EQ(run("clamp", {x, absent(), high}), f64({1, 1, 1, 4}, {-5, 0.5, 2, kNan}));
  EXPECT_EQ(run("clamp", {x, absent(), absent()}), x);
}

TEST(Clamp, ANanBoundIsNoneAndHighWins) {
  const Array x = f64({1, 1, 1, 2}, {-5, 5}), nan = f64({}, {kNan});
  EXPECT_EQ(run("clamp", {x, nan, nan}), x);
  EXPECT_EQ(run("clamp", {x, f64({}, {4}), f64({}, {1})}), f64({1, 1, 1, 2}, {1, 1}));
  EXPECT_EQ(run("clamp", {i64({1, 1, 1, 2}, {-5, 5}), i64({}, {-2}), i64({}, {3})}),
            i64({1, 1, 1, 2}, {-2, 3}));
}

TEST(Lerp, IsExactAtBothEnds) {
  const Array a = f64({1, 1, 1, 1}, {1e16}), b = f64({1, 1, 1, 1}, {1});
  const Array weight = f64({1, 1, 1, 2}, {0, 1});
  EXPECT_EQ(run("lerp", {a, b, weight}), f64({1, 1, 1, 2}, {1e16, 1}));
  const Array zero = f64({}, {0}), eight = f64({}, {8});
  EXPECT_EQ(run("lerp", {zero, eight, f64({1, 1, 1, 4}, {0.25, 0.75, -1, 2})}),
            f64({1, 1, 1, 4}, {2, 6, -8, 16}));
}

TEST(Cast, RealsTruncateAndSaturate) {
  const Array x = f64({1, 1, 1, 7}, {2.9, -2.9, 1e300, -1e300, kNan, kInf, 0});
  EXPECT_EQ(run("cast_i32", {x}),
            i32({1, 1, 1, 7}, {2, -2, kGreatestI32, kLeastI32, 0, kGreatestI32, 0}));
  const std::int64_t greatest = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(run("cast_i64", {x}),
            i64({1, 1, 1, 7}, {2, -2, greatest, -greatest - 1, 0, greatest, 0}));
  EXPECT_EQ(run("cast_bool", {x}), boolean({1, 1, 1, 7}, {1, 1, 1, 1, 1, 1, 0}));
  EXPECT_EQ(run("cast_f32", {f64({1, 1, 1, 2}, {0.1, 1e300})}), f32({1, 1, 1, 2}, {0.1, kInf}));
}

TEST(Cast, IntegersWrapAndBooleansAreNumbers) {
  const std::int64_t big = (std::int64_t{1} << 33) + 5;
  EXPECT_EQ(run("cast_i32", {i64({1, 1, 1, 2}, {big, kGreatestI32 + 1})}),
            i32({1, 1, 1, 2}, {5, kLeastI32}));
  EXPECT_EQ(run("cast_f32", {i64({1, 1, 1, 1}, {16777217})}), f32({1, 1, 1, 1}, {16777216}));
  EXPECT_EQ(run("cast_f64", {boolean({1, 1, 1, 2}, {1, 0})}), f64({1, 1, 1, 2}, {1, 0}));
  EXPECT_EQ(run("cast_i64", {boolean({1, 1, 1, 2}, {1, 0})}), i64({1, 1, 1, 2}, {1, 0}));
  EXPECT_EQ(run("cast_bool", {boolean({1, 1, 1, 2}, {1, 0})}), boolean({1, 1, 1, 2}, {1, 0}));
}

}  // namespace
}  // namespace mote
