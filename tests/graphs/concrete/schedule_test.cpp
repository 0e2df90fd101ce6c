// SPDX-License-Identifier: Apache-2.0
// Tests schedules: small ones by hand, random ones by the independent checks, and the errors.
#include "mote/graph/schedule.h"

#include <gtest/gtest.h>

#include <chrono>
#include <random>
#include <utility>
#include <vector>

#include "runtime/expect_error.h"

namespace mote {
namespace {

using test::expect_error;
using Numbers = std::vector<std::uint32_t>;

ScheduleProblem problem(std::size_t nodes, const std::vector<std::pair<int, int>>& edges) {
  ScheduleProblem p;
  for (std::size_t n = 0; n < nodes; ++n) {
    for (const auto& [from, to] : edges)
      if (static_cast<std::size_t>(to) == n)
        p.predecessors.push_back(static_cast<std::uint32_t>(from));
    p.begin.push_back(p.predecessors.size());
  }
  return p;
}

ScheduleProblem random_problem(std::mt19937& random) {
  const auto below = [&](std::size_t bound) { return random() % bound; };
  ScheduleProblem p;
  const std::size_t nodes = 1 + below(60);
  const std::size_t density = below(6);
  const bool has_weights = below(2) == 0;
  const bool has_devices = below(3) == 0;
  for (std::size_t n = 0; n < nodes; ++n) {
    for (std::size_t k = 0; n > 0 && k < density; ++k)
      if (below(2) == 0) p.predecessors.push_back(static_cast<std::uint32_t>(below(n)));
    p.begin.push_back(p.predecessors.size());
    if (has_weights) p.weights.push_back(static_cast<double>(below(9)));
    if (has_devices) p.devices.push_back(static_cast<std::uint16_t>(below(3)));
  }
  if (below(3) == 0)
    for (std::uint32_t n = 0; n < nodes; ++n) p.order.push_back(n);
  p.wait_weight = static_cast<double>(below(3));
  return p;
}

TEST(Schedule, ADiamondTakesTwoStreamsAndTwoEvents) {
  const StreamSchedule s = schedule(problem(4, {{0, 1}, {0, 2}, {1, 3}, {2, 3}}), 4);
  EXPECT_EQ(s.stream_count(), 2U);
  EXPECT_EQ(s.stream, (Numbers{0, 0, 1, 0}));
  EXPECT_EQ(s.position, (Numbers{0, 1, 0, 2}));
  EXPECT_EQ(s.events, (Numbers{0, 2}));
  EXPECT_EQ(s.waits, (Numbers{0, 1}));
  EXPECT_EQ(s.edges, 4U);
  EXPECT_EQ(s.edges_without_wait(), 2U);
  const HappensBefore before(s);
  EXPECT_TRUE(before(0, 3));
  EXPECT_TRUE(before(2, 3));
  EXPECT_FALSE(before(1, 2));
  EXPECT_FALSE(before(2, 1));
  EXPECT_FALSE(before(3, 0));
  EXPECT_FALSE(before(1, 1));
}

TEST(Schedule, AChainStaysOnItsStream) {
  const StreamSchedule s = schedule(problem(5, {{0, 1}, {1, 2}, {2, 3}, {3, 4}}), 8);
  EXPECT_EQ(s.stream_count(), 1U);
  EXPECT_TRUE(s.events.empty());
}

TEST(Schedule, OneStreamKeepsTheOrderOfNumbers) {
  EXPECT_EQ(schedule(problem(4, {{3, 0}}), 1).order, (Numbers{1, 2, 3, 0}));
}

TEST(Schedule, WhatOtherWaitsKeepIsNotWaitedFor) {
  // 0 and 1 run while 2 does; 1 follows 0, and 3 follows both and 2: one wait is enough.
  ScheduleProblem p = problem(4, {{0, 1}, {0, 3}, {1, 3}, {2, 3}});
  p.weights = {1, 1, 5, 1};
  const StreamSchedule s = schedule(p, 2);
  EXPECT_NE(s.stream[0], s.stream[3]);
  EXPECT_EQ(s.waits.size(), 1U);
  EXPECT_EQ(s.events, Numbers{1});
}

TEST(Schedule, WeightsDecideWhatRunsSideBySide) {
  ScheduleProblem p = problem(3, {});
  p.weights = {4, 2, 2};
  const StreamSchedule s = schedule(p, 2);
  EXPECT_NE(s.stream[0], s.stream[1]);
  EXPECT_EQ(s.stream[1], s.stream[2]);
  p.wait_weight = 100;  // a wait that costs more than it gains is not made
  p = problem(3, {{0, 1}, {0, 2}});
  p.wait_weight = 100;
  EXPECT_EQ(schedule(p, 2).stream_count(), 1U);
}

TEST(Schedule, RandomOnesKeepAllEdgesWithoutANeedlessWait) {
  for (unsigned seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const ScheduleProblem p = random_problem(random);
    const int streams = 1 + static_cast<int>(seed % 4);
    const StreamSchedule s = schedule(p, streams);
    const std::optional<Reason> wrong = violation(p, s);
    ASSERT_FALSE(wrong) << wrong->text;
    const std::optional<Reason> needless = redundancy(s);
    ASSERT_FALSE(needless) << needless->text;
    ASSERT_EQ(schedule(p, streams), s);
    ASSERT_LE(s.stream_count(), static_cast<std::size_t>(streams) * (p.devices.empty() ? 1 : 3));
  }
}

/// The definition, by a search over waits and the order of streams.
bool reaches(const StreamSchedule& s, std::uint32_t a, std::uint32_t b) {
  std::vector<bool> before(s.node_count());
  for (std::size_t k = s.order.size(); k-- > 0;) {
    const std::uint32_t n = s.order[k];
    if (n != b && !before[n]) continue;
    for (std::uint32_t q = 0; q < s.node_count(); ++q)
      if (s.stream[q] == s.stream[n] && s.position[q] < s.position[n]) before[q] = true;
    for (std::size_t w = s.wait_begin[n]; w < s.wait_begin[n + 1]; ++w)
      before[s.events[s.waits[w]]] = true;
  }
  return before[a];
}

TEST(Schedule, HappensBeforeIsTheClosureOfWaitsAndStreams) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const StreamSchedule s = schedule(random_problem(random), 3);
    const HappensBefore before(s);
    for (std::uint32_t a = 0; a < s.node_count(); ++a)
      for (std::uint32_t b = 0; b < s.node_count(); ++b)
        ASSERT_EQ(before(a, b), reaches(s, a, b)) << a << " before " << b;
  }
}

