// SPDX-License-Identifier: Apache-2.0
// Blocks are placed from the bottom up, each on the highest of its placed neighbours, by rising
// offset: any plan can be pushed down into one of these. These rules cut the search short:
// - the open blocks of each point of time, which must all lie above each other, must fit into the
//   capacity (section inference);
// - no block is placed so high that another open one fits below it, since that other one could be
//   pushed down there (dominance);
// - blocks at one offset come by rank, and one that was passed over must be lifted by another one;
// - groups of open blocks that are never alive together are searched one after the other, each
//   with ranks of its own, and the first group without places ends the search of all;
// - states that failed are remembered.
#include "search.h"

#include <algorithm>
#include <array>
#include <utility>

#include "search_state.h"

namespace mote::memory {
namespace {

// A search takes a level of the stack for each block.
constexpr std::size_t kMaxBlocks = 4096;
// One hash of 8 bytes is kept for each kStepsOfHash steps, and at most kMaxHashes of them.
constexpr std::uint64_t kStepsOfHash = 64;
constexpr std::uint64_t kMaxHashes = std::uint64_t{1} << 20;

using Blocks = std::vector<std::uint32_t>;

class Search {
 public:
  Search(const Part& part, const Preference& preference, std::uint64_t capacity,
         std::uint64_t most_steps)
      : part_(part),
        preference_(preference),
        most_steps_(most_steps),
        state_(part, capacity),
        failed_(std::clamp<std::uint64_t>(most_steps / kStepsOfHash, 1, kMaxHashes), 0) {}

  SearchResult run() {
    Blocks all(part_.size());
    for (std::uint32_t k = 0; k < all.size(); ++k) all[k] = k;
    state_.rank(all, preference_);
    SearchResult result;
    result.verdict = solve(all, all.size(), {0, 0});
    result.steps = state_.steps;
    if (result.verdict != Verdict::found) return result;
    result.packing = {state_.offsets(), 0};
    for (std::size_t k = 0; k < part_.size(); ++k)
      result.packing.total =
          std::max(result.packing.total, result.packing.offsets[k] + part_.bytes[k]);
    return result;
  }

 private:
  struct Candidate {
    LocationKey key;
    std::uint32_t block = 0;
    friend bool operator<(const Candidate& a, const Candidate& b) { return a.key < b.key; }
  };

  /// Places the `count` open blocks of a list, which may hold placed ones too, at keys from
  /// `least`.
  Verdict solve(const Blocks& list, std::size_t count, LocationKey least) {
    if (state_.steps > most_steps_) return Verdict::stopped;
    const std::uint64_t hash = state_.hash(list, least);
    if (failed_[hash % failed_.size()] == hash) return Verdict::impossible;
    for (const Candidate& candidate : candidates(list, least)) {
      const std::size_t mark = state_.mark();
      const Verdict verdict = state_.place(candidate.block, list)
                                  ? solve_groups(list, count - 1, candidate.key)
                                  : Verdict::impossible;
      if (verdict != Verdict::impossible) return verdict;
      state_.undo(mark);
    }
    failed_[hash % failed_.size()] = hash;
    return Verdict::impossible;
  }

  std::vector<Candidate> candidates(const Blocks& list, LocationKey least) {
    std::uint64_t ceiling = kTooMany;
    for (const std::uint32_t k : list)
      if (!state_.placed(k)) ceiling = std::min(ceiling, state_.low(k) + part_.bytes[k]);
    std::vector<Candidate> result;
    for (const std::uint32_t k : list)
      if (!state_.placed(k) && state_.low(k) < ceiling && state_.key(k) >= least)
        result.push_back({state_.key(k), k});
    state_.steps += 2 * list.size();
    std::sort(result.begin(), result.end());
    return result;
  }

  Verdict solve_groups(const Blocks& list, std::size_t count, LocationKey least) {
    std::vector<Blocks> groups = groups_of(list);
    if (groups.empty()) return Verdict::found;
    if (groups.size() == 1) {
      if (!state_.fits(list, least.first)) return Verdict::impossible;
      // The list is copied where most of it is placed already.
      return solve(2 * count < list.size() ? groups[0] : list, count, least);
    }
    std::stable_sort(groups.begin(), groups.end(),
                     [](const Blocks& a, const Blocks& b) { return a.size() < b.size(); });
    for (const Blocks& group : groups)
      if (!state_.fits(group, least.first)) return Verdict::impossible;
    for (const Blocks& group : groups) {
      state_.rank(group, preference_);
      const Verdict verdict = solve(group, group.size(), {least.first, 0});
      if (verdict != Verdict::found) return verdict;
    }
    return Verdict::found;
  }

  /// Cuts the open blocks of a list where none is alive. Blocks are in the order of their begins.
  std::vector<Blocks> groups_of(const Blocks& list) {
    std::vector<Blocks> groups;
    std::uint32_t end = 0;
    state_.steps += list.size();
    for (const std::uint32_t k : list) {
      if (state_.placed(k)) continue;
      if (groups.empty() || (part_.timed && part_.begins[k] > end)) groups.emplace_back();
      if (part_.timed) end = std::max(end, part_.ends[k]);
      groups.back().push_back(k);
    }
    return groups;
  }

  const Part& part_;
  const Preference preference_;
  const std::uint64_t most_steps_;
  SearchState state_;
  std::vector<std::uint64_t> failed_;  // hashes of states, by their remainders
};

constexpr std::array<Preference, 7> kPreferences = {
    {{Measure::peak, Measure::time, Measure::area},
     {Measure::peak, Measure::area, Measure::time},
     {Measure::peak, Measure::point_area, Measure::points},
     {Measure::point_area, Measure::points, Measure::peak},
     {Measure::peak, Measure::neighbours, Measure::area},
     {Measure::peak, Measure::points, Measure::point_area},
     {Measure::time, Measure::area, Measure::peak}}};
constexpr std::uint64_t kFirstTurn = std::uint64_t{1} << 22;

}  // namespace

bool can_search(const Part& part) {
  return part.size() <= kMaxBlocks && part.neighbours.size() == part.size();
}

SearchResult search(const Part& part, std::uint64_t capacity, std::uint64_t most_steps) {
  SearchResult result;
  std::uint64_t steps = 0;
  for (std::uint64_t turn = kFirstTurn; steps < most_steps; turn = saturating_sum(turn, 2 * turn))
    for (const Preference& preference : kPreferences) {
      if (steps >= most_steps) break;
      result = Search(part, preference, capacity, std::min(turn, most_steps - steps)).run();
      steps += result.steps;
      result.steps = steps;
      if (result.verdict != Verdict::stopped) return result;
    }
  return result;
}

}  // namespace mote::memory
