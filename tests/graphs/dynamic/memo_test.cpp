// SPDX-License-Identifier: Apache-2.0
// Results of equal commands where others have the same hash.
#include "memo.h"

#include <gtest/gtest.h>

#include <optional>

#include "kernel.h"

namespace mote::trace {
namespace {

/// The factor by which the hash is multiplied before the number of an input is added.
constexpr std::uint64_t kFactor = 0x9E3779B97F4A7C15;

Ref<Kernel> kernel_of(std::uint64_t id) {
  Ref<Kernel> kernel(new Kernel(Command("neg"), std::nullopt));
  kernel->id = id;
  return kernel;
}

Value value_of(std::uint64_t id) {
  Value value;
  value.id = id;
  return value;
}

TEST(Memo, AnotherCommandOfTheSameHashIsNotFound) {
  const Ref<Kernel> one = kernel_of(1), two = kernel_of(2);
  Value a = value_of(7), b = value_of(7 - kFactor);
  Value *const of_one[] = {&a}, *const of_two[] = {&b};
  ASSERT_EQ(hash_of(*one, of_one), hash_of(*two, of_two));
  Memo memo(100);
  memo.add(one, of_one, {}, true);
  EXPECT_NE(memo.find(*one, of_one, true), nullptr);
  EXPECT_EQ(memo.find(*two, of_two, true), nullptr);
  memo.add(two, of_two, {}, true);
  EXPECT_NE(memo.find(*two, of_two, true), memo.find(*one, of_one, true));
  EXPECT_EQ(memo.hits(), 3U);
}

TEST(Memo, OtherInputsOfTheSameHashAreNotFound) {
  const Ref<Kernel> kernel = kernel_of(1);
  Value a = value_of(7), b = value_of(9), c = value_of(8), d = value_of(9 - kFactor);
  Value *const first[] = {&a, &b}, *const second[] = {&c, &d};
  ASSERT_EQ(hash_of(*kernel, first), hash_of(*kernel, second));
  Memo memo(100);
  memo.add(kernel, first, {}, true);
  EXPECT_EQ(memo.find(*kernel, second, true), nullptr);
  EXPECT_NE(memo.find(*kernel, first, true), nullptr);
  EXPECT_EQ(memo.find(*kernel, first, false), nullptr);
}

}  // namespace
}  // namespace mote::trace
