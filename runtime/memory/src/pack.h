// SPDX-License-Identifier: Apache-2.0
// Greedy packing: blocks are placed one after the other, each into a gap between its neighbours
// that are placed already.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "part.h"

namespace mote::memory {

/// The gap that a block takes: the lowest that it fits into, or the smallest; above all its
/// neighbours if it fits into none.
enum class Fit : std::uint8_t { first, best };

/// The places of a part's blocks, and the greatest end; kTooMany where there is no plan.
struct Packing {
  std::vector<std::uint64_t> offsets;
  std::uint64_t total = kTooMany;
};

/// Places the blocks in an order; the part has its neighbours. It gives up, with kTooMany as total,
/// when a block ends above the limit.
Packing pack(const Part& part, std::span<const std::uint32_t> order, Fit fit, std::uint64_t limit);

/// Packs again and again, each time with those blocks earlier that ended above the target, since an
/// order that leaves them on top was wrong about them ("squeaky wheel optimization", Joslin and
/// Clements 1999). Returns the best; it ends after a limited number of visits of neighbours.
Packing pack_reordered(const Part& part, std::vector<std::uint32_t> order, std::uint64_t target,
                       std::uint64_t most_visits);

/// Places the blocks of a timed part in the order of their begins (or backwards, of their ends) in
/// the smallest gap of all memory that is free then. It needs no neighbours, and n log n steps.
Packing pack_by_time(const Part& part, bool backwards);

}  // namespace mote::memory
