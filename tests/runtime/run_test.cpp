// SPDX-License-Identifier: Apache-2.0
// Tests running commands: any rank and strides against a naive loop, in-place pairs, backends,
// errors.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <vector>

#include "mote/runtime/command.h"
#include "mote/runtime/infer.h"
#include "mote/runtime/status.h"
#include "mote/runtime/tensor.h"
#include "runtime/expect_error.h"
#include "runtime/unravel.h"

namespace mote {
namespace {

using test::expect_error;
using test::unravel;

/// Makes small integers in memory of any order, with gaps or backwards.
Tensor random_tensor(DType dtype, const AxisList& shape) {
  std::vector<std::int64_t> order;
  for (int axis = 0; axis < shape.size(); ++axis) order.push_back(axis);
  for (int axis = shape.size(); axis-- > 1;)
    std::swap(order[static_cast<std::size_t>(axis)],
              order[static_cast<std::size_t>(*rc::gen::inRange(0, axis + 1))]);
  AxisList stored = shape;
  AxisList back = shape;
  for (int k = 0; k < shape.size(); ++k) {
    stored[k] = shape[static_cast<int>(order[static_cast<std::size_t>(k)])];
    back[static_cast<int>(order[static_cast<std::size_t>(k)])] = k;
  }
  const int padded = shape.size() > 0 ? *rc::gen::inRange(-1, shape.size()) : -1;
  if (padded >= 0) stored[padded] += 2;
  Tensor x(dtype, stored);
  fill(x, 77.0);
  if (padded >= 0) x = x.slice(padded, 1, stored[padded] - 2);
  x = x.permute(back);
  const int flipped = shape.size() > 0 ? *rc::gen::inRange(-1, shape.size()) : -1;
  if (flipped >= 0 && shape[flipped] > 0)
    x = x.slice(flipped, shape[flipped] - 1, shape[flipped], -1);
  for (std::int64_t k = 0; k < x.element_count(); ++k)
    x.set(unravel(k, shape), std::int64_t{*rc::gen::inRange(-3, 4)});
  return x;
}

AxisList random_shape(int least, int most) {
  AxisList shape;
  const int rank = *rc::gen::inRange(least, most + 1);
  for (int axis = 0; axis < rank; ++axis) shape.push_back(*rc::gen::inRange(1, 4));
  return shape;
}

/// Converts the index to one of a broadcast tensor: aligned at the end, 0 where its extent is 1.
AxisList seen_by(const Tensor& x, const AxisList& index) {
  AxisList own = x.shape();
  for (int axis = 0; axis < x.rank(); ++axis)
    own[axis] = x.extent(axis) == 1 ? 0 : index[index.size() - x.rank() + axis];
  return own;
}

TEST(Run, PointwiseOpsTakeAnyRankAndBroadcast) {
  EXPECT_TRUE(rc::check([] {
    const AxisList shape = random_shape(0, 7);
    const auto operand = [&] {
      AxisList own;
      const int dropped = *rc::gen::inRange(0, shape.size() + 1);
      for (int axis = dropped; axis < shape.size(); ++axis)
        own.push_back(*rc::gen::inRange(0, 3) == 0 ? 1 : shape[axis]);
      return random_tensor(DType::i32, own);
    };
    const Tensor a = operand();
    const Tensor b = operand();
    Tensor y = random_tensor(DType::i32, shape);
    run(Command("sub"), {&a, &b}, {&y});
    for (std::int64_t k = 0; k < y.element_count(); ++k) {
      const AxisList index = unravel(k, shape);
      RC_ASSERT(y.integer_at(index) ==
                a.integer_at(seen_by(a, index)) - b.integer_at(seen_by(b, index)));
    }
  }));
}

TEST(Run, TwelveAxesThatCannotBeMerged) {
  const AxisList shape = {2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2};
  AxisList strides = shape;
  for (int axis = 0; axis < 12; ++axis) strides[axis] = std::int64_t{1} << (axis + axis / 2);
  std::vector<std::int32_t> memory(1U << 18, 5);
  Tensor y = Tensor::over(memory.data(), DType::i32, shape, strides);
  const Tensor x(DType::i32, shape);
  for (std::int64_t k = 0; k < x.element_count(); ++k) x.set(unravel(k, shape), k);
  run(Command("neg"), {&x}, {&y});
  for (std::int64_t k = 0; k < x.element_count(); ++k)
    ASSERT_EQ(y.integer_at(unravel(k, shape)), -k);
}

/// Returns the shape with the axis dropped, or kept with extent 1.
AxisList reduced(const AxisList& shape, int axis, bool keep) {
  AxisList out = shape;
  if (keep)
    out[axis] = 1;
  else
    out.erase(axis);
  return out;
}

TEST(Run, AnAxisIsChosenInAnyRank) {
  EXPECT_TRUE(rc::check([] {
    const AxisList shape = random_shape(1, 6);
    const int axis = *rc::gen::inRange(0, shape.size());
    const bool keep = *rc::gen::inRange(0, 2) == 1;
    const Tensor x = random_tensor(DType::i64, shape);
    Tensor sums = random_tensor(DType::i64, reduced(shape, axis, keep));
    Tensor running = random_tensor(DType::i64, shape);
    const int written = *rc::gen::inRange(0, 2) == 1 ? axis : axis - shape.size();
    run(Command("sum", {}, written), {&x}, {&sums});
    run(Command("cumsum", {}, written), {&x}, {&running});
    for (std::int64_t k = 0; k < x.element_count(); ++k) {
      const AxisList index = unravel(k, shape);
      std::int64_t sum = 0;
      AxisList at = index;
      for (at[axis] = 0; at[axis] < shape[axis]; ++at[axis]) {
        sum += x.integer_at(at);
        if (at[axis] == index[axis]) RC_ASSERT(running.integer_at(index) == sum);
      }
      AxisList where = index;
      if (keep)
        where[axis] = 0;
      else
        where.erase(axis);
      RC_ASSERT(sums.integer_at(where) == sum);
    }
  }));
}

TEST(Run, LossesOverClassesWorkAlongAxisOneOfAnyRank) {
  const Tensor x(DType::f64, {3, 4});
  const Tensor t(DType::i64, {3});
  for (std::int64_t n = 0; n < 3; ++n) {
    t.set({n}, n + 1);
    for (std::int64_t k = 0; k < 4; ++k) x.set({n, k}, static_cast<double>(n * 4 + k * k) / 8);
  }
  const Tensor three = x.reshape({3, 4, 1}), three_t = t.reshape({3, 1});
  const Tensor four = x.reshape({3, 4, 1, 1}), four_t = t.reshape({3, 1, 1});
  for (const char* op : {"cross_entropy", "nll", "cross_entropy_none", "nll_none"}) {
    const Command command(op);
    const Tensor canonical = compute(command, {&three, &three_t})[0];
    const Tensor plain = compute(command, {&x, &t})[0];
    const Tensor wide = compute(command, {&four, &four_t})[0];
    const Tensor last = compute(Command(op, {}, -1), {&x, &t})[0];
    for (const Tensor* y : {&plain, &wide, &last})
      for (std::int64_t k = 0; k < canonical.element_count(); ++k)
        EXPECT_EQ(y->reshape({y->element_count()}).real_at({k}),
                  canonical.reshape({canonical.element_count()}).real_at({k}))
            << op;
    EXPECT_EQ(plain.rank(), canonical.rank() == 0 ? 0 : 1);
  }
}

TEST(Run, MatmulTakesABatchOfAnyRank) {
  EXPECT_TRUE(rc::check([] {
    const AxisList batch = random_shape(0, 5);
    const std::int64_t m = *rc::gen::inRange(1, 4);
    const std::int64_t n = *rc::gen::inRange(1, 4);
    const std::int64_t depth = *rc::gen::inRange(1, 4);
    const auto with = [](AxisList shape, std::int64_t rows, std::int64_t columns) {
      shape.push_back(rows);
      shape.push_back(columns);
      return shape;
    };
    const Tensor a = random_tensor(DType::i64, with(batch, m, depth));
    const bool shared = *rc::gen::inRange(0, 2) == 1;  // one b for the whole batch
    const Tensor b = random_tensor(DType::i64, with(shared ? AxisList() : batch, depth, n));
    Tensor y = random_tensor(DType::i64, with(batch, m, n));
    run(Command("matmul"), {&a, &b}, {&y});
    for (std::int64_t k = 0; k < y.element_count(); ++k) {
      const AxisList index = unravel(k, y.shape());
      AxisList at_a = index;
      AxisList at_b = shared ? AxisList({0, index[y.rank() - 1]}) : index;
      std::int64_t sum = 0;
      for (std::int64_t d = 0; d < depth; ++d) {
        at_a[a.rank() - 1] = d;
        at_b[b.rank() - 2] = d;
        sum += a.integer_at(at_a) * b.integer_at(at_b);
      }
      RC_ASSERT(y.integer_at(index) == sum);
    }
  }));
}

TEST(Run, LayerNormTakesTheAxesFromTheChosenOneOn) {
  const Tensor x(DType::f64, {2, 3, 2, 4});
  for (std::int64_t k = 0; k < x.element_count(); ++k) x.set(unravel(k, x.shape()), k * k % 11);
  const Tensor gamma(DType::f64, {2, 4});
  fill(gamma, 2.0);
  Tensor y(DType::f64, {2, 3, 2, 4});
  Tensor expected(DType::f64, {6, 8});
  run(Command("layer_norm", {}, 2), {&x, &gamma}, {&y});
  const Tensor flat_x = x.reshape({6, 8});
  const Tensor flat_gamma = gamma.reshape({8});
  run(Command("layer_norm"), {&flat_x, &flat_gamma}, {&expected});
  const Tensor flat_y = y.reshape({6, 8});
  for (std::int64_t k = 0; k < 48; ++k)
    EXPECT_EQ(flat_y.real_at({k / 8, k % 8}), expected.real_at({k / 8, k % 8}));
  const Tensor gaps = Tensor(DType::f64, {2, 3, 4, 4}).slice(2, 0, 2, 2);
  expect_error(MOTE_UNSUPPORTED, "layer_norm: the axes of N must be one", [&] {
    run(Command("layer_norm", {}, 2), {&gaps, &gamma}, {&y});
  });
}

TEST(Run, OptionalInputsMayBeLeftOut) {
  const Tensor x(DType::f32, {1, 2, 3, 3});
  const Tensor w(DType::f32, {4, 2, 2, 2});
  const Tensor b(DType::f32, {4});
  fill(x, 1.0);
  fill(w, 1.0);
  fill(b, 5.0);
  Tensor y(DType::f32, {1, 4, 2, 2});
  run(Command("conv2d"), {&x, &w}, {&y});
  EXPECT_EQ(y.real_at({0, 3, 1, 1}), 8);
  run(Command("conv2d"), {&x, &w, nullptr}, {&y});
  EXPECT_EQ(y.real_at({0, 3, 1, 1}), 8);
  run(Command("conv2d"), {&x, &w, &b}, {&y});
  EXPECT_EQ(y.real_at({0, 3, 1, 1}), 13);
}

TEST(Run, OptionalOutputsMayBeLeftOut) {
  const Command norm("layer_norm_with_statistics");
  Tensor x(DType::f32, {2, 3}), y(DType::f32, {2, 3}), other(DType::f32, {2, 3});
  Tensor mean(DType::f32, {2}), inv_std(DType::f32, {2});
  for (std::int64_t k = 0; k < 6; ++k) x.set({k / 3, k % 3}, static_cast<double>(k * k));
  run(norm, {&x}, {&y, &mean, &inv_std});
  fill(mean, 0.0);
  run(norm, {&x}, {&other, &mean, nullptr});
  for (std::int64_t k = 0; k < 6; ++k)
    EXPECT_EQ(other.real_at({k / 3, k % 3}), y.real_at({k / 3, k % 3}));
  EXPECT_EQ(mean.real_at({1}), (9.0F + 16 + 25) / 3);
  expect_error(MOTE_INVALID, "output y is missing", [&] {
    run(norm, {&x}, {nullptr, &mean, &inv_std});
  });
}

TEST(Run, ABatchOfOneMayBeLeftOut) {
  const Tensor x(DType::f32, {2, 3, 3});
  const Tensor w(DType::f32, {4, 2, 2, 2});
  fill(x, 1.0);
  fill(w, 1.0);
  Tensor y(DType::f32, {4, 2, 2});
  run(Command("conv2d"), {&x, &w}, {&y});
  EXPECT_EQ(y.real_at({3, 1, 1}), 8);
}

TEST(Run, LayoutsAreStrides) {
  const Tensor rows(DType::f32, {2, 3, 4, 5});
  for (std::int64_t k = 0; k < rows.element_count(); ++k) rows.set(unravel(k, rows.shape()), k % 7);
  const Tensor w(DType::f32, {2, 3, 2, 2});
  for (std::int64_t k = 0; k < w.element_count(); ++k) w.set(unravel(k, w.shape()), k % 5);
  Tensor expected(DType::f32, {2, 2, 3, 4});
  run(Command("conv2d"), {&rows, &w}, {&expected});
  for (const Layout layout : {Layout::nhwc, Layout::chwn}) {
    const Tensor x(DType::f32, rows.shape(), layout);
    copy(rows, x);
    Tensor y(DType::f32, expected.shape(), layout);
    run(Command("conv2d"), {&x, &w}, {&y});
    for (std::int64_t k = 0; k < y.element_count(); ++k)
      EXPECT_EQ(y.real_at(unravel(k, y.shape())), expected.real_at(unravel(k, y.shape())));
  }
}

TEST(Run, AnInPlacePairMayShareOneView) {
  Tensor x(DType::f32, {3, 2, 2, 2, 3});
  for (std::int64_t k = 0; k < x.element_count(); ++k) x.set(unravel(k, x.shape()), k % 4);
  const Tensor before = clone(x);
  Tensor expected(DType::f32, x.shape());
  run(Command("softmax", {}, 2), {&before}, {&expected});
  Tensor view = x.permute({4, 1, 2, 3, 0});
  Tensor same = view;
  run(Command("softmax", {}, 2), {&view}, {&same});
  const Tensor turned = expected.permute({4, 1, 2, 3, 0});
  for (std::int64_t k = 0; k < x.element_count(); ++k)
    EXPECT_EQ(view.real_at(unravel(k, view.shape())), turned.real_at(unravel(k, view.shape())));
}

TEST(Run, OtherSharedMemoryIsRefused) {
  Tensor x(DType::f32, {4, 4});
  fill(x, 1.0);
  Tensor turned = x.permute({1, 0});
  Tensor shifted = x.slice(0, 1, 3);
  const Tensor head = x.slice(0, 0, 3);
  expect_error(MOTE_INVALID, "relu: x and output y overlap in memory",
               [&] { run(Command("relu"), {&x}, {&turned}); });
  expect_error(MOTE_INVALID, "overlap in memory",
               [&] { run(Command("relu"), {&head}, {&shifted}); });
  expect_error(MOTE_INVALID, "matmul: a and output y overlap in memory", [&] {
    run(Command("matmul"), {&x, &x}, {&x});
  });
  Tensor repeated = x.slice(0, 0, 1).broadcast_to({4, 4});
  const Tensor other = clone(x);
  expect_error(MOTE_INVALID, "relu: elements of output y share memory: strides [0,1]",
               [&] { run(Command("relu"), {&other}, {&repeated}); });
  EXPECT_EQ(x.real_at({3, 3}), 1);
}

TEST(Run, ViewsBetweenEachOtherShareNothing) {
  Tensor x(DType::f32, {3, 4});
  fill(x, -2.0);
  const Tensor left = x.slice(1, 0, 2);
  Tensor right = x.slice(1, 2, 2);
  run(Command("neg"), {&left}, {&right});
  const Tensor even = x.slice(1, 0, 2, 2);
  Tensor odd = x.slice(1, 1, 2, 2);
  run(Command("abs"), {&even}, {&odd});
  for (std::int64_t row = 0; row < 3; ++row) {
    EXPECT_EQ(x.real_at({row, 0}), -2);
    EXPECT_EQ(x.real_at({row, 1}), 2);
    EXPECT_EQ(x.real_at({row, 2}), 2);
    EXPECT_EQ(x.real_at({row, 3}), 2);
  }
}

TEST(Run, IllegalCallsAreRefusedBeforeDataIsTouched) {
  const Tensor x(DType::f32, {2, 3, 4});
  const Tensor narrow(DType::f16, {2, 3, 4});
  const Tensor text(DType::boolean, {2, 3, 4});
  const Tensor five(DType::f32, {2, 2, 2, 2, 2});
  Tensor y(DType::f32, {2, 3, 4});
  Tensor wrong(DType::f32, {2, 3, 5});
  Tensor scalar(DType::f32, {});
  const Tensor y4(DType::f32, {1, 2, 3, 4});
  Tensor wide(DType::f64, {2, 3, 4});
  Tensor empty = Tensor::over(nullptr, DType::f32, {2, 3, 4});
  Tensor away = Tensor::over(&y, DType::f32, {2, 3, 4}, {12, 4, 1}, {kDLCUDA, 0});
  fill(y, 7.0);
  struct Case {
    const char* op;
    std::vector<const Tensor*> inputs;
    std::vector<Tensor*> outputs;
    mote_status status;
    const char* part;
    std::optional<int> axis = {};
  };
  const Case cases[] = {
      {"relu", {}, {&y}, MOTE_INVALID, "relu: input x is missing"},
      {"relu", {nullptr}, {&y}, MOTE_INVALID, "relu: input x is missing"},
      {"relu", {&x, &x}, {&y}, MOTE_INVALID, "relu: takes at most 1 inputs, got 2"},
      {"relu", {&x}, {}, MOTE_INVALID, "relu: has 1 outputs, got 0"},
      {"relu", {&x}, {nullptr}, MOTE_INVALID, "relu: output y is missing"},
      {"relu", {&x}, {&wide}, MOTE_INVALID, "relu: dtypes of x and y differ (x f32[2,3,4], y f64"},
      {"relu",
       {&x},
       {&wrong},
       MOTE_INVALID,
       "relu: axes of x f32[2,3,4] do not fit: the shape is [2,3,5]"},
      {"relu", {&x}, {&scalar}, MOTE_INVALID, "relu: x f32[2,3,4] has 3 axes, expected 0"},
      {"add", {&x, &narrow}, {&y}, MOTE_INVALID, "add: dtypes of a and b differ"},
      {"relu", {&empty}, {&y}, MOTE_INVALID, "relu: x has no data"},
      {"relu", {&x}, {&empty}, MOTE_INVALID, "relu: y has no data"},
      {"relu", {&x}, {&away}, MOTE_UNSUPPORTED, "relu: no kernel takes tensors of several devices"},
      {"isnan", {&x}, {&y}, MOTE_INVALID, "isnan: y must be bool, got f32[2,3,4]"},
      {"softmax", {&text}, {&y}, MOTE_INVALID, "softmax: dtypes of x and y differ"},
      {"softmax", {&x}, {&wrong}, MOTE_INVALID, "softmax: axis 2 of y must be C"},
      {"softmax", {&x}, {&y}, MOTE_INVALID, "softmax: axis must be in -3..2, got 3", 3},
      {"softmax", {&x}, {&y}, MOTE_INVALID, "softmax: axis must be in -3..2, got -4", -4},
      {"relu", {&x}, {&y}, MOTE_INVALID, "relu: it works along no axis that could be chosen", 1},
      {"conv2d",
       {&x, &five},
       {&y},
       MOTE_INVALID,
       "conv2d: w must have at most 4 axes, got w f32[2,2,2,2,2]"},
      {"conv2d",
       {&x, &x},
       {&y},
       MOTE_INVALID,
       "conv2d: w must have at least 4 axes, got w f32[2,3,4]"},
      {"conv2d", {&y4, &y4}, {&y}, MOTE_INVALID, "conv2d: axis 1 of y must be"},
  };
  for (const Case& c : cases)
    expect_error(c.status, c.part, [&] { run(Command(c.op, {}, c.axis), c.inputs, c.outputs); });
  const Tensor none = clone(text);
  Tensor out = clone(text);
  expect_error(MOTE_UNSUPPORTED, "softmax: no kernel for bool (x bool[2,3,4], y bool[2,3,4])",
               [&] { run(Command("softmax"), {&none}, {&out}); });
  for (std::int64_t k = 0; k < 24; ++k) EXPECT_EQ(y.real_at(unravel(k, y.shape())), 7);
}

TEST(Run, EmptyTensorsAreLegal) {
  const Tensor x(DType::f32, {0, 3, 2, 2, 0});
  Tensor y(DType::f32, {0, 3, 2, 2, 0});
  run(Command("relu"), {&x}, {&y});
  run(Command("softmax", {}, 1), {&x}, {&y});
  const Tensor a(DType::f32, {2, 0});
  const Tensor b(DType::f32, {0, 3});
  Tensor product(DType::f32, {2, 3});
  fill(product, 9.0);
  run(Command("matmul"), {&a, &b}, {&product});
  EXPECT_EQ(product.real_at({1, 2}), 0);
}

}  // namespace
}  // namespace mote
