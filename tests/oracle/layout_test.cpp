// SPDX-License-Identifier: Apache-2.0
// Tests layouts: their text, their strides, and that no two elements share a location.
#include "mote/oracle/layout.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <set>

#include "mote/base/error.h"

namespace mote {
namespace {

using Strides = std::vector<std::int64_t>;

Placement placed(const std::string& layout, const std::vector<std::int64_t>& shape) {
  return place(shape, parse_layout(layout, static_cast<int>(shape.size())));
}

TEST(Layout, RowMajorIsTheDefault) {
  EXPECT_EQ(placed("", {2, 3, 4}).strides, (Strides{12, 4, 1}));
  EXPECT_EQ(placed("", {2, 3, 4}).span, 24);
  EXPECT_EQ(placed("", {}).span, 1);
}

TEST(Layout, SuffixesGiveTheStridesThatTheyName) {
  EXPECT_EQ(placed(":nhwc", {2, 3, 4, 5}).strides, (Strides{60, 1, 15, 3}));
  EXPECT_EQ(placed(":t", {2, 3, 4}).strides, (Strides{12, 1, 3}));
  EXPECT_EQ(placed(":perm120", {2, 3, 4}).strides, (Strides{1, 8, 2}));
  EXPECT_EQ(placed(":pad3", {2, 3, 4}).strides, (Strides{21, 7, 1}));
  EXPECT_EQ(placed(":t:pad3", {3, 4}).strides, (Strides{1, 6}));
  EXPECT_EQ(placed(":gap0x5", {2, 3, 4}).strides, (Strides{17, 4, 1}));
  EXPECT_EQ(placed(":gap2x5", {2, 3, 4}).strides, (Strides{72, 24, 6}));
  EXPECT_EQ(placed(":t:gap1x2:pad1", {3, 4}).strides, (Strides{1, 6}));
  EXPECT_EQ(placed(":gap0x5:gap1x1", {3, 4}).strides, (Strides{13, 2}));
  EXPECT_EQ(placed(":off2", {3, 4}).offset, 2);
  EXPECT_EQ(placed(":off2", {3, 4}).span, 14);
  EXPECT_EQ(placed(":bcast1", {2, 3, 4}).strides, (Strides{4, 0, 1}));
  EXPECT_EQ(placed(":bcast1", {2, 3, 4}).span, 8);
}

TEST(Layout, ExtentZeroCountsAsOneForTheStrides) {
  EXPECT_EQ(placed("", {2, 0, 4}).strides, (Strides{4, 4, 1}));
}

TEST(Layout, TextRoundTrips) {
  for (const char* text :
       {"", ":nhwc", ":t", ":perm1230", ":pad3", ":off2", ":bcast0:bcast2", ":t:pad3:off2:bcast1",
        ":perm3210:pad1", ":gap3x2", ":pad3:gap0x4294967296:gap2x1:off2"}) {
    EXPECT_EQ(to_string(parse_layout(text, 4), 4), text);
  }
}

TEST(Layout, ErrorsNameWhatIsKnown) {
  const auto error = [](const char* text, int rank) -> std::string {
    try {
      parse_layout(text, rank);
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_NE(error(":foo", 2).find(
                "known: :nhwc :t :perm<axes> :pad<n> :gap<axis>x<n> :off<n> :bcast<axis>"),
            std::string::npos);
  EXPECT_NE(error(":nhwc", 2).find("needs rank 3"), std::string::npos);
  EXPECT_NE(error(":t", 1).find("needs rank 2"), std::string::npos);
  EXPECT_NE(error(":perm011", 3).find("each of the 3 axes once"), std::string::npos);
  EXPECT_NE(error(":bcast3", 3).find("no such axis"), std::string::npos);
  EXPECT_NE(error(":t:nhwc", 4).find("given twice"), std::string::npos);
  EXPECT_NE(error(":pad", 4).find("unknown"), std::string::npos);
  EXPECT_NE(error(":pad-1", 4).find("unknown"), std::string::npos);
  EXPECT_NE(error(":gap1", 4).find("such as gap1x5"), std::string::npos);
  EXPECT_NE(error(":gap4x2", 4).find("no such axis"), std::string::npos);
  EXPECT_NE(error(":gap1x2:gap1x3", 4).find("given twice"), std::string::npos);
}

TEST(Layout, SpansThatOverflowAreErrors) {
  const std::int64_t big = std::int64_t{1} << 40U;
  EXPECT_THROW(place({big, big}, {}), Error);
  EXPECT_THROW(volume({big, big}), Error);
  EXPECT_EQ(volume({big, big, 0}), 0);
}

TEST(Layout, NoTwoElementsShareAPlaceAndAllLieInTheSpan) {
  EXPECT_TRUE(rc::check([] {
    const auto rank = *rc::gen::inRange<std::size_t>(0, 5);
    std::vector<std::int64_t> shape;
    CaseLayout layout;
    for (std::size_t k = 0; k < rank; ++k) {
      shape.push_back(*rc::gen::inRange<std::int64_t>(0, 5));
      layout.order.insert(
          layout.order.begin() + *rc::gen::inRange<std::ptrdiff_t>(0, std::ptrdiff_t(k) + 1),
          static_cast<int>(k));
    }
    layout.pad = *rc::gen::inRange<std::int64_t>(0, 4);
    layout.offset = *rc::gen::inRange<std::int64_t>(0, 4);
    for (int axis = 0; axis < static_cast<int>(rank); ++axis)
      if (const auto gap = *rc::gen::inRange<std::int64_t>(-2, 4); gap > 0)
        layout.gaps.push_back({axis, gap});
    const Placement placement = place(shape, layout);
    std::set<std::int64_t> locations;
    std::int64_t next = 0;
    for_each_element(shape, placement.strides, [&](std::int64_t linear, std::int64_t at) {
      RC_ASSERT(linear == next++);
      std::int64_t rest = linear, expected = 0;
      for (std::size_t k = rank; k-- > 0; rest /= shape[k])
        expected += rest % shape[k] * placement.strides[k];
      RC_ASSERT(at == expected);
      RC_ASSERT(at >= 0);
      RC_ASSERT(placement.offset + at < placement.span);
      locations.insert(at);
    });
    RC_ASSERT(static_cast<std::int64_t>(locations.size()) == volume(shape));
  }));
}

}  // namespace
}  // namespace mote
