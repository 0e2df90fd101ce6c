// SPDX-License-Identifier: Apache-2.0
// Tests ops that move elements: pads on every side, cropping, slices, copies.
#include <gtest/gtest.h>

#include "mote/base/error.h"
#include "run.h"

namespace mote {
namespace {

Params sides(int before, int after) { return {{"pads3", before}, {"pads7", after}}; }

TEST(Pad, OneAxis) {
  const Array x = row({1, 2, 3});
  EXPECT_EQ(run("pad_constant", {x}, sides(2, 1)), row({0, 0, 1, 2, 3, 0}));
  EXPECT_EQ(run("pad_edge", {x}, sides(2, 1)), row({1, 1, 1, 2, 3, 3}));
  EXPECT_EQ(run("pad_reflect", {x}, sides(2, 1)), row({3, 2, 1, 2, 3, 2}));
  Params seven = sides(1, 0);
  seven["value"] = 7.0;
  EXPECT_EQ(run("pad_constant", {x}, seven), row({7, 1, 2, 3}));
  EXPECT_EQ(run("pad_constant", {i32({1, 1, 1, 1}, {5})}, {{"pads3", 1}, {"value", -1}}),
            i32({1, 1, 1, 2}, {-1, 5}));
}

TEST(Pad, NegativeCrops) {
  const Array x = row({1, 2, 3, 4});
  for (const char* op : {"pad_constant", "pad_edge", "pad_reflect"}) {
    EXPECT_EQ(run(op, {x}, sides(-1, -2)), row({2})) << op;
    EXPECT_EQ(run(op, {x}, sides(-4, 0)), row({})) << op;
    EXPECT_THROW(run(op, {x}, sides(-4, -1)), Error) << op;
  }
  EXPECT_EQ(run("pad_edge", {x}, sides(-1, 2)), row({2, 3, 4, 4, 4}));
  EXPECT_EQ(run("pad_reflect", {x}, sides(-1, 2)), row({2, 3, 4, 3, 2}));
}

TEST(Pad, FarAndShort) {
  EXPECT_EQ(run("pad_reflect", {row({1, 2})}, sides(3, 4)), row({2, 1, 2, 1, 2, 1, 2, 1, 2}));
  EXPECT_EQ(run("pad_reflect", {row({5})}, sides(1, 2)), row({5, 5, 5, 5}));
  EXPECT_EQ(run("pad_edge", {row({})}, sides(1, 1)), row({0, 0}));
  EXPECT_EQ(run("pad_reflect", {row({})}, sides(1, 1)), row({0, 0}));
}

TEST(Pad, WrapGoesRound) {
  EXPECT_EQ(run("pad_wrap", {row({1, 2, 3})}, sides(4, 5)),
            row({3, 1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2}));
  EXPECT_EQ(run("pad_wrap", {row({1, 2, 3})}, sides(-1, 2)), row({2, 3, 1, 2}));
  EXPECT_EQ(run("pad_wrap", {row({})}, sides(1, 1)), row({0, 0}));
}

TEST(Pad, EveryAxisHasItsPads) {
  const Array x = f64({1, 1, 2, 2}, {1, 2, 3, 4});
  EXPECT_EQ(run("pad_constant", {x}, {{"pads2", 1}, {"pads7", 1}}),
            f64({1, 1, 3, 3}, {0, 0, 0, 1, 2, 0, 3, 4, 0}));
  EXPECT_EQ(run("pad_edge", {x}, {{"pads6", 1}, {"pads3", 1}}),
            f64({1, 1, 3, 3}, {1, 1, 2, 3, 3, 4, 3, 3, 4}));
  EXPECT_EQ(run("pad_constant", {f64({1, 1, 1, 1}, {3})}, {{"pads0", 1}, {"pads5", 1}}),
            f64({2, 2, 1, 1}, {0, 0, 3, 0}));
  EXPECT_EQ(run("pad_edge", {f64({1, 2, 1, 1}, {3, 4})}, {{"pads4", 1}, {"pads1", 1}}),
            f64({2, 3, 1, 1}, {3, 3, 4, 3, 3, 4}));
}

TEST(Concat, OneAfterTheOther) {
  const Array a = f64({2, 1, 2}, {1, 2, 3, 4}), b = f64({2, 2, 2}, {5, 6, 7, 8, 9, 10, 11, kNan});
  EXPECT_EQ(run("concat", {a, b}), f64({2, 3, 2}, {1, 2, 5, 6, 7, 8, 3, 4, 9, 10, 11, kNan}));
  EXPECT_EQ(run("concat", {f64({2, 0, 2}, {}), b}), b);
  EXPECT_EQ(run("concat", {a, f64({2, 0, 2}, {})}), a);
  EXPECT_THROW(run("concat", {a, f64({1, 1, 2}, {1, 2})}), Error);
}

TEST(Slice, CountsFromAStartByAStep) {
  const Array x = i64({1, 5, 1}, {10, 11, 12, 13, 14});
  const auto slice = [&](int start, int count, int step) {
    return run("slice", {x}, {{"start", start}, {"count", count}, {"step", step}});
  };
  for (int start = -5; start < 5; ++start) {
    for (int step = -3; step <= 3; ++step) {
      std::vector<std::int64_t> want;
      for (int k = start < 0 ? start + 5 : start; k >= 0 && k < 5 && want.size() < 5; k += step) {
        want.push_back(10 + k);
        EXPECT_EQ(slice(start, static_cast<int>(want.size()), step),
                  i64({1, std::ssize(want), 1}, want));
      }
    }
  }
  EXPECT_EQ(slice(2, 0, 1), i64({1, 0, 1}, {}));
  EXPECT_EQ(slice(2, -3, 1), i64({1, 0, 1}, {}));
  EXPECT_EQ(slice(3, 3, 1), i64({1, 3, 1}, {13, 14, 0}));
  EXPECT_THROW(run("slice", {x}), Error);
}

TEST(Slice, KeepsTheAxesAround) {
  const Array x = f64({2, 3, 2}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  EXPECT_EQ(run("slice", {x}, {{"start", 1}, {"count", 2}}),
            f64({2, 2, 2}, {3, 4, 5, 6, 9, 10, 11, 12}));
}

TEST(Tile, RepeatsEveryAxis) {
  const Array x = i64({1, 1, 2, 2}, {1, 2, 3, 4});
  EXPECT_EQ(run("tile", {x}), x);
  EXPECT_EQ(run("tile", {x}, {{"repeats2", 2}, {"repeats3", 2}}),
            i64({1, 1, 4, 4}, {1, 2, 1, 2, 3, 4, 3, 4, 1, 2, 1, 2, 3, 4, 3, 4}));
  EXPECT_EQ(run("tile", {i64({1, 2, 1, 1}, {1, 2})}, {{"repeats0", 2}}),
            i64({2, 2, 1, 1}, {1, 2, 1, 2}));
  EXPECT_EQ(run("tile", {i64({1, 2, 1, 1}, {1, 2})}, {{"repeats1", 2}}),
            i64({1, 4, 1, 1}, {1, 2, 1, 2}));
  EXPECT_EQ(run("tile", {i64({1, 0, 1, 2}, {})}, {{"repeats1", 3}}), i64({1, 0, 1, 2}, {}));
  EXPECT_THROW(run("tile", {x}, {{"repeats0", 0}}), Error);
}

TEST(Flip, TurnsTheMiddleAxis) {
  EXPECT_EQ(run("flip", {f64({2, 3, 1}, {1, 2, 3, 4, 5, 6})}), f64({2, 3, 1}, {3, 2, 1, 6, 5, 4}));
  EXPECT_EQ(run("flip", {f64({1, 0, 1}, {})}), f64({1, 0, 1}, {}));
}

}  // namespace
}  // namespace mote
