// SPDX-License-Identifier: Apache-2.0
// Tests the overlap of strided views against the sets of their bytes.
#include "mote/runtime/overlap.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

namespace mote {
namespace {

std::vector<std::int64_t> bytes_of(const ViewPlaces& v) {
  std::vector<std::int64_t> locations = {v.first};
  for (int axis = 0; axis < v.shape.size(); ++axis) {
    std::vector<std::int64_t> next;
    for (std::int64_t k = 0; k < v.shape[axis]; ++k)
      for (const std::int64_t location : locations) next.push_back(location + k * v.strides[axis]);
    locations = next;
  }
  std::vector<std::int64_t> bytes;
  for (const std::int64_t location : locations)
    for (std::int64_t b = 0; b < v.element_bytes; ++b) bytes.push_back(location + b);
  std::ranges::sort(bytes);
  bytes.erase(std::unique(bytes.begin(), bytes.end()), bytes.end());
  return bytes;
}

ViewPlaces random_view(std::mt19937& random) {
  const auto below = [&](int bound) {
    return static_cast<int>(random() % static_cast<unsigned>(bound));
  };
  const DType dtypes[] = {DType::u8, DType::f16, DType::f32, DType::f64};
  AxisList shape, strides;
  const int rank = below(5);
  const bool odd = below(2) == 0;  // strides of views of one parent, or any
  std::int64_t stride = 1 + below(3);
  for (int axis = 0; axis < rank; ++axis) {
    shape.push_back(below(20) == 0 ? 0 : 1 + below(4));
    strides.push_back((below(4) == 0 ? -1 : 1) * (odd ? below(9) : stride));
    stride *= 1 + below(4);
  }
  return {TensorForm(dtypes[below(4)], shape, strides), below(60)};
}

TEST(Overlap, IsExactForUpToFourAxes) {
  int shared = 0, apart = 0, interleaved = 0;
  for (unsigned seed = 0; seed < 20000; ++seed) {
    std::mt19937 random(seed);
    const ViewPlaces a = random_view(random);
    const ViewPlaces b = random_view(random);
    const std::vector<std::int64_t> of_a = bytes_of(a);
    const std::vector<std::int64_t> of_b = bytes_of(b);
    std::vector<std::int64_t> both;
    std::ranges::set_intersection(of_a, of_b, std::back_inserter(both));
    ASSERT_EQ(share_bytes(a, b), !both.empty()) << "seed " << seed;
    ASSERT_EQ(share_bytes(b, a), !both.empty()) << "seed " << seed;
    if (!of_a.empty()) {
      ASSERT_EQ(a.low, of_a.front()) << "seed " << seed;
      ASSERT_EQ(a.high, of_a.back() + 1) << "seed " << seed;
      ASSERT_EQ(a.is_dense(), a.high - a.low == static_cast<std::int64_t>(of_a.size()))
          << "seed " << seed;
    }
    ++(both.empty() ? apart : shared);
    if (both.empty() && a.low < b.high && b.low < a.high) ++interleaved;
  }
  EXPECT_GT(shared, 2000);
  EXPECT_GT(apart, 2000);
  EXPECT_GT(interleaved, 200);
}

TEST(Overlap, ColumnsOfAMatrixAreApart) {
  const auto columns = [](std::int64_t first, std::int64_t count) {
    return ViewPlaces(TensorForm(DType::f32, {1000, count}, {1000, 1}), first * 4);
  };
  EXPECT_FALSE(share_bytes(columns(0, 500), columns(500, 500)));
  EXPECT_TRUE(share_bytes(columns(0, 501), columns(500, 500)));
  const ViewPlaces even(TensorForm(DType::f64, {1000000}, {2}), 0);
  const ViewPlaces uneven(TensorForm(DType::f64, {1000000}, {2}), 8);
  const ViewPlaces late(TensorForm(DType::f64, {1000000}, {2}), 16);
  EXPECT_FALSE(share_bytes(even, uneven));
  EXPECT_TRUE(share_bytes(even, late));
}

/// The steps of the two views have nothing in common, so that no shortcut decides; still exact.
TEST(Overlap, DecidesStepsWithNothingInCommon) {
  const ViewPlaces a(TensorForm(DType::u8, {40, 50}, {1009, 10007}), 0);
  for (std::int64_t first = 1; first < 3000; first += 7) {
    const ViewPlaces b(TensorForm(DType::u8, {60, 30}, {997, 20011}), first);
    const std::vector<std::int64_t> of_a = bytes_of(a), of_b = bytes_of(b);
    std::vector<std::int64_t> both;
    std::ranges::set_intersection(of_a, of_b, std::back_inserter(both));
    ASSERT_EQ(share_bytes(a, b), !both.empty()) << first;
  }
}

}  // namespace
}  // namespace mote
