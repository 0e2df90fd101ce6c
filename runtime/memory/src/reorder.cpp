// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "pack.h"

namespace mote::memory {
namespace {

/// Rounds in addition to four for each block, after which orders repeat.
constexpr std::uint64_t kFewRounds = 16;

}  // namespace

Packing pack_reordered(const Part& part, std::vector<std::uint32_t> order, std::uint64_t target,
                       std::uint64_t most_visits) {
  Packing best;
  std::vector<std::uint64_t> locations(part.size());
  const std::uint64_t rounds = std::min<std::uint64_t>(
      most_visits / (2 * part.pairs + part.size()) + 1, kFewRounds + 4 * part.size());
  for (std::uint64_t round = 0; round < rounds; ++round) {
    Packing packing = pack(part, order, Fit::first, kMaxBytes);
    if (packing.total == kTooMany) break;
    // A block that ends above the target goes to before two thirds of those that came before it.
    for (std::uint64_t at = 0; at < order.size(); ++at) {
      const std::uint32_t k = order[at];
      const bool above = packing.offsets[k] + part.bytes[k] > target;
      locations[k] = above ? 2 * (at / 3) : 2 * at + 1;
    }
    if (packing.total < best.total) best = std::move(packing);
    if (best.total <= target) break;
    std::stable_sort(order.begin(), order.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return locations[a] < locations[b]; });
  }
  return best;
}

}  // namespace mote::memory
