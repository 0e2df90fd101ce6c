// SPDX-License-Identifier: Apache-2.0
// The pieces of a problem that planners work on. Blocks of different parts are never alive
// together, so each part is planned alone, from offset 0. In a part blocks are numbered anew, in
// the order of their use; sizes are multiples of the least alignment of the problem; and time is
// the number of a point: one of the moments at which no more blocks can be added to those alive.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "mote/memory/problem.h"

namespace mote::memory {

/// A number of bytes that stands for "too many"; sums stop there.
inline constexpr std::uint64_t kTooMany = std::numeric_limits<std::uint64_t>::max();
/// The offset of a block that has no place yet.
inline constexpr std::uint64_t kUnplaced = kTooMany;
/// The most bytes that a plan may have.
inline constexpr std::uint64_t kMaxBytes = std::numeric_limits<std::int64_t>::max();

constexpr std::uint64_t saturating_sum(std::uint64_t a, std::uint64_t b) {
  return a > kTooMany - b ? kTooMany : a + b;
}
/// Returns the least multiple of a power of two that is not below the number.
constexpr std::uint64_t rounded_up(std::uint64_t number, std::uint64_t alignment) {
  const std::uint64_t sum = saturating_sum(number, alignment - 1);
  return sum == kTooMany ? kTooMany : sum & ~(alignment - 1);
}

/// Lists of numbers in one array; list k is [first[k], first[k + 1]).
struct Lists {
  std::vector<std::size_t> first = {0};
  std::vector<std::uint32_t> values;

  std::size_t size() const { return first.size() - 1; }
  std::span<const std::uint32_t> operator[](std::size_t k) const {
    return std::span(values).subspan(first[k], first[k + 1] - first[k]);
  }
  void close() { first.push_back(values.size()); }
};

struct Part {
  std::vector<std::uint32_t> blocks;  // their numbers in the problem
  std::vector<std::uint64_t> bytes;
  std::vector<std::uint64_t> alignments;
  /// The time that each block lives, on the problem's scale; not timed: its number of neighbours.
  std::vector<std::uint64_t> lengths;
  bool timed = true;
  /// Timed: the first and the last point at which each block is alive.
  std::vector<std::uint32_t> begins;
  std::vector<std::uint32_t> ends;
  /// The number of points (timed), or of the cliques that were found.
  std::size_t points = 0;
  /// The number of pairs that interfere, and the most bytes alive at once.
  std::uint64_t pairs = 0;
  std::uint64_t bound = 0;
  /// The neighbours of each block, ascending; where the part is timed, only after
  /// find_neighbours().
  Lists neighbours;
  /// Not timed: the blocks of each clique that was found.
  Lists cliques;

  std::size_t size() const { return blocks.size(); }
};

/// Checks the problem and cuts it into parts. Blocks of no bytes are in none. Throws Error.
std::vector<Part> parts_of(const MemoryProblem& problem);

/// Fills the neighbours of a timed part: 8 bytes a pair.
void find_neighbours(Part& part);

}  // namespace mote::memory