TEST(Schedule, TheChecksFindWhatIsMissing) {
  const ScheduleProblem p = problem(4, {{0, 1}, {0, 2}, {1, 3}, {2, 3}});
  const StreamSchedule good = schedule(p, 2);
  for (std::size_t n = 0; n < 4; ++n) {  // each wait is left out in turn
    if (good.wait_begin[n] == good.wait_begin[n + 1]) continue;
    StreamSchedule bad = good;
    bad.waits.erase(bad.waits.begin() + static_cast<std::ptrdiff_t>(bad.wait_begin[n]));
    for (std::size_t m = n + 1; m <= 4; ++m) --bad.wait_begin[m];
    EXPECT_TRUE(violation(p, bad)) << n;
    EXPECT_TRUE(redundancy(bad)) << "an event is left for which nothing waits";
  }
  StreamSchedule needless = good;
  needless.waits.push_back(0);
  ++needless.wait_begin.back();
  EXPECT_FALSE(violation(p, needless));
  EXPECT_TRUE(redundancy(needless));
  StreamSchedule malformed = good;
  malformed.order[0] = 7;
  EXPECT_TRUE(violation(p, malformed));
  expect_error(MOTE_INVALID, "schedule: its order", [&] { (void)HappensBefore(malformed); });
}

TEST(Schedule, MalformedProblemsAreErrors) {
  expect_error(MOTE_INVALID, "schedule: nodes wait for each other: 2 -> 1 -> 2", [] {
    (void)schedule(problem(3, {{1, 2}, {2, 1}}), 1);
  });
  expect_error(MOTE_INVALID, "schedule: 1..1024 streams",
               [] { (void)schedule(problem(1, {}), 0); });
  expect_error(MOTE_INVALID, "schedule: predecessor 5 of 2 nodes", [] {
    (void)schedule(problem(2, {{5, 1}}), 1);
  });
  ScheduleProblem p = problem(2, {{0, 1}});
  p.order = {1, 0};
  expect_error(MOTE_INVALID, "schedule: the order has node 1 before its predecessor 0",
               [&] { (void)schedule(p, 1); });
  p.order = {0, 0};
  expect_error(MOTE_INVALID, "must have each node once", [&] { (void)schedule(p, 1); });
  p.order = {};
  p.weights = {1, -1};
  expect_error(MOTE_INVALID, "weights must be finite", [&] { (void)schedule(p, 1); });
}

TEST(Schedule, ANodeMayHaveSeventyThousandPredecessors) {
  constexpr std::uint32_t kMany = 70000;
  ScheduleProblem p;
  for (std::uint32_t n = 0; n < kMany; ++n) p.begin.push_back(0);
  for (std::uint32_t n = 0; n < kMany; ++n) p.predecessors.push_back(n);
  p.begin.push_back(kMany);
  for (const int streams : {1, 4}) {
    const StreamSchedule s = schedule(p, streams);
    EXPECT_EQ(s.stream_count(), static_cast<std::size_t>(streams));
    EXPECT_EQ(s.waits.size(), static_cast<std::size_t>(streams - 1));
    const HappensBefore before(s);
    for (std::uint32_t n = 0; n < kMany; ++n) ASSERT_TRUE(before(n, kMany));
    EXPECT_FALSE(violation(p, s));
  }
}

}  // namespace
}  // namespace mote
