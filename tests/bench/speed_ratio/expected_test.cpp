// SPDX-License-Identifier: Apache-2.0
// Tests when a measured ratio of speeds counts as slower than a recorded one, and the file.
#include "expected.h"

#include <gtest/gtest.h>

#include "mote/base/error.h"

namespace mote::bench {
namespace {

TEST(SpeedRatio, IsSlowerOnlyIfTheWholeIntervalLiesAbove) {
  const tool::Median recorded{2.0, 1.8, 2.3};
  EXPECT_EQ(change({2.5, 2.31, 2.8}, recorded), SpeedChange::slower);
  EXPECT_EQ(change({2.5, 2.3, 2.8}, recorded), SpeedChange::none);
  EXPECT_EQ(change({9.0, 1.0, 99.0}, recorded), SpeedChange::none);
  EXPECT_EQ(change({1.7, 1.6, 1.8}, recorded), SpeedChange::none);
  EXPECT_EQ(change({1.7, 1.6, 1.79}, recorded), SpeedChange::faster);
}

TEST(SpeedRatio, FilesAreReadAsTheyWereWritten) {
  const SpeedRatios ratios{"A Processor (R) 3.0 GHz",
                           "2026-11-26",
                           {{"onednn", "softmax x=f32[4,8,1] fill=integer:0", {1.5, 1.25, 2}},
                            {"openblas", "matmul a=f32[2,2] b=f32[2,2]", {0.0625, 0.03125, 64}}}};
  const SpeedRatios read = parse_ratios(to_string(ratios));
  EXPECT_EQ(read.processor, ratios.processor);
  EXPECT_EQ(read.date, ratios.date);
  EXPECT_EQ(to_string(read), to_string(ratios));
  ASSERT_NE(read.find("openblas", "matmul a=f32[2,2] b=f32[2,2]"), nullptr);
  EXPECT_EQ(read.find("openblas", "matmul a=f32[2,2] b=f32[2,2]")->ratio.high, 64);
  EXPECT_EQ(read.find("onednn", "matmul a=f32[2,2] b=f32[2,2]"), nullptr);
}

TEST(SpeedRatio, ALineThatCannotBeReadIsNamed) {
  for (const char* bad : {"onednn 1 1 1\n", "onednn 1 2 3 softmax x=f32[1]\n",
                          "onednn x 1 2 softmax x=f32[1]\n", "onednn 1 0 3 softmax x=f32[1]\n"}) {
    try {
      parse_ratios(std::string("date 2026-11-26\n") + bad);
      ADD_FAILURE() << bad;
    } catch (const Error& e) {
      EXPECT_NE(std::string(e.what()).find("line 2: expected PEER MEDIAN LOW HIGH CASE"),
                std::string::npos)
          << e.what();
    }
  }
}

}  // namespace
}  // namespace mote::bench
