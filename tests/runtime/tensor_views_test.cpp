// SPDX-License-Identifier: Apache-2.0
// Tests that views show the same elements in another order.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <numeric>
#include <optional>
#include <vector>

#include "mote/runtime/status.h"
#include "mote/runtime/tensor.h"
#include "runtime/expect_error.h"
#include "runtime/unravel.h"

namespace mote {
namespace {

using test::expect_error;
using test::unravel;

/// Returns 0, 1, 2, … in row-major order.
Tensor counting(const AxisList& shape, DType dtype = DType::i64) {
  const Tensor x(dtype, shape);
  const Tensor line = x.reshape({x.element_count()});
  for (std::int64_t k = 0; k < x.element_count(); ++k) line.set({k}, k);
  return x;
}

std::vector<std::int64_t> elements(const Tensor& x) {
  const Tensor line = clone(x).reshape({x.element_count()});
  std::vector<std::int64_t> values;
  for (std::int64_t k = 0; k < x.element_count(); ++k) values.push_back(line.integer_at({k}));
  return values;
}

using Values = std::vector<std::int64_t>;

TEST(View, SliceTakesIndicesForwardAndBack) {
  const Tensor x = counting({3, 4});
  EXPECT_EQ(elements(x.slice(0, 1, 2)), Values({4, 5, 6, 7, 8, 9, 10, 11}));
  EXPECT_EQ(elements(x.slice(1, 1, 2, 2)), Values({1, 3, 5, 7, 9, 11}));
  EXPECT_EQ(elements(x.slice(1, 3, 4, -1).slice(0, 2, 1)), Values({11, 10, 9, 8}));
  EXPECT_EQ(elements(x.slice(0, 2, 2, -2)), Values({8, 9, 10, 11, 0, 1, 2, 3}));
  EXPECT_EQ(x.slice(0, 3, 0).element_count(), 0);
  EXPECT_EQ(x.slice(0, 1, 1).owners(), 2);  // x and the view: no copy
}

TEST(View, SliceStaysInside) {
  const Tensor x = counting({3, 4});
  const auto bad = [&](std::int64_t begin, std::int64_t count, std::int64_t step,
                       const char* part) {
    expect_error(MOTE_INVALID, part, [&] { (void)x.slice(0, begin, count, step); });
  };
  bad(0, 4, 1, "leaves 0..2");
  bad(-1, 1, 1, "leaves 0..2");
  bad(3, 1, 1, "leaves 0..2");
  bad(1, 3, -1, "leaves 0..2");
  bad(4, 0, 1, "leaves 0..2");
  bad(0, -1, 1, "the count must be at least 0");
  bad(0, 1, 0, "the step must not be 0");
  bad(0, INT64_MAX, INT64_MAX, "leaves 0..2");
  expect_error(MOTE_INVALID, "axis 2 of i64[3,4]", [&] { (void)x.slice(2, 0, 1); });
  expect_error(MOTE_INVALID, "axis -1 of i64[3,4]", [&] { (void)x.slice(-1, 0, 1); });
}

TEST(View, SelectDropsAnAxis) {
  const Tensor x = counting({2, 3, 2});
  EXPECT_EQ(x.select(1, 2).shape(), AxisList({2, 2}));
  EXPECT_EQ(elements(x.select(1, 2)), Values({4, 5, 10, 11}));
  EXPECT_EQ(x.select(0, 1).select(0, 0).select(0, 1).integer_at({}), 7);
  expect_error(MOTE_INVALID, "leaves 0..1", [&] { (void)x.select(0, 2); });
}

TEST(View, PermuteReordersAxes) {
  const Tensor x = counting({2, 3});
  EXPECT_EQ(elements(x.permute({1, 0})), Values({0, 3, 1, 4, 2, 5}));
  expect_error(MOTE_INVALID, "each axis must stand there once", [&] { (void)x.permute({0, 0}); });
  expect_error(MOTE_INVALID, "each axis must stand there once", [&] { (void)x.permute({0, 2}); });
  expect_error(MOTE_INVALID, "needs 2 axes", [&] { (void)x.permute({0}); });
}

TEST(View, BroadcastRepeats) {
  const Tensor x = counting({2, 1});
  EXPECT_EQ(elements(x.broadcast_to({2, 2, 3})), Values({0, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 1}));
  EXPECT_EQ(x.broadcast_to({2, 0}).element_count(), 0);
  expect_error(MOTE_INVALID, "axis 0 must be 3 or 1", [&] { (void)x.broadcast_to({3, 1}); });
  expect_error(MOTE_INVALID, "more axes", [&] { (void)x.broadcast_to({2}); });
  expect_error(MOTE_INVALID, "at least 0", [&] { (void)x.broadcast_to({2, -3}); });
}

TEST(View, ReshapeNeverCopies) {
  const Tensor x = counting({4, 6});
  EXPECT_EQ(x.reshape({2, 2, 3, 2}).strides(), AxisList({12, 6, 2, 1}));
  EXPECT_EQ(x.slice(0, 0, 2, 2).reshape({2, 1, 2, 3}).strides(), AxisList({12, 6, 3, 1}));
  EXPECT_EQ(x.reshape({24}).strides(), AxisList({1}));
  EXPECT_EQ(counting({1}).reshape({}).rank(), 0);
  EXPECT_EQ(counting({0, 3}).reshape({5, 0}).shape(), AxisList({5, 0}));
  expect_error(MOTE_INVALID, "need a copy", [&] { (void)x.permute({1, 0}).reshape({24}); });
  expect_error(MOTE_INVALID, "need a copy", [&] { (void)x.slice(1, 0, 3).reshape({12}); });
  expect_error(MOTE_INVALID, "expected 24 elements, got 25", [&] { (void)x.reshape({5, 5}); });
  expect_error(MOTE_INVALID, "at least 0", [&] { (void)x.reshape({-4, -6}); });
}

/// Makes a view by random steps, each of which keeps it legal.
Tensor random_view(Tensor x) {
  const int steps = *rc::gen::inRange(0, 6);
  for (int k = 0; k < steps; ++k) {
    const int axis = x.rank() > 0 ? *rc::gen::inRange(0, x.rank()) : 0;
    const std::int64_t extent = x.rank() > 0 ? x.extent(axis) : 1;
    switch (*rc::gen::inRange(0, 4)) {
      case 0: {
        std::vector<std::int64_t> order(static_cast<std::size_t>(x.rank()));
        std::iota(order.begin(), order.end(), 0);
        if (x.rank() > 1) std::swap(order[0], order[static_cast<std::size_t>(axis)]);
        x = x.permute(order);
        break;
      }
      case 1:
        if (x.rank() > 0) x = x.slice(axis, extent - 1, extent, -1);
        break;
      case 2:
        if (x.rank() > 0 && extent > 1) x = x.slice(axis, 1, extent / 2, extent > 2 ? 2 : 1);
        break;
      default:
        if (x.rank() < kMaxAxes - 1) {
          const AxisList own = x.shape();
          std::vector<std::int64_t> shape(own.begin(), own.end());
          shape.insert(shape.begin(), *rc::gen::inRange(1, 4));
          x = x.broadcast_to(shape);
        }
    }
  }
  return x;
}

TEST(View, CopyOfAnyViewHoldsItsElements) {
  EXPECT_TRUE(rc::check([] {
    const Tensor x = random_view(counting({3, 2, 4}, DType::i32));
    const Tensor y = clone(x);
    RC_ASSERT(y.is_contiguous());
    for (std::int64_t k = 0; k < x.element_count(); ++k) {
      const AxisList index = unravel(k, x.shape());
      RC_ASSERT(y.integer_at(index) == x.integer_at(index));
    }
    if (!x.is_distinct()) return;
    fill(x, -1.0);
    copy(y, x);
    for (std::int64_t k = 0; k < x.element_count(); ++k) {
      const AxisList index = unravel(k, x.shape());
      RC_ASSERT(x.integer_at(index) == y.integer_at(index));
    }
  }));
}

/// Returns the strides for the elements in row-major order, if any exist, by comparing all offsets.
std::optional<AxisList> strides_by_search(const Tensor& x, const AxisList& shape) {
  const auto offset = [&](std::int64_t k) {
    const AxisList index = unravel(k, x.shape());
    std::int64_t sum = 0;
    for (int axis = 0; axis < x.rank(); ++axis) sum += index[axis] * x.stride(axis);
    return sum;
  };
  AxisList strides = shape;
  std::int64_t step = 1;
  for (int axis = shape.size(); axis-- > 0; step *= shape[axis])
    strides[axis] = shape[axis] > 1 ? offset(step) : 0;
  for (std::int64_t k = 0; k < x.element_count(); ++k) {
    const AxisList index = unravel(k, shape);
    std::int64_t sum = 0;
    for (int axis = 0; axis < shape.size(); ++axis) sum += index[axis] * strides[axis];
    if (sum != offset(k)) return std::nullopt;
  }
  return strides;
}

TEST(View, ReshapeFindsStridesWhereThereAreAny) {
  EXPECT_TRUE(rc::check([] {
    const Tensor x = random_view(counting({2, 6, 4}));
    std::vector<std::int64_t> shape;
    std::int64_t rest = x.element_count();
    while (rest > 1 && shape.size() < 10) {
      const std::int64_t factor = *rc::gen::inRange<std::int64_t>(1, 7);
      if (rest % factor != 0) continue;
      shape.push_back(factor);
      rest /= factor;
    }
    if (rest > 1) shape.push_back(rest);
    const auto expected = strides_by_search(x, shape);
    try {
      const Tensor y = x.reshape(shape);
      RC_ASSERT(expected.has_value());
      for (int axis = 0; axis < y.rank(); ++axis)
        if (y.extent(axis) > 1) RC_ASSERT(y.stride(axis) == (*expected)[axis]);
    } catch (const StatusError&) {
      RC_ASSERT(!expected.has_value());
    }
  }));
}

}  // namespace
}  // namespace mote
