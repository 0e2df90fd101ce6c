// SPDX-License-Identifier: Apache-2.0
#include "pack.h"

#include <algorithm>
#include <utility>

namespace mote::memory {
namespace {

/// Finds the place of a block among taken ranges [begin, end), which are sorted and may overlap.
std::uint64_t location_among(std::span<const std::pair<std::uint64_t, std::uint64_t>> taken,
                             std::uint64_t bytes, std::uint64_t alignment, Fit fit) {
  std::uint64_t top = 0, best = kTooMany, smallest = kTooMany;
  for (const auto& [begin, end] : taken) {
    if (begin > top && begin - top < smallest &&
        saturating_sum(rounded_up(top, alignment), bytes) <= begin) {
      best = rounded_up(top, alignment);
      smallest = begin - top;
      if (fit == Fit::first) return best;
    }
    top = std::max(top, end);
  }
  return best != kTooMany ? best : rounded_up(top, alignment);
}

}  // namespace

Packing pack(const Part& part, std::span<const std::uint32_t> order, Fit fit, std::uint64_t limit) {
  Packing result;
  result.offsets.assign(part.size(), kUnplaced);
  std::uint64_t total = 0;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> taken;
  for (const std::uint32_t block : order) {
    taken.clear();
    for (const std::uint32_t near : part.neighbours[block])
      if (result.offsets[near] != kUnplaced)
        taken.emplace_back(result.offsets[near], result.offsets[near] + part.bytes[near]);
    std::sort(taken.begin(), taken.end());
    const std::uint64_t offset =
        location_among(taken, part.bytes[block], part.alignments[block], fit);
    const std::uint64_t end = saturating_sum(offset, part.bytes[block]);
    if (end > limit || end > kMaxBytes) return {};
    result.offsets[block] = offset;
    total = std::max(total, end);
  }
  result.total = total;
  return result;
}

}  // namespace mote::memory
