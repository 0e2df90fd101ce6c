// SPDX-License-Identifier: Apache-2.0
// The best of several greedy packings of a part.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "mote/memory/plan.h"
#include "pack.h"
#include "part.h"

namespace mote::memory {

struct Greedy {
  Packing packing;
  std::string name;  // of the order and the fit
};

/// Returns the best packing that was tried; it stops at one of at most `target` bytes. It fills the
/// part's neighbours unless they are too many; the effort says how many of them may be visited.
Greedy pack_greedily(Part& part, std::uint64_t target, MemoryEffort effort);

/// Returns true if the part's neighbours are known, so that pack() and a search can work on it.
bool has_neighbours(const Part& part);

/// Returns orders of the blocks by falling value of a key.
enum class Key : std::uint8_t { bytes, area, conflict, length, peak };
std::vector<std::uint32_t> ordered_by(const Part& part, Key key);

}  // namespace mote::memory
