// SPDX-License-Identifier: Apache-2.0
// Tests run_checked: for a call that can_run accepts it writes what run writes.
#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "call.h"
#include "thunk_of.h"

namespace mote {
namespace {

using test::Call;
using test::conv;
using test::Tensor;
using test::ThunkOf;

/// Expects that run_checked writes to y what run writes.
void expect_equal_runs(const ThunkOf& thunk, Call& whole, Tensor& y) {
  const mote_call call = whole.get();
  ASSERT_EQ(thunk.kernel().can_run(&call), MOTE_OK) << whole.message();
  std::vector<double> expected;
  Tensor::for_each_index(y.shape(), [&](const test::Shape& index) { y.set(index, -9); });
  ASSERT_EQ(thunk.kernel().run(&call, nullptr), MOTE_OK) << whole.message();
  Tensor::for_each_index(y.shape(), [&](const test::Shape& index) {
    expected.push_back(y.get(index));
    y.set(index, -9);
  });
  ASSERT_EQ(thunk.kernel().run_checked(&call, nullptr), MOTE_OK) << whole.message();
  std::size_t k = 0;
  Tensor::for_each_index(y.shape(), [&](const test::Shape& index) {
    EXPECT_EQ(y.get(index), expected[k++]);
    EXPECT_NE(y.get(index), -9);
  });
}

TEST(Thunk, RunCheckedFindsParametersInAnyOrderAndLeftOut) {
  Tensor x(DType::f32, {1, 2, 5}), w(DType::f32, {2, 1, 3});
  Tensor y(DType::f32, {1, 2, 2}, {40, 3, 7});
  x.fill_integers(1);
  w.fill_integers(2);
  Call in_order("conv", {&x, &w}, {&y});
  expect_equal_runs(conv(), in_order.integer("stride", 2).integer("groups", 2).real("scale", 0.5),
                    y);
  Call reversed("conv", {&x, &w}, {&y});
  expect_equal_runs(conv(), reversed.real("scale", 0.5).integer("groups", 2).integer("stride", 2),
                    y);
  Tensor one(DType::f32, {1, 1, 3}), whole(DType::f32, {1, 1, 3});
  Tensor input(DType::f32, {1, 1, 5});
  one.fill_integers(3);
  input.fill_integers(4);
  Call defaults("conv", {&input, &one}, {&whole});
  expect_equal_runs(conv(), defaults.integer("scale", 2), whole);
}

TEST(Thunk, RunCheckedTakesMissingAndUnitAxesAndTensorsWithoutStrides) {
  const ThunkOf thunk("op add\ninput a f32[1|M, 1|N]\ninput b f32[1|M, 1|N]\noutput y = a + 2*b\n");
  Tensor row(DType::f32, {3}), column(DType::f32, {2, 1}, {5, 1}), y(DType::f32, {2, 3});
  row.fill_integers(1);
  column.fill_integers(2);
  Call both("add", {&row, &column}, {&y});
  expect_equal_runs(thunk, both, y);
  Call turned("add", {&column, &row}, {&y});
  expect_equal_runs(thunk, turned, y);
  Tensor flat(DType::f32, {3});
  Call short_output("add", {&row, &row}, {&flat});
  expect_equal_runs(thunk, short_output, flat);

  Tensor x(DType::f32, {2, 3});
  x.fill_integers(5);
  Call row_major("add", {&x, &row}, {&y});
  mote_call call = row_major.get();
  std::array<DLTensor, 3> without = {*call.inputs[0], *call.inputs[1], *call.outputs[0]};
  for (DLTensor& t : without) t.strides = nullptr;
  const std::array<const DLTensor*, 2> inputs = {&without[0], &without[1]};
  DLTensor* output = &without[2];
  call.inputs = inputs.data();
  call.outputs = &output;
  ASSERT_EQ(thunk.kernel().can_run(&call), MOTE_OK) << row_major.message();
  ASSERT_EQ(thunk.kernel().run_checked(&call, nullptr), MOTE_OK) << row_major.message();
  for (std::int64_t m = 0; m < 2; ++m)
    for (std::int64_t n = 0; n < 3; ++n) EXPECT_EQ(y.get({m, n}), x.get({m, n}) + 2 * row.get({n}));
}

TEST(Thunk, RunCheckedSolvesSizesAndReadsScalars) {
  const ThunkOf thunk(
      "op spread\nparam k int = 2 in 1..\ninput x f32[$k*N + 1]\ninput s f32[]\n"
      "output y = x[i0*$k over N] * s\n");
  Tensor x(DType::f32, {7}), s(DType::f32, {}), y(DType::f32, {3}), z(DType::f32, {2});
  x.fill_integers(1);
  s.set({}, 4);
  Call two("spread", {&x, &s}, {&y});
  expect_equal_runs(thunk, two, y);
  Call three("spread", {&x, &s}, {&z});
  expect_equal_runs(thunk, three.integer("k", 3), z);
}

}  // namespace
}  // namespace mote
