// SPDX-License-Identifier: Apache-2.0
// Tests forms of tensors, and views within an arena.
#include "mote/runtime/tensor_form.h"

#include <gtest/gtest.h>

#include <limits>
#include <unordered_set>

#include "mote/runtime/tensor.h"
#include "runtime/expect_error.h"

namespace mote {
namespace {

using test::expect_error;

TEST(TensorForm, IsRowMajorOnTheHostUnlessItSaysOtherwise) {
  const TensorForm form{DType::f32, {32, 784}};
  EXPECT_EQ(form.strides, (AxisList{784, 1}));
  EXPECT_TRUE(form.is_row_major());
  EXPECT_TRUE(form.is_on_host());
  EXPECT_EQ(form.element_count(), 32 * 784);
  EXPECT_EQ(form.bytes(), 32 * 784 * 4);
  EXPECT_EQ(to_string(form), "f32[32,784]");
  EXPECT_EQ(to_string(TensorForm()), "f32[0]");
  EXPECT_EQ(to_string(TensorForm{DType::i64, {}}), "i64[]");
  const TensorForm turned{DType::f64, {2, 3}, {1, 2}, {kDLCUDA, 1}};
  EXPECT_FALSE(turned.is_row_major());
  EXPECT_EQ(to_string(turned), "f64[2,3]:1,2@2:1");
}

TEST(TensorForm, ComparesAndHashesAllOfIt) {
  const TensorForm form{DType::f32, {2, 3}};
  const std::vector<TensorForm> others = {{DType::f64, {2, 3}},
                                          {DType::f32, {3, 2}},
                                          {DType::f32, {2, 3, 1}},
                                          {DType::f32, {2, 3}, {1, 2}},
                                          {DType::f32, {2, 3}, {3, 1}, {kDLCUDA, 0}},
                                          {DType::f32, {2, 3}, {3, 1}, {kDLCPU, 1}}};
  std::unordered_set<TensorForm> all = {form, {DType::f32, {2, 3}, {3, 1}}};
  EXPECT_EQ(all.size(), 1U);
  for (const TensorForm& other : others) {
    EXPECT_NE(form, other) << to_string(other);
    all.insert(other);
  }
  EXPECT_EQ(all.size(), 1 + others.size());
}

TEST(TensorForm, OfATensorIsThatOfItsView) {
  const Tensor x(DType::f32, {4, 6});
  EXPECT_EQ(x.form(), (TensorForm{DType::f32, {4, 6}}));
  const Tensor view = x.slice(1, 5, 3, -2).permute({1, 0});
  EXPECT_EQ(view.form(), (TensorForm{DType::f32, {3, 4}, {-2, 6}}));
}

TEST(TensorForm, RefusesWhatNoTensorCanBe) {
  constexpr std::int64_t kFar = std::numeric_limits<std::int64_t>::max() / 8;
  expect_error(MOTE_INVALID, "tensor: extents must be at least 0, got -1", [] {
    TensorForm(DType::f32, {2, -1});
  });
  expect_error(MOTE_INVALID, "beyond 2^63-1 bytes", [] { TensorForm(DType::f64, {kFar, 3}); });
  expect_error(MOTE_INVALID, "needs 2 strides, got 1", [] {
    TensorForm(DType::f32, AxisList{2, 3}, AxisList{1});
  });
  expect_error(MOTE_INVALID, "none of mote's", [] { TensorForm(static_cast<DType>(99), {2}); });
}

TEST(Within, IsPartOfTheArenaAndKeepsIt) {
  Tensor part;
  {
    const Tensor arena(DType::u8, {256});
    fill(arena, 0);
    part = Tensor::within(arena, 64, {DType::f32, {2, 3}});
    EXPECT_EQ(part.data(), static_cast<std::byte*>(arena.data()) + 64);
    EXPECT_EQ(arena.owners(), 2);
    fill(part, 1.0);
    EXPECT_EQ(arena.integer_at({63}), 0);
    EXPECT_EQ(arena.integer_at({67}), 0x3f);
    EXPECT_EQ(arena.integer_at({87}), 0x3f);
    EXPECT_EQ(arena.integer_at({88}), 0);
  }
  EXPECT_EQ(part.owners(), 1);
  EXPECT_EQ(part.form(), (TensorForm{DType::f32, {2, 3}}));
  EXPECT_EQ(part.real_at({1, 2}), 1);
}

TEST(Within, BeginsAtTheLowestElement) {
  const Tensor arena(DType::f64, {16});
  const TensorForm back{DType::f32, {2, 4}, {4, -1}};
  const Tensor view = Tensor::within(arena, 96, back);
  EXPECT_EQ(view.data(), static_cast<std::byte*>(arena.data()) + 96 + 12);
  fill(arena, 0.0);
  view.set({0, 3}, 7);
  EXPECT_EQ(Tensor::within(arena, 96, {DType::f32, {1}}).real_at({0}), 7);
  // The arena itself may be a view that runs backwards.
  const Tensor reversed = arena.slice(0, 15, 16, -1);
  EXPECT_EQ(Tensor::within(reversed, 8, {DType::f64, {1}}).data(),
            static_cast<std::byte*>(arena.data()) + 8);
  EXPECT_EQ(Tensor::within(view, 16, {DType::f32, {4}}).data(),
            static_cast<std::byte*>(arena.data()) + 96 + 16);
}

TEST(Within, RefusesWhatDoesNotFit) {
  const Tensor arena(DType::u8, {256});
  const auto refused = [&](const std::string& part, std::int64_t offset, const TensorForm& form) {
    expect_error(MOTE_INVALID, part, [&] { (void)Tensor::within(arena, offset, form); });
  };
  const TensorForm form{DType::f32, {4}};
  (void)Tensor::within(arena, 240, form);
  refused("f32[4] at byte 244 of an arena of u8[256]: it takes 16 bytes, the arena has 256", 244,
          form);
  refused("the arena has 256", -4, form);
  refused("the arena has 256", std::numeric_limits<std::int64_t>::max(), form);
  refused("the arena has 256", std::numeric_limits<std::int64_t>::min(), form);
  refused("it takes 260 bytes", 0, {DType::f32, {2, 1}, {64, 1}});
  refused("its elements of 4 bytes would not be aligned", 2, form);
  refused("on another device", 0, {DType::f32, {4}, {1}, {kDLCUDA, 0}});
  TensorForm negative = form;
  negative.shape[0] = -4;
  refused("extents must be at least 0", 0, negative);
  // No elements take no bytes.
  EXPECT_EQ(Tensor::within(arena, 256, {DType::f32, {0, 9}}).element_count(), 0);
}

}  // namespace
}  // namespace mote
