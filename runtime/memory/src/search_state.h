// SPDX-License-Identifier: Apache-2.0
// The state of a search: which blocks are placed, how low the others can be, and what is left at
// each point of time. Changes are recorded, so that they can be undone.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "part.h"

namespace mote::memory {

/// A property of a block by which it is preferred: the most bytes that are still to come at a point
/// of its life, its time, its time times its bytes, the same in points, its number of neighbours.
enum class Measure : std::uint8_t { peak, time, area, points, point_area, neighbours };

/// The order in which blocks that could be placed at one offset are tried: by falling values of
/// the first measure, then of the second, then of the third.
using Preference = std::array<Measure, 3>;

/// An offset and the rank of a block at it. A search places blocks by rising keys.
using LocationKey = std::pair<std::uint64_t, std::uint64_t>;

class SearchState {
 public:
  SearchState(const Part& part, std::uint64_t capacity);

  bool placed(std::uint32_t block) const { return offsets_[block] != kTooMany; }
  const std::vector<std::uint64_t>& offsets() const { return offsets_; }
  /// The lowest place of an open block: on the highest of its placed neighbours.
  std::uint64_t low(std::uint32_t block) const { return lows_[block]; }
  LocationKey key(std::uint32_t block) const { return {lows_[block], ranks_[block]}; }

  /// Places a block at its lowest place. Returns false if the blocks of `open`, which are all that
  /// are connected with it, cannot be placed then at keys above its own; the state must be undone.
  bool place(std::uint32_t block, std::span<const std::uint32_t> open);
  /// Returns false if the open blocks of a group do not fit above a floor at some point.
  bool fits(std::span<const std::uint32_t> group, std::uint64_t floor);
  /// Gives the blocks of a group new ranks, which begin with 0.
  void rank(std::span<const std::uint32_t> group, const Preference& preference);
  /// Returns a number that stands for all that decides whether open blocks can be placed at keys
  /// from `least` on.
  std::uint64_t hash(std::span<const std::uint32_t> open, LocationKey least);

  std::size_t mark() const { return changes_.size(); }
  void undo(std::size_t mark);

  std::uint64_t steps = 0;  // the updates of numbers so far

 private:
  void list_points();
  void set(std::uint64_t& where, std::uint64_t value);
  void touch_points_of(std::uint32_t block);
  bool lift_neighbours(std::uint32_t block);
  bool lift_passed(std::span<const std::uint32_t> open, LocationKey least);
  bool fits_at_touched();
  bool fits_at(std::uint32_t point);
  double measure(std::uint32_t block, Measure measure) const;

  const Part& part_;
  const std::uint64_t capacity_;
  std::vector<std::uint64_t> offsets_;  // kTooMany where a block is open
  std::vector<std::uint64_t> lows_;
  std::vector<std::uint64_t> leasts_;  // what an offset cannot be below; never below lows_
  std::vector<std::uint64_t> ranks_;
  std::vector<std::uint64_t> floors_;  // by point: the least of leasts_ of open blocks
  std::vector<std::uint64_t> rests_;   // by point: the bytes of open blocks
  Lists points_of_, blocks_at_;
  std::vector<std::pair<std::uint64_t*, std::uint64_t>> changes_;  // (where, value before)
  std::vector<std::uint32_t> touched_points_;
  std::vector<bool> touched_;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> waiting_;  // of fits_at()
};

}  // namespace mote::memory
