// SPDX-License-Identifier: Apache-2.0
// Regions of one memory against sets of their elements: overlap of random regions of up to four
// axes, and the index that finds regions among many.
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>
#include <set>

#include "mote/symbolic/region_index.h"
#include "mote/symbolic/view.h"

namespace mote {
namespace {

class RandomRegions {
 public:
  explicit RandomRegions(std::uint64_t seed) : random_(seed) {}

  std::int64_t draw(std::int64_t least, std::int64_t greatest) {
    return least +
           static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(greatest - least + 1));
  }
  /// A region of up to four axes with any strides, negative and 0 too.
  ViewRegion any() {
    AxisList shape;
    AxisList strides;
    for (std::int64_t rank = draw(0, 4); rank > 0; --rank) {
      shape.push_back(draw(draw(0, 9) == 0 ? 0 : 1, 4));
      strides.push_back(draw(-13, 13));
    }
    return {{DType::f32, shape, strides}, draw(-20, 20)};
  }
  /// A tensor with up to three axes in any order in memory.
  ViewRegion tensor() {
    AxisList shape;
    for (std::int64_t rank = draw(1, 3); rank > 0; --rank) shape.push_back(draw(1, 6));
    ViewRegion whole{{DType::f32, shape}, 0};
    if (draw(0, 1) == 0) return whole;
    AxisList order;
    for (int axis = shape.size(); axis-- > 0;) order.push_back(axis);
    return apply({ViewKind::permute, order}, whole);
  }
  /// A slice along each axis.
  ViewRegion slice(ViewRegion region) {
    for (int axis = 0; axis < region.form.shape.size(); ++axis) {
      const std::int64_t extent = region.form.shape[axis];
      const std::int64_t step = draw(1, 2);
      const std::int64_t begin = draw(0, extent - 1);
      const std::int64_t count = draw(1, 1 + (extent - 1 - begin) / step);
      region = apply({ViewKind::slice, {axis, begin, count, step}}, region);
    }
    return region;
  }

 private:
  std::mt19937_64 random_;
};

std::set<std::int64_t> elements(const ViewRegion& region) {
  std::set<std::int64_t> found = {region.offset};
  for (int axis = 0; axis < region.form.shape.size(); ++axis) {
    std::set<std::int64_t> next;
    for (const std::int64_t offset : found)
      for (std::int64_t k = 0; k < region.form.shape[axis]; ++k)
        next.insert(offset + k * region.form.strides[axis]);
    found = std::move(next);
  }
  return found;
}

bool share(const std::set<std::int64_t>& a, const std::set<std::int64_t>& b) {
  return std::ranges::any_of(a, [&](std::int64_t k) { return b.contains(k); });
}

std::string text(const ViewRegion& r) { return to_string(r.form) + "+" + std::to_string(r.offset); }

std::uint64_t first_seed() {
  const char* seed = std::getenv("MOTE_REGION_SEED");
  return seed != nullptr ? std::strtoull(seed, nullptr, 10) : 1;
}
std::uint64_t last_seed(std::uint64_t count) {
  return std::getenv("MOTE_REGION_SEED") != nullptr ? first_seed() : count;
}

TEST(Regions, OverlapIsThatOfTheirElements) {
  std::size_t overlapping = 0;
  for (std::uint64_t seed = first_seed(); seed <= last_seed(20000); ++seed) {
    RandomRegions random(seed);
    const ViewRegion a = random.any();
    const ViewRegion b = random.any();
    const bool expected = share(elements(a), elements(b));
    overlapping += expected ? 1 : 0;
    ASSERT_EQ(overlap(a, b), expected) << text(a) << " " << text(b) << " MOTE_REGION_SEED=" << seed;
  }
  if (std::getenv("MOTE_REGION_SEED") == nullptr) {
    EXPECT_GT(overlapping, 2000U);
    EXPECT_LT(overlapping, 18000U);
  }
}

TEST(Regions, AnIndexFindsThoseThatShareAnElement) {
  for (std::uint64_t seed = first_seed(); seed <= last_seed(400); ++seed) {
    RandomRegions random(seed);
    const ViewRegion whole = random.tensor();
    RegionIndex index = random.draw(0, 3) == 0 ? RegionIndex() : RegionIndex(whole.form);
    std::vector<std::optional<ViewRegion>> kept;
    for (std::uint32_t k = 0; k < 120; ++k) {
      kept.push_back(random.draw(0, 9) == 0 ? random.any() : random.slice(whole));
      index.add(*kept.back(), k);
      const auto gone = static_cast<std::size_t>(random.draw(0, k));
      if (random.draw(0, 3) == 0 && kept[gone]) {
        index.remove(*kept[gone], static_cast<std::uint32_t>(gone));
        kept[gone].reset();
      }
      if (k % 8 != 0) continue;
      const ViewRegion asked = random.slice(whole);
      std::set<std::uint32_t> expected;
      std::set<std::uint32_t> found;
      for (std::uint32_t other = 0; other < kept.size(); ++other)
        if (kept[other] && share(elements(*kept[other]), elements(asked))) expected.insert(other);
      index.any_overlapping(asked,
                            [&](std::uint32_t entry) { return !found.insert(entry).second; });
      ASSERT_EQ(found, expected) << "MOTE_REGION_SEED=" << seed;
      ASSERT_EQ(index.overlaps(asked), !expected.empty()) << "MOTE_REGION_SEED=" << seed;
    }
  }
}

TEST(Regions, AnIndexCountsElementsThatDisjointRegionsHold) {
  std::size_t counted = 0;
  for (std::uint64_t seed = first_seed(); seed <= last_seed(2000); ++seed) {
    RandomRegions random(seed);
    const ViewRegion whole = random.tensor();
    RegionIndex index(whole.form);
    std::set<std::int64_t> held;
    for (std::uint32_t k = 0; k < 12; ++k) {
      const ViewRegion region = random.slice(whole);
      const std::set<std::int64_t> of_region = elements(region);
      if (index.overlaps(region)) continue;
      index.add(region, k);
      held.insert(of_region.begin(), of_region.end());
    }
    const ViewRegion asked = random.slice(whole);
    const std::optional<std::int64_t> count = index.count_common(asked);
    if (!count) continue;
    ++counted;
    const std::set<std::int64_t> of_asked = elements(asked);
    ASSERT_EQ(*count, std::ranges::count_if(of_asked, [&](auto k) { return held.contains(k); }))
        << "MOTE_REGION_SEED=" << seed;
  }
  EXPECT_GT(counted, std::getenv("MOTE_REGION_SEED") == nullptr ? 300U : 0U);
}

}  // namespace
}  // namespace mote
