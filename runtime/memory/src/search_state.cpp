// SPDX-License-Identifier: Apache-2.0
#include "search_state.h"

#include <algorithm>

namespace mote::memory {
namespace {

/// Mixes the bits of a number (a multiply-xorshift permutation of 64-bit numbers).
std::uint64_t mixed(std::uint64_t x) {
  x ^= x >> 31;
  x *= 0x7fb5d329728ea185U;
  x ^= x >> 27;
  x *= 0x81dadef4bc2dd44dU;
  return x ^ (x >> 33);
}

}  // namespace

SearchState::SearchState(const Part& part, std::uint64_t capacity)
    : part_(part),
      capacity_(capacity),
      offsets_(part.size(), kTooMany),
      lows_(part.size(), 0),
      leasts_(part.size(), 0),
      ranks_(part.size(), 0),
      floors_(part.points, 0),
      rests_(part.points, 0),
      touched_(part.points, false) {
  list_points();
}

/// Lists the points of each block and the blocks at each point, in ascending order.
void SearchState::list_points() {
  std::vector<std::vector<std::uint32_t>> points(part_.size());
  for (std::uint32_t k = 0; part_.timed && k < part_.size(); ++k)
    for (std::uint32_t p = part_.begins[k]; p <= part_.ends[k]; ++p) points[k].push_back(p);
  for (std::uint32_t c = 0; !part_.timed && c < part_.points; ++c)
    for (const std::uint32_t k : part_.cliques[c]) points[k].push_back(c);
  std::vector<std::vector<std::uint32_t>> blocks(part_.points);
  for (std::uint32_t k = 0; k < part_.size(); ++k) {
    points_of_.values.insert(points_of_.values.end(), points[k].begin(), points[k].end());
    points_of_.close();
    for (const std::uint32_t p : points[k]) {
      blocks[p].push_back(k);
      rests_[p] += part_.bytes[k];
    }
  }
  for (const std::vector<std::uint32_t>& list : blocks) {
    blocks_at_.values.insert(blocks_at_.values.end(), list.begin(), list.end());
    blocks_at_.close();
  }
}

void SearchState::set(std::uint64_t& where, std::uint64_t value) {
  changes_.emplace_back(&where, where);
  where = value;
}

void SearchState::undo(std::size_t mark) {
  steps += changes_.size() - mark;
  for (; changes_.size() > mark; changes_.pop_back())
    *changes_.back().first = changes_.back().second;
}

void SearchState::touch_points_of(std::uint32_t block) {
  const std::span<const std::uint32_t> points = points_of_[block];
  steps += points.size();
  for (const std::uint32_t p : points) {
    if (touched_[p]) continue;
    touched_[p] = true;
    touched_points_.push_back(p);
  }
}

bool SearchState::place(std::uint32_t block, std::span<const std::uint32_t> open) {
  set(offsets_[block], lows_[block]);
  for (const std::uint32_t p : points_of_[block]) set(rests_[p], rests_[p] - part_.bytes[block]);
  touch_points_of(block);
  const bool lifted = lift_neighbours(block) && lift_passed(open, key(block));
  return fits_at_touched() && lifted;
}

/// Lifts the open neighbours of a block that was placed onto it.
bool SearchState::lift_neighbours(std::uint32_t block) {
  const std::uint64_t end = offsets_[block] + part_.bytes[block];
  steps += part_.neighbours[block].size();
  for (const std::uint32_t near : part_.neighbours[block]) {
    if (placed(near)) continue;
    const std::uint64_t low = rounded_up(end, part_.alignments[near]);
    if (lows_[near] >= low) continue;
    if (saturating_sum(low, part_.bytes[near]) > capacity_) return false;
    set(lows_[near], low);
    if (leasts_[near] >= low) continue;
    set(leasts_[near], low);
    touch_points_of(near);
  }
  return true;
}

/// Blocks whose keys were passed over can only be placed after an open neighbour has lifted them,
/// so their offsets are not below the least end of one.
bool SearchState::lift_passed(std::span<const std::uint32_t> open, LocationKey least) {
  steps += open.size();
  for (const std::uint32_t k : open) {
    if (placed(k) || key(k) >= least) continue;
    std::uint64_t lowest = kTooMany;
    steps += part_.neighbours[k].size();
    for (const std::uint32_t near : part_.neighbours[k])
      if (!placed(near))
        lowest = std::min(lowest, std::max(leasts_[near], least.first) + part_.bytes[near]);
    lowest = rounded_up(lowest, part_.alignments[k]);
    if (saturating_sum(lowest, part_.bytes[k]) > capacity_) return false;
    if (lowest <= leasts_[k]) continue;
    set(leasts_[k], lowest);
    touch_points_of(k);
  }
  return true;
}

bool SearchState::fits_at_touched() {
  bool fits = true;
  for (const std::uint32_t p : touched_points_) {
    touched_[p] = false;
    fits = fits && fits_at(p);
  }
  touched_points_.clear();
  return fits;
}

/// Stacks the open blocks of a point by their least offsets, which gives the least end of all.
bool SearchState::fits_at(std::uint32_t point) {
  waiting_.clear();
  steps += blocks_at_[point].size();
  std::uint64_t lowest = kTooMany, highest = 0;
  for (const std::uint32_t k : blocks_at_[point]) {
    if (placed(k)) continue;
    waiting_.emplace_back(leasts_[k], part_.bytes[k]);
    lowest = std::min(lowest, leasts_[k]);
    highest = std::max(highest, leasts_[k]);
  }
  if (waiting_.empty()) return true;
  if (floors_[point] != lowest) set(floors_[point], lowest);
  if (highest + rests_[point] <= capacity_) return true;
  if (lowest + rests_[point] > capacity_) return false;
  steps += 8 * waiting_.size();
  std::sort(waiting_.begin(), waiting_.end());
  std::uint64_t end = 0;
  for (const auto& [least, bytes] : waiting_) end = std::max(end, least) + bytes;
  return end <= capacity_;
}

bool SearchState::fits(std::span<const std::uint32_t> group, std::uint64_t floor) {
  const auto fits_above = [&](std::uint32_t p) {
    ++steps;
    return rests_[p] == 0 || std::max(floors_[p], floor) + rests_[p] <= capacity_;
  };
  if (!part_.timed) {
    for (const std::uint32_t k : group)
      for (const std::uint32_t p : points_of_[k])
        if (!placed(k) && !fits_above(p)) return false;
    return true;
  }
  // A group's points lie between its first begin and its last end.
  std::uint32_t next = 0;
  for (const std::uint32_t k : group)
    if (!placed(k))
      for (next = std::max(next, part_.begins[k]); next <= part_.ends[k]; ++next)
        if (!fits_above(next)) return false;
  return true;
}

double SearchState::measure(std::uint32_t block, Measure measure) const {
  const auto bytes = static_cast<double>(part_.bytes[block]);
  const auto time = static_cast<double>(part_.lengths[block]);
  const auto points = static_cast<double>(points_of_[block].size());
  switch (measure) {
    case Measure::time:
      return time;
    case Measure::area:
      return time * bytes;
    case Measure::points:
      return points;
    case Measure::point_area:
      return points * bytes;
    case Measure::neighbours:
      return static_cast<double>(part_.neighbours[block].size());
    case Measure::peak:
      break;
  }
  std::uint64_t peak = 0;
  for (const std::uint32_t p : points_of_[block]) peak = std::max(peak, rests_[p]);
  return static_cast<double>(peak);
}

void SearchState::rank(std::span<const std::uint32_t> group, const Preference& preference) {
  using Entry = std::pair<std::array<double, 3>, std::uint32_t>;
  std::vector<Entry> entries;
  entries.reserve(group.size());
  for (const std::uint32_t k : group) {
    entries.push_back(
        {{measure(k, preference[0]), measure(k, preference[1]), measure(k, preference[2])}, k});
    steps += points_of_[k].size();
  }
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return a.first != b.first ? a.first > b.first : a.second < b.second;
  });
  for (std::size_t rank = 0; rank < entries.size(); ++rank) set(ranks_[entries[rank].second], rank);
}

std::uint64_t SearchState::hash(std::span<const std::uint32_t> open, LocationKey least) {
  steps += open.size();
  std::uint64_t sum = 0;
  bool any_passed = false;
  for (const std::uint32_t k : open) {
    if (placed(k)) continue;
    const bool passed = key(k) < least;
    any_passed = any_passed || passed;
    sum += mixed(mixed(2 * lows_[k] + (passed ? 1 : 0)) + k);
  }
  return any_passed ? sum + mixed(~least.first) : sum;
}

}  // namespace mote::memory
