// SPDX-License-Identifier: Apache-2.0
// The problem that plan_memory() (plan.h) solves: blocks of bytes, and which of them are alive at
// the same time and so must not overlap. Nothing here knows what is kept in a block. Values that
// share memory by intent (in place, carried from iteration to iteration) are one block: the caller
// merges them, with the union of their lifetimes, before it states the problem.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "mote/base/export.h"

namespace MOTE_API mote {

/// A block that needs a place: its size, its alignment (a power of two; the offset is a multiple of
/// it), and a name for messages and pictures, which may be empty.
struct MemoryBlock {
  std::uint64_t bytes = 0;
  std::uint64_t alignment = 1;
  std::string name = {};
};

/// The points of time [begin, end) at which a block is alive, on any scale; begin < end.
struct Lifetime {
  std::int64_t begin = 0;
  std::int64_t end = 0;

  friend bool operator==(const Lifetime&, const Lifetime&) = default;
};

/// The life of a block on several streams, whose operations are numbered from 1 on each stream.
/// `born[s]` is the last operation of stream s that has ended before the block is first written (0:
/// none has to), which is the vector clock of that write; `read[s]` is the last operation of stream
/// s that uses the block, its writer included (0: none does). A block is dead for another one if
/// all its uses have ended before the other one is written: read[s] <= other.born[s] for all s.
struct StreamLife {
  std::vector<std::uint32_t> born;
  std::vector<std::uint32_t> read;
};

/// The pairs of blocks that must not overlap. Blocks are numbered from 0, at most 2^32 - 1 of them.
class Interference {
 public:
  using Pair = std::pair<std::uint32_t, std::uint32_t>;

  /// No blocks.
  Interference() = default;

  /// Blocks on one line of time: two interfere where their lifetimes meet. It takes 16 bytes a
  /// block, and a question takes constant time. Throws Error if a lifetime is empty.
  static Interference of_lifetimes(std::vector<Lifetime> lifetimes);

  /// Any symmetric relation, given as pairs (in any order, repeated or not). It takes 8 bytes a
  /// pair, and a question takes logarithmic time. `order` is each block's first use, any numbers
  /// that grow with time (by default the block's number); planners use it to break ties, and the
  /// seed's to order blocks that share memory. Throws Error if a pair names a block that does not
  /// exist or one block twice, or if the order has another length.
  static Interference of_pairs(std::size_t blocks, std::span<const Pair> pairs,
                               std::vector<std::int64_t> order = {});

  /// Blocks on several streams: two interfere unless one is dead for the other. The order of use is
  /// that of the lives. It compares all pairs of blocks: n^2/2 comparisons of vectors of k numbers.
  /// Throws Error if the vectors have different lengths.
  static Interference of_streams(std::span<const StreamLife> lives);

  /// The same, where blocks whose bounds do not meet are known not to interfere: only pairs whose
  /// bounds meet are compared. If these are more than kMostPairs, the bounds are the lifetimes:
  /// then blocks may be kept apart that do not interfere. It takes n log n steps for n blocks and
  /// one for each such pair. Throws Error for another number of bounds, and for an empty one.
  static Interference of_streams(std::span<const StreamLife> lives, std::vector<Lifetime> bounds);
  static constexpr std::size_t kMostPairs = std::size_t{1} << 21U;

  /// The number of blocks.
  std::size_t size() const { return order_.empty() ? lifetimes_.size() : order_.size(); }
  /// Returns true if it was made of lifetimes.
  bool timed() const { return order_.empty(); }
  /// Returns true if the two blocks, which must exist, must not overlap; false for a block itself.
  bool between(std::uint32_t a, std::uint32_t b) const;
  /// The first use of a block: the begin of its lifetime, or its number in `order`.
  std::int64_t order(std::uint32_t block) const {
    return timed() ? lifetimes_[block].begin : order_[block];
  }

  /// All lifetimes, where timed(); else nothing.
  std::span<const Lifetime> lifetimes() const { return lifetimes_; }
  /// The blocks that interfere with a block, ascending, where not timed().
  std::span<const std::uint32_t> neighbours(std::uint32_t block) const;

 private:
  std::vector<Lifetime> lifetimes_;
  std::vector<std::int64_t> order_;
  std::vector<std::size_t> first_;  // neighbours_[first_[b]] is the first neighbour of block b
  std::vector<std::uint32_t> neighbours_;
};

/// Blocks and their interference, of the same number of blocks.
struct MemoryProblem {
  std::vector<MemoryBlock> blocks;
  Interference interference;
};

}  // namespace mote
