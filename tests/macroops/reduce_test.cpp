// SPDX-License-Identifier: Apache-2.0
// Tests reductions over the middle axis: values, empty axes, NaN, ties, integers.
#include <gtest/gtest.h>

#include <cmath>

#include "mote/base/error.h"
#include "run.h"

namespace mote {
namespace {

constexpr std::int64_t kLeast32 = std::numeric_limits<std::int32_t>::min();
constexpr std::int64_t kGreatest32 = std::numeric_limits<std::int32_t>::max();

TEST(Reduce, RunsOverTheMiddleAxis) {
  const Array x = f64({2, 3, 2}, {1, 2, 3, 4, 5, 6, -1, 0, 8, 2, 2, 4});
  EXPECT_EQ(run("sum", {x}), f64({2, 2}, {9, 12, 9, 6}));
  EXPECT_EQ(run("mean", {x}), f64({2, 2}, {3, 4, 3, 2}));
  EXPECT_EQ(run("prod", {x}), f64({2, 2}, {15, 48, -16, 0}));
  EXPECT_EQ(run("reduce_max", {x}), f64({2, 2}, {5, 6, 8, 4}));
  EXPECT_EQ(run("reduce_min", {x}), f64({2, 2}, {1, 2, -1, 0}));
  EXPECT_EQ(run("argmax", {x}), i64({2, 2}, {2, 2, 1, 2}));
}

TEST(Reduce, NormsAndSquares) {
  const Array x = f64({1, 3, 2}, {3, -1, 0, -2, -4, 2});
  EXPECT_EQ(run("norm1", {x}), f64({1, 2}, {7, 5}));
  EXPECT_EQ(run("norm2", {x}), f64({1, 2}, {5, 3}));
  EXPECT_EQ(run("sumsq", {x}), f64({1, 2}, {25, 9}));
  EXPECT_EQ(run("argmin", {x}), i64({1, 2}, {2, 1}));
  EXPECT_EQ(run("norm1", {i32({1, 2, 1}, {-3, 4})}), i32({1, 1}, {7}));
  EXPECT_EQ(run("sumsq", {i32({1, 2, 1}, {1 << 16, 3})}), i32({1, 1}, {9}));
  const Array none = f64({1, 0, 1}, {});
  for (const char* op : {"norm1", "norm2", "sumsq"}) {
    EXPECT_EQ(run(op, {none}), f64({1, 1}, {0})) << op;
    EXPECT_EQ(run(op, {f64({1, 2, 1}, {kNan, 1})}), f64({1, 1}, {kNan})) << op;
  }
}

TEST(Reduce, AnyAndAll) {
  const Array x = boolean({1, 2, 3}, {0, 1, 1, 0, 0, 1});
  EXPECT_EQ(run("any", {x}), boolean({1, 3}, {0, 1, 1}));
  EXPECT_EQ(run("all", {x}), boolean({1, 3}, {0, 0, 1}));
  EXPECT_EQ(run("any", {boolean({1, 0, 1}, {})}), boolean({1, 1}, {0}));
  EXPECT_EQ(run("all", {boolean({1, 0, 1}, {})}), boolean({1, 1}, {1}));
}

TEST(Variance, TakesTheCorrectionFromTheCount) {
  const Array x =
      f64({1, 4, 1}, {1, 3, 5, 7});  // the sum of squared deviations from the mean is 20
  EXPECT_EQ(run("var", {x}), f64({1, 1}, {20.0 / 3}));
  EXPECT_EQ(run("var", {x}, {{"correction", 0}}), f64({1, 1}, {5}));
  EXPECT_EQ(run("std", {f64({1, 2, 1}, {1, 7})}, {{"correction", 0}}), f64({1, 1}, {3}));
  EXPECT_EQ(run("var", {x}, {{"correction", 4}}), f64({1, 1}, {kInf}));
  EXPECT_EQ(run("var", {x}, {{"correction", 9}}), f64({1, 1}, {kInf}));
  EXPECT_EQ(run("var", {f64({1, 1, 1}, {3})}), f64({1, 1}, {kNan}));
  EXPECT_EQ(run("std", {f64({1, 0, 1}, {})}), f64({1, 1}, {kNan}));
  EXPECT_EQ(run("var", {f64({1, 2, 1}, {1e8 - 1, 1e8 + 1})}), f64({1, 1}, {2}));
}

TEST(Cumsum, ForwardsBackwardsWithAndWithoutTheElement) {
  const Array x = f64({1, 3, 2}, {1, 10, 2, 20, 4, 40});
  EXPECT_EQ(run("cumsum", {x}), f64({1, 3, 2}, {1, 10, 3, 30, 7, 70}));
  EXPECT_EQ(run("cumsum", {x}, {{"exclusive", 1}}), f64({1, 3, 2}, {0, 0, 1, 10, 3, 30}));
  EXPECT_EQ(run("cumsum", {x}, {{"reverse", 1}}), f64({1, 3, 2}, {7, 70, 6, 60, 4, 40}));
  EXPECT_EQ(run("cumsum", {x}, {{"reverse", 1}, {"exclusive", 1}}),
            f64({1, 3, 2}, {6, 60, 4, 40, 0, 0}));
  EXPECT_EQ(run("cumsum", {f64({1, 3, 1}, {1, kNan, 1})}), f64({1, 3, 1}, {1, kNan, kNan}));
  EXPECT_EQ(run("cumsum", {i64({1, 0, 1}, {})}), i64({1, 0, 1}, {}));
  EXPECT_THROW(run("cumsum", {x}, {{"reverse", 2}}), Error);
}

TEST(Reduce, EmptyAxes) {
  const Array none = f64({1, 0, 1}, {}), no_integers = i32({1, 0, 1}, {});
  EXPECT_EQ(run("sum", {none}), f64({1, 1}, {0}));
  EXPECT_EQ(run("mean", {none}), f64({1, 1}, {kNan}));
  EXPECT_EQ(run("prod", {none}), f64({1, 1}, {1}));
  EXPECT_EQ(run("reduce_max", {none}), f64({1, 1}, {-kInf}));
  EXPECT_EQ(run("reduce_min", {none}), f64({1, 1}, {kInf}));
  EXPECT_EQ(run("mean", {no_integers}), i32({1, 1}, {0}));
  EXPECT_EQ(run("reduce_max", {no_integers}), i32({1, 1}, {kLeast32}));
  EXPECT_EQ(run("reduce_min", {no_integers}), i32({1, 1}, {kGreatest32}));
  EXPECT_THROW(run("argmax", {none}), Error);
  EXPECT_THROW(run("argmin", {none}), Error);
}

TEST(Reduce, NanPropagates) {
  const Array x = f64({1, 3, 1}, {1, kNan, 2});
  for (const char* op : {"sum", "mean", "prod", "reduce_max", "reduce_min"}) {
    EXPECT_EQ(run(op, {x}), f64({1, 1}, {kNan})) << op;
  }
}

TEST(Argmax, TheFirstWins) {
  EXPECT_EQ(run("argmax", {f64({1, 4, 1}, {1, 5, 5, 2})}), i64({1, 1}, {1}));
  EXPECT_EQ(run("argmax", {f64({1, 4, 1}, {1, 5, kNan, kNan})}), i64({1, 1}, {2}));
  EXPECT_EQ(run("argmax", {f64({1, 2, 1}, {-kInf, -kInf})}), i64({1, 1}, {0}));
  EXPECT_EQ(run("argmax", {i32({1, 3, 1}, {kLeast32, kLeast32, 7})}), i64({1, 1}, {2}));
  EXPECT_EQ(run("argmin", {f64({1, 4, 1}, {5, 1, 1, 2})}), i64({1, 1}, {1}));
  EXPECT_EQ(run("argmin", {f64({1, 4, 1}, {1, 5, kNan, kNan})}), i64({1, 1}, {2}));
}

TEST(Argmax, TheLastWinsWhereAskedFor) {
  const auto last = [](const char* op, const Array& x) { return run(op, {x}, {{"last", 1}}); };
  EXPECT_EQ(last("argmax", f64({1, 4, 1}, {1, 5, 5, 2})), i64({1, 1}, {2}));
  EXPECT_EQ(last("argmax", f64({1, 4, 1}, {kNan, kNan, 5, 2})), i64({1, 1}, {1}));
  EXPECT_EQ(last("argmin", i32({1, 3, 2}, {1, 4, 1, 3, 2, 3})), i64({1, 2}, {1, 2}));
  EXPECT_EQ(last("argmax", f64({2, 2, 1}, {1, 0, 0, 1})), i64({2, 1}, {0, 1}));
}

TEST(Reduce, LogOfTheSum) {
  EXPECT_EQ(run("logsum", {f64({1, 2, 2}, {1, 3, 4, -3})}), f64({1, 2}, {std::log(5.0), -kInf}));
  EXPECT_EQ(run("logsum", {f64({1, 0, 1}, {})}), f64({1, 1}, {-kInf}));
  EXPECT_EQ(run("logsum", {f64({1, 1, 1}, {-1})}), f64({1, 1}, {kNan}));
}

TEST(Reduce, IntegersAccumulateIn64BitsAndWrapWhenStored) {
  EXPECT_EQ(run("sum", {i32({1, 3, 1}, {kGreatest32, kGreatest32, -kGreatest32})}),
            i32({1, 1}, {kGreatest32}));
  EXPECT_EQ(run("sum", {i32({1, 2, 1}, {kGreatest32, 1})}), i32({1, 1}, {kLeast32}));
  EXPECT_EQ(run("mean", {i32({1, 2, 1}, {kGreatest32, kGreatest32})}), i32({1, 1}, {kGreatest32}));
  EXPECT_EQ(run("mean", {i64({1, 2, 2}, {-3, 3, 0, 0})}), i64({1, 2}, {-1, 1}));
  EXPECT_EQ(run("prod", {i32({1, 2, 1}, {1 << 20, 1 << 20})}), i32({1, 1}, {0}));
  EXPECT_EQ(run("prod", {i64({1, 2, 1}, {1 << 20, 1 << 20})}),
            i64({1, 1}, {std::int64_t{1} << 40}));
}

TEST(Reduce, RoundsOnceToF32) {
  EXPECT_EQ(run("sum", {f32({1, 3, 1}, {16777216, 1, 1})}), f32({1, 1}, {16777218}));
}

}  // namespace
}  // namespace mote
