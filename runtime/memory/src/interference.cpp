// SPDX-License-Identifier: Apache-2.0
// Makes the relation "must not overlap" from lifetimes, pairs or lives on streams, and answers
// questions about it.
#include <algorithm>
#include <limits>
#include <numeric>

#include "mote/base/error.h"
#include "mote/memory/problem.h"

namespace mote {
namespace {

void require_countable(std::size_t blocks) {
  if (blocks >= std::numeric_limits<std::uint32_t>::max())
    throw Error("interference: the number of blocks is " + std::to_string(blocks) +
                ", expected below 2^32 - 1");
}

void require_pair(const Interference::Pair& pair, std::size_t blocks) {
  if (pair.first >= blocks || pair.second >= blocks)
    throw Error("interference: a pair names block " +
                std::to_string(std::max(pair.first, pair.second)) + " of " +
                std::to_string(blocks));
  if (pair.first == pair.second)
    throw Error("interference: a pair names block " + std::to_string(pair.first) + " twice");
}

/// Returns true if all uses of a have ended before b is first written.
bool dead_before(const StreamLife& a, const StreamLife& b) {
  for (std::size_t stream = 0; stream < a.read.size(); ++stream)
    if (a.read[stream] > b.born[stream]) return false;
  return true;
}

/// Returns numbers that grow with time: a write that happens before another has a smaller sum of
/// its clock.
std::vector<std::int64_t> clock_sums(std::span<const StreamLife> lives) {
  std::vector<std::int64_t> sums;
  sums.reserve(lives.size());
  for (const StreamLife& life : lives)
    sums.push_back(std::accumulate(life.born.begin(), life.born.end(), std::int64_t{0}));
  return sums;
}

}  // namespace

Interference Interference::of_lifetimes(std::vector<Lifetime> lifetimes) {
  require_countable(lifetimes.size());
  for (std::size_t block = 0; block < lifetimes.size(); ++block)
    if (lifetimes[block].begin >= lifetimes[block].end)
      throw Error("interference: the lifetime of block " + std::to_string(block) + " is [" +
                  std::to_string(lifetimes[block].begin) + ", " +
                  std::to_string(lifetimes[block].end) + "), expected one that is not empty");
  Interference result;
  result.lifetimes_ = std::move(lifetimes);
  return result;
}

Interference Interference::of_pairs(std::size_t blocks, std::span<const Pair> pairs,
                                    std::vector<std::int64_t> order) {
  require_countable(blocks);
  if (order.empty()) {
    order.resize(blocks);
    std::iota(order.begin(), order.end(), std::int64_t{0});
  }
  if (order.size() != blocks)
    throw Error("interference: the order has " + std::to_string(order.size()) + " entries for " +
                std::to_string(blocks) + " blocks");
  Interference result;
  result.order_ = std::move(order);
  std::vector<std::size_t> first(blocks + 1, 0);
  for (const Pair& pair : pairs) {
    require_pair(pair, blocks);
    ++first[pair.first + 1];
    ++first[pair.second + 1];
  }
  std::partial_sum(first.begin(), first.end(), first.begin());
  std::vector<std::uint32_t> ends(2 * pairs.size());
  std::vector<std::size_t> next(first.begin(), first.end());
  for (const Pair& pair : pairs) {
    ends[next[pair.first]++] = pair.second;
    ends[next[pair.second]++] = pair.first;
  }
  // Sorted, and each neighbour once.
  result.first_.push_back(0);
  auto kept = ends.begin();
  for (std::size_t block = 0; block < blocks; ++block) {
    const auto begin = ends.begin() + static_cast<std::ptrdiff_t>(first[block]);
    const auto end = ends.begin() + static_cast<std::ptrdiff_t>(first[block + 1]);
    std::sort(begin, end);
    kept = std::move(begin, std::unique(begin, end), kept);
    result.first_.push_back(static_cast<std::size_t>(kept - ends.begin()));
  }
  ends.erase(kept, ends.end());
  result.neighbours_ = std::move(ends);
  return result;
}

namespace {

void check_lives(std::span<const StreamLife> lives) {
  require_countable(lives.size());
  for (std::size_t block = 0; block < lives.size(); ++block)
    if (lives[block].born.size() != lives[0].born.size() ||
        lives[block].read.size() != lives[0].born.size())
      throw Error("interference: block " + std::to_string(block) + " has " +
                  std::to_string(lives[block].born.size()) + " and " +
                  std::to_string(lives[block].read.size()) + " numbers of streams, expected " +
                  std::to_string(lives[0].born.size()));
}

/// Calls function(a, b) for each pair of blocks whose lifetimes meet, until it returns false;
/// returns whether it never did.
template <typename Function>
bool each_meeting(std::span<const Lifetime> lifetimes, const Function& function) {
  std::vector<std::uint32_t> by_begin(lifetimes.size());
  std::iota(by_begin.begin(), by_begin.end(), 0U);
  std::ranges::stable_sort(by_begin, {}, [&](std::uint32_t b) { return lifetimes[b].begin; });
  std::vector<std::uint32_t> alive;
  for (const std::uint32_t block : by_begin) {
    std::erase_if(alive,
                  [&](std::uint32_t b) { return lifetimes[b].end <= lifetimes[block].begin; });
    for (const std::uint32_t other : alive)
      if (!function(block, other)) return false;
    alive.push_back(block);
  }
  return true;
}

}  // namespace

Interference Interference::of_streams(std::span<const StreamLife> lives) {
  check_lives(lives);
  std::vector<Pair> pairs;
  for (std::uint32_t a = 0; a < lives.size(); ++a)
    for (std::uint32_t b = a + 1; b < lives.size(); ++b)
      if (!dead_before(lives[a], lives[b]) && !dead_before(lives[b], lives[a]))
        pairs.emplace_back(a, b);
  return of_pairs(lives.size(), pairs, clock_sums(lives));
}

Interference Interference::of_streams(std::span<const StreamLife> lives,
                                      std::vector<Lifetime> bounds) {
  check_lives(lives);
  if (bounds.size() != lives.size())
    throw Error("interference: " + std::to_string(bounds.size()) + " bounds are given for " +
                std::to_string(lives.size()) + " blocks");
  Interference timed = of_lifetimes(std::move(bounds));
  std::size_t left = kMostPairs;
  std::vector<Pair> pairs;
  const bool are_few = each_meeting(timed.lifetimes(), [&](std::uint32_t a, std::uint32_t b) {
    if (!dead_before(lives[a], lives[b]) && !dead_before(lives[b], lives[a]))
      pairs.emplace_back(a, b);
    return left-- > 0;
  });
  if (!are_few) return timed;
  return of_pairs(lives.size(), pairs, clock_sums(lives));
}

bool Interference::between(std::uint32_t a, std::uint32_t b) const {
  if (a == b) return false;
  if (timed())
    return lifetimes_[a].begin < lifetimes_[b].end && lifetimes_[b].begin < lifetimes_[a].end;
  const std::span<const std::uint32_t> near = neighbours(a);
  return std::binary_search(near.begin(), near.end(), b);
}

std::span<const std::uint32_t> Interference::neighbours(std::uint32_t block) const {
  if (timed()) return {};
  return std::span(neighbours_).subspan(first_[block], first_[block + 1] - first_[block]);
}

}  // namespace mote
