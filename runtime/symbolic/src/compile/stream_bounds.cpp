// SPDX-License-Identifier: Apache-2.0
// A line of time gives each step of each stream a time, which rises along each stream. A block's
// lifetime ends behind its last use, and begins with the first step of any stream that may not be
// done yet when the block is first written. So all uses of a block whose lifetime has ended before
// another one's begins are done when that one is written.
#include "compile/stream_bounds.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

namespace mote {
namespace {

using Times = std::vector<std::vector<std::uint32_t>>;  ///< of each stream's steps

class Timeline {
 public:
  Timeline(const StreamSchedule& schedule, const HappensBefore& before)
      : schedule_(schedule),
        before_(before),
        steps_(schedule.stream_count()),
        location_(schedule.order.size()) {
    for (const std::uint32_t step : schedule.order) steps_[schedule.stream[step]].push_back(step);
    for (std::uint32_t k = 0; k < schedule.order.size(); ++k) location_[schedule.order[k]] = k;
  }

  /// Returns times at which the steps of the stream `main` follow each other, and a step of another
  /// one comes right before the first of these that begins after it, or at the end. So what another
  /// stream may not have done yet is later than what `main` writes then: what is written on it
  /// begins as late as it can.
  Times times(std::uint32_t main) const {
    Times times;
    for (const auto& of : steps_) times.emplace_back(of.size());
    std::vector<std::uint32_t> next(steps_.size());
    std::uint32_t time = 0;
    const auto place_others = [&](const auto& done) {
      std::vector<std::uint32_t> others;
      for (std::uint32_t s = 0; s < steps_.size(); ++s)
        for (; s != main && next[s] < done(s); ++next[s]) others.push_back(steps_[s][next[s]]);
      std::ranges::sort(others, {}, [&](std::uint32_t step) { return location_[step]; });
      for (const std::uint32_t step : others)
        times[schedule_.stream[step]][schedule_.position[step]] = time++;
    };
    for (const std::uint32_t step : steps_[main]) {
      place_others([&](std::uint32_t s) { return before_.done(s, step); });
      times[main][schedule_.position[step]] = time++;
    }
    place_others([&](std::uint32_t s) { return steps_[s].size(); });
    return times;
  }

 private:
  const StreamSchedule& schedule_;
  const HappensBefore& before_;
  std::vector<std::vector<std::uint32_t>> steps_;  ///< by stream
  std::vector<std::uint32_t> location_;            ///< by step: its place in the schedule's order
};

Lifetime bound(const StreamLife& life, const Times& times, std::int64_t end) {
  Lifetime bound{end, 0};
  for (std::size_t s = 0; s < times.size(); ++s) {
    const std::vector<std::uint32_t>& of = times[s];
    if (life.born[s] < of.size())
      bound.begin = std::min<std::int64_t>(bound.begin, of[life.born[s]]);
    if (life.read[s] > of.size())
      bound.end = end + 1;
    else if (life.read[s] > 0)
      bound.end = std::max<std::int64_t>(bound.end, of[life.read[s] - 1] + std::int64_t{1});
  }
  bound.end = std::max(bound.end, bound.begin + 1);
  return bound;
}

/// Returns the most bytes that are alive at once.
std::uint64_t most_alive(std::span<const Lifetime> bounds, std::span<const MemoryBlock> blocks) {
  std::vector<std::pair<std::int64_t, std::int64_t>> changes;  // at a time, of bytes
  for (std::size_t b = 0; b < bounds.size(); ++b) {
    const auto bytes = static_cast<std::int64_t>(blocks[b].bytes);
    changes.emplace_back(bounds[b].begin, bytes);
    changes.emplace_back(bounds[b].end, -bytes);
  }
  std::ranges::sort(changes);  // at one time, what ends comes first
  std::int64_t alive = 0, most = 0;
  for (const auto& [time, change] : changes) most = std::max(most, alive += change);
  return static_cast<std::uint64_t>(most);
}

}  // namespace

std::vector<Lifetime> stream_bounds(const StreamSchedule& schedule, const HappensBefore& before,
                                    std::span<const StreamLife> lives,
                                    std::span<const MemoryBlock> blocks) {
  const Timeline timeline(schedule, before);
  const auto end = static_cast<std::int64_t>(schedule.order.size());
  std::vector<Lifetime> best;
  std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
  for (std::uint32_t main = 0; main < schedule.stream_count(); ++main) {
    const Times times = timeline.times(main);
    std::vector<Lifetime> bounds;
    bounds.reserve(lives.size());
    for (const StreamLife& life : lives) bounds.push_back(bound(life, times, end));
    const std::uint64_t alive = most_alive(bounds, blocks);
    if (alive >= least) continue;
    least = alive;
    best = std::move(bounds);
  }
  return best;
}

}  // namespace mote
