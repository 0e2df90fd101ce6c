// SPDX-License-Identifier: Apache-2.0
#include "greedy.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

namespace mote::memory {
namespace {

/// The pairs for which neighbours are kept (8 bytes each).
constexpr std::uint64_t kMaxPairs = std::uint64_t{1} << 24;

/// The neighbours that each of the packings that are reordered may visit.
constexpr std::uint64_t kMaxReordered = std::uint64_t{1} << 23;

/// Returns the neighbours that all packings may visit together; each takes some ten nanoseconds.
std::uint64_t visits_of(MemoryEffort effort) {
  switch (effort) {
    case MemoryEffort::fast:
      return std::uint64_t{1} << 20;
    case MemoryEffort::normal:
      return std::uint64_t{1} << 23;
    case MemoryEffort::thorough:
      break;
  }
  return std::uint64_t{1} << 30;
}

struct Trial {
  Key key;
  Fit fit;
  const char* name;
};
// The best on average come first, since all but the greatest effort may stop after a few.
constexpr std::array<Trial, 10> kTrials = {{{Key::bytes, Fit::first, "size, first fit"},
                                            {Key::area, Fit::first, "area, first fit"},
                                            {Key::conflict, Fit::first, "conflict, first fit"},
                                            {Key::length, Fit::first, "duration, first fit"},
                                            {Key::bytes, Fit::best, "size, best fit"},
                                            {Key::area, Fit::best, "area, best fit"},
                                            {Key::peak, Fit::first, "peak, first fit"},
                                            {Key::peak, Fit::best, "peak, best fit"},
                                            {Key::conflict, Fit::best, "conflict, best fit"},
                                            {Key::length, Fit::best, "duration, best fit"}}};

/// Returns the bytes alive at each point, or of each clique.
std::vector<std::uint64_t> bytes_at_points(const Part& part) {
  std::vector<std::uint64_t> bytes(part.points + 1, 0);
  if (!part.timed) {
    for (std::size_t c = 0; c < part.points; ++c)
      for (const std::uint32_t k : part.cliques[c]) bytes[c] += part.bytes[k];
    return bytes;
  }
  for (std::size_t k = 0; k < part.size(); ++k) {
    bytes[part.begins[k]] += part.bytes[k];
    bytes[part.ends[k] + 1] -= part.bytes[k];
  }
  std::partial_sum(bytes.begin(), bytes.end(), bytes.begin());
  return bytes;
}

/// Returns the most bytes that are alive together with each block.
std::vector<std::uint64_t> peaks_of(const Part& part) {
  const std::vector<std::uint64_t> bytes = bytes_at_points(part);
  std::vector<std::uint64_t> peaks(part.size(), 0);
  if (!part.timed) {
    for (std::size_t c = 0; c < part.points; ++c)
      for (const std::uint32_t k : part.cliques[c]) peaks[k] = std::max(peaks[k], bytes[c]);
    return peaks;
  }
  // Points by falling bytes give their number to all blocks that lack one; a tree of maxima is
  // shorter: level l holds the maxima of 2^l points.
  std::vector<std::vector<std::uint64_t>> maxima = {bytes};
  for (std::size_t width = 1; 2 * width <= bytes.size(); width *= 2) {
    const std::vector<std::uint64_t>& below = maxima.back();
    std::vector<std::uint64_t> level(below.size() - width);
    for (std::size_t k = 0; k < level.size(); ++k) level[k] = std::max(below[k], below[k + width]);
    maxima.push_back(std::move(level));
  }
  for (std::size_t k = 0; k < part.size(); ++k) {
    const std::size_t length = part.ends[k] - part.begins[k] + std::size_t{1};
    std::size_t level = 0;
    while ((std::size_t{2} << level) <= length) ++level;
    peaks[k] = std::max(maxima[level][part.begins[k]],
                        maxima[level][part.ends[k] + 1 - (std::size_t{1} << level)]);
  }
  return peaks;
}

/// Returns how long a block lives: in points of time, or as its number of neighbours.
double length_of(const Part& part, std::size_t block) {
  return part.timed ? static_cast<double>(part.ends[block] - part.begins[block]) + 1
                    : static_cast<double>(part.neighbours[block].size()) + 1;
}

double key_of(const Part& part, std::size_t block, Key key) {
  const auto bytes = static_cast<double>(part.bytes[block]);
  if (key == Key::bytes) return bytes;
  if (key == Key::length) return length_of(part, block);
  if (key == Key::area) return bytes * length_of(part, block);
  double conflict = bytes;
  for (const std::uint32_t near : part.neighbours[block])
    conflict += static_cast<double>(part.bytes[near]);
  return conflict;
}

void keep_better(Greedy& best, Packing packing, const char* name) {
  if (packing.total < best.packing.total) best = {std::move(packing), name};
}

}  // namespace

bool has_neighbours(const Part& part) { return part.neighbours.size() == part.size(); }

std::vector<std::uint32_t> ordered_by(const Part& part, Key key) {
  std::vector<double> keys(part.size());
  if (key == Key::peak) {
    const std::vector<std::uint64_t> peaks = peaks_of(part);
    for (std::size_t k = 0; k < keys.size(); ++k) keys[k] = static_cast<double>(peaks[k]);
  } else {
    for (std::size_t k = 0; k < keys.size(); ++k) keys[k] = key_of(part, k, key);
  }
  std::vector<std::uint32_t> order(part.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    if (keys[a] != keys[b]) return keys[a] > keys[b];
    return part.bytes[a] > part.bytes[b];
  });
  return order;
}

Greedy pack_greedily(Part& part, std::uint64_t target, MemoryEffort effort) {
  Greedy best;
  if (part.timed) {
    keep_better(best, pack_by_time(part, false), "time, best fit");
    if (best.packing.total > target)
      keep_better(best, pack_by_time(part, true), "time backwards, best fit");
  } else {
    std::vector<std::uint32_t> order(part.size());
    std::iota(order.begin(), order.end(), 0U);
    keep_better(best, pack(part, order, Fit::best, kMaxBytes), "time, best fit");
  }
  if (best.packing.total <= target || part.pairs > kMaxPairs) return best;
  const std::uint64_t most_visits = visits_of(effort);
  std::uint64_t visits = 0;
  for (const Trial& trial : kTrials) {
    visits += 2 * part.pairs + part.size();
    if (visits > most_visits && best.packing.total != kTooMany) break;
    find_neighbours(part);
    keep_better(best, pack(part, ordered_by(part, trial.key), trial.fit, best.packing.total - 1),
                trial.name);
    if (best.packing.total <= target) return best;
  }
  if (!has_neighbours(part)) return best;
  const std::uint64_t most_reordered = std::min(most_visits / 2, kMaxReordered);
  for (const Key key : {Key::bytes, Key::area, Key::length}) {
    Packing packing = pack_reordered(part, ordered_by(part, key), target, most_reordered);
    if (packing.total < best.packing.total) best = {std::move(packing), "reordered, first fit"};
  }
  return best;
}

}  // namespace mote::memory
