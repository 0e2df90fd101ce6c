// SPDX-License-Identifier: Apache-2.0
// Interference from lifetimes, pairs and streams, and what is refused.
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <queue>

#include "mote/base/error.h"
#include "mote/memory/problem.h"
#include "problems.h"

namespace mote {
namespace {

using Pair = Interference::Pair;

template <typename Make>
std::string message(const Make& make) {
  try {
    make();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Interference, LifetimesMeetWhereBothAreAlive) {
  const Interference relation = Interference::of_lifetimes({{0, 2}, {2, 4}, {1, 3}, {-5, 9}});
  EXPECT_EQ(relation.size(), 4U);
  EXPECT_FALSE(relation.between(0, 1));
  EXPECT_FALSE(relation.between(1, 1));
  EXPECT_TRUE(relation.between(0, 2));
  EXPECT_TRUE(relation.between(2, 1));
  EXPECT_TRUE(relation.between(3, 0));
  EXPECT_EQ(relation.order(3), -5);
}

TEST(Interference, PairsAreSymmetricAndKeptOnce) {
  const std::array<Pair, 4> pairs = {{{2, 0}, {0, 2}, {1, 2}, {2, 0}}};
  const Interference relation = Interference::of_pairs(4, pairs);
  EXPECT_EQ(relation.size(), 4U);
  EXPECT_TRUE(relation.between(0, 2));
  EXPECT_TRUE(relation.between(2, 0));
  EXPECT_FALSE(relation.between(0, 1));
  EXPECT_EQ(relation.neighbours(2).size(), 2U);
  EXPECT_EQ(relation.neighbours(3).size(), 0U);
  EXPECT_EQ(relation.order(3), 3);
  EXPECT_EQ(Interference::of_pairs(2, {}, {7, 5}).order(1), 5);
}

TEST(Interference, WithoutBlocks) {
  EXPECT_EQ(Interference().size(), 0U);
  EXPECT_EQ(Interference::of_lifetimes({}).size(), 0U);
  EXPECT_EQ(Interference::of_pairs(0, {}).size(), 0U);
  EXPECT_EQ(Interference::of_streams({}).size(), 0U);
}

TEST(Interference, RefusesWhatDoesNotFit) {
  EXPECT_EQ(message([] {
              Interference::of_lifetimes({{0, 1}, {3, 3}});
            }),
            "interference: the lifetime of block 1 is [3, 3), expected one that is not empty");
  EXPECT_EQ(message([] {
              Interference::of_pairs(2, std::array<Pair, 1>{{{0, 2}}});
            }),
            "interference: a pair names block 2 of 2");
  EXPECT_EQ(message([] {
              Interference::of_pairs(2, std::array<Pair, 1>{{{1, 1}}});
            }),
            "interference: a pair names block 1 twice");
  EXPECT_EQ(message([] { Interference::of_pairs(2, {}, {1}); }),
            "interference: the order has 1 entries for 2 blocks");
  const std::vector<StreamLife> lives = {{{0, 0}, {1, 0}}, {{0}, {1, 2}}};
  EXPECT_EQ(message([&] { Interference::of_streams(lives); }),
            "interference: block 1 has 1 and 2 numbers of streams, expected 2");
}

TEST(Interference, OneStreamIsALineOfTime) {
  // Operation k writes block k; the block is used until operation `last`.
  const std::vector<std::uint32_t> last = {2, 4, 3, 5, 5};
  std::vector<StreamLife> lives;
  std::vector<Lifetime> lifetimes;
  for (std::uint32_t k = 0; k < last.size(); ++k) {
    lives.push_back({{k}, {last[k]}});
    lifetimes.push_back({k + 1, last[k] + 1});
  }
  const Interference streams = Interference::of_streams(lives);
  const Interference line = Interference::of_lifetimes(lifetimes);
  for (std::uint32_t a = 0; a < last.size(); ++a)
    for (std::uint32_t b = 0; b < last.size(); ++b)
      EXPECT_EQ(streams.between(a, b), line.between(a, b)) << a << " and " << b;
}

TEST(Interference, StreamsShareOnlyAfterAnEvent) {
  // Stream 0: operations 1, 2; stream 1: operations 1, 2, where 2 waits for stream 0's first.
  const StreamLife a = {{0, 0}, {1, 0}};  // written and used by 1 of stream 0
  const StreamLife b = {{0, 0}, {0, 1}};  // by 1 of stream 1, which waits for nothing
  const StreamLife c = {{1, 1}, {0, 2}};  // by 2 of stream 1
  const StreamLife d = {{1, 0}, {2, 2}};  // written by 2 of stream 0, used on stream 1 as well
  const Interference relation = Interference::of_streams(std::array<StreamLife, 4>{a, b, c, d});
  EXPECT_TRUE(relation.between(0, 1));   // they may run at once
  EXPECT_FALSE(relation.between(0, 2));  // a is dead before c
  EXPECT_FALSE(relation.between(1, 2));
  EXPECT_FALSE(relation.between(0, 3));
  EXPECT_TRUE(relation.between(1, 3));  // d does not wait for stream 1
  EXPECT_TRUE(relation.between(2, 3));
}

/// Blocks in a line of time, of two streams that wait for each other at every hundredth operation.
std::pair<std::vector<StreamLife>, std::vector<Lifetime>> lives_in_rounds(std::uint32_t count,
                                                                          std::uint32_t length) {
  std::pair<std::vector<StreamLife>, std::vector<Lifetime>> made;
  for (std::uint32_t k = 0; k < count; ++k) {
    const std::uint32_t operation = k / 2, synced = operation / 100 * 100;
    const bool is_second = k % 2 == 1;
    const std::uint32_t last = operation + 1 + k % length;
    made.first.push_back({{is_second ? synced : operation, is_second ? operation : synced},
                          {is_second ? 0 : last, is_second ? last : 0}});
    made.second.push_back({synced, last + 1});
  }
  return made;
}

TEST(Interference, BoundsOfLivesLeaveOutNoPair) {
  const auto [lives, bounds] = lives_in_rounds(2000, 30);
  const Interference all = Interference::of_streams(lives);
  const Interference some = Interference::of_streams(lives, bounds);
  EXPECT_FALSE(some.timed());
  for (std::uint32_t a = 0; a < lives.size(); ++a) {
    EXPECT_EQ(all.order(a), some.order(a));
    EXPECT_TRUE(std::ranges::equal(all.neighbours(a), some.neighbours(a))) << a;
  }
  EXPECT_EQ(message([&] {
              Interference::of_streams(lives, std::vector<Lifetime>{{0, 1}});
            }),
            "interference: 1 bounds are given for 2000 blocks");
}

TEST(Interference, ManyPairsOnStreamsAreThoseOfTheBounds) {
  const auto [lives, bounds] = lives_in_rounds(12000, 12000);
  const Interference some = Interference::of_streams(lives, bounds);
  ASSERT_TRUE(some.timed());
  const auto [fewer, fewer_bounds] = lives_in_rounds(1000, 12000);
  const Interference exact = Interference::of_streams(fewer);
  for (std::uint32_t a = 0; a < fewer.size(); ++a)
    for (const std::uint32_t b : exact.neighbours(a)) EXPECT_TRUE(some.between(a, b));
}

}  // namespace
}  // namespace mote
