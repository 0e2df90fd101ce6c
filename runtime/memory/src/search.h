// SPDX-License-Identifier: Apache-2.0
// Searches for places of a part's blocks within a given number of bytes, after the ideas of
// MiniMalloc (Moffitt, ASPLOS 2023).
#pragma once

#include <cstdint>

#include "pack.h"
#include "part.h"

namespace mote::memory {

enum class Verdict : std::uint8_t { found, impossible, stopped };

struct SearchResult {
  Verdict verdict = Verdict::stopped;
  Packing packing;          // where it was found
  std::uint64_t steps = 0;  // that were taken
};

/// Returns true if a search can work on the part: its neighbours are known, and it is not too
/// large.
bool can_search(const Part& part);

/// Searches until places are found, it is certain that there are none, or the steps are used up.
/// It tries several preferences in turns, each with more steps than in the turn before. The part
/// has its neighbours.
SearchResult search(const Part& part, std::uint64_t capacity, std::uint64_t most_steps);

}  // namespace mote::memory
