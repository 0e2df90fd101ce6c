// SPDX-License-Identifier: Apache-2.0
// Tests the overlap and the coverage of strided views against the sets of their bytes.
#include "mote/runtime/overlap.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "mote/runtime/covered.h"

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

/// Some views cover others by chance; others are made of pieces of the one that is read.
TEST(Coverage, IsExactForUpToFourAxes) {
  int covered = 0, open = 0;
  for (unsigned seed = 0; seed < 20000; ++seed) {
    std::mt19937 random(seed);
    const ViewPlaces read = random_view(random);
    std::vector<ViewPlaces> views;
    const unsigned count = random() % 6;
    for (unsigned k = 0; k < count; ++k) views.push_back(random_view(random));
    for (int axis = 0; axis < read.shape.size() && seed % 2 == 0; ++axis) {
      const std::int64_t parts = 1 + static_cast<std::int64_t>(random() % 3);
      if (axis > 0 && seed % 4 == 0) break;
      views.clear();
      for (std::int64_t part = 0; part < parts; ++part) {  // each takes every so many indices
        AxisList shape = read.shape, strides = read.strides;
        shape[axis] = (read.shape[axis] + parts - 1 - part) / parts;
        strides[axis] = read.strides[axis] * parts;
        ViewPlaces piece(TensorForm(DType::u8, shape, strides),
                         read.first + part * read.strides[axis]);
        piece.element_bytes = read.element_bytes;
        if (piece.low != piece.high) piece.high += read.element_bytes - 1;
        views.push_back(piece);
      }
      if (random() % 3 == 0) views.pop_back();
    }
    std::vector<std::int64_t> written;
    for (const ViewPlaces& view : views) {
      const std::vector<std::int64_t> bytes = bytes_of(view);
      if (view.low != view.high) written.insert(written.end(), bytes.begin(), bytes.end());
    }
    std::ranges::sort(written);
    const bool expected = read.low == read.high || std::ranges::includes(written, bytes_of(read));
    ASSERT_EQ(are_covered(read, views), expected) << "seed " << seed;
    ++(expected ? covered : open);
  }
  EXPECT_GT(covered, 2000);
  EXPECT_GT(open, 2000);
}

TEST(Coverage, OfHugeViewsTakesNoTimeByTheirElements) {
  const auto form = [](AxisList shape, AxisList strides, std::int64_t first) {
    return ViewPlaces(TensorForm(DType::f32, shape, strides), first * 4);
  };
  constexpr std::int64_t kMany = 1000000000;
  const ViewPlaces line = form({kMany}, {1}, 0);
  const std::vector<ViewPlaces> by_three = {form({kMany / 3}, {3}, 1), form({kMany / 3}, {3}, 2),
                                            form({kMany / 3 + 1}, {3}, 0)};
  EXPECT_TRUE(are_covered(line, by_three));
  EXPECT_FALSE(are_covered(line, std::span(by_three).first(2)));
  EXPECT_FALSE(are_covered(form({kMany + 1}, {1}, 0), by_three));
  const ViewPlaces matrix = form({kMany, 1000}, {1000, 1}, 0);
  const std::vector<ViewPlaces> columns = {form({kMany, 300}, {1000, 1}, 0),
                                           form({kMany, 699}, {1000, 1}, 300),
                                           form({kMany}, {1000}, 999)};
  EXPECT_TRUE(are_covered(matrix, columns));
  EXPECT_FALSE(are_covered(matrix, std::span(columns).first(2)));
  // Tiles of a matrix, and rows in two orders of another one.
  std::vector<ViewPlaces> tiles;
  for (std::int64_t row = 0; row < 10; ++row)
    for (std::int64_t column = 0; column < 10; ++column)
      tiles.push_back(form({kMany / 10, 100}, {1000, 1}, row * 100 * kMany + column * 100));
  EXPECT_TRUE(are_covered(matrix, tiles));
  tiles.erase(tiles.begin() + 37);
  EXPECT_FALSE(are_covered(matrix, tiles));
  const std::vector<ViewPlaces> rows = {form({kMany / 2, 1000}, {-2000, 1}, (kMany - 2) * 1000),
                                        form({kMany / 2, 1000}, {2000, 1}, 1000)};
  EXPECT_TRUE(are_covered(matrix, rows));
}

}  // namespace
}  // namespace mote
