// SPDX-License-Identifier: Apache-2.0
// Checks a plan: a sweep over time that keeps the blocks alive by their offsets, or all pairs.
#include "mote/memory/check.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace mote {
namespace {

std::string named(const MemoryProblem& problem, const MemoryPlan& plan, std::size_t block) {
  const MemoryBlock& b = problem.blocks[block];
  return "block " + std::to_string(block) + (b.name.empty() ? "" : " '" + b.name + "'") + " at [" +
         std::to_string(plan.offsets[block]) + ", " +
         std::to_string(plan.offsets[block] + b.bytes) + ")";
}

bool overlaps(const MemoryProblem& problem, const MemoryPlan& plan, std::size_t a, std::size_t b) {
  return plan.offsets[a] < plan.offsets[b] + problem.blocks[b].bytes &&
         plan.offsets[b] < plan.offsets[a] + problem.blocks[a].bytes;
}

Reason overlap(const MemoryProblem& problem, const MemoryPlan& plan, std::size_t a, std::size_t b) {
  return {named(problem, plan, std::min(a, b)) + " and " + named(problem, plan, std::max(a, b)) +
          " are alive together and overlap"};
}

/// Sweeps over the begins and ends of lifetimes. The blocks that are alive do not overlap each
/// other, so a new one can only overlap its two neighbours by offset.
std::optional<Reason> find_overlap_in_time(const MemoryProblem& problem, const MemoryPlan& plan) {
  std::vector<std::tuple<std::int64_t, bool, std::size_t>> events;  // ends sort before begins
  for (std::size_t block = 0; block < problem.blocks.size(); ++block)
    if (problem.blocks[block].bytes > 0) {
      events.emplace_back(problem.interference.lifetimes()[block].begin, true, block);
      events.emplace_back(problem.interference.lifetimes()[block].end, false, block);
    }
  std::sort(events.begin(), events.end());
  std::map<std::uint64_t, std::size_t> alive;
  for (const auto& [time, begins, block] : events) {
    if (!begins) {
      alive.erase(plan.offsets[block]);
      continue;
    }
    const auto above = alive.lower_bound(plan.offsets[block]);
    if (above != alive.end() && overlaps(problem, plan, block, above->second))
      return overlap(problem, plan, block, above->second);
    if (above != alive.begin() && overlaps(problem, plan, block, std::prev(above)->second))
      return overlap(problem, plan, block, std::prev(above)->second);
    alive.emplace(plan.offsets[block], block);
  }
  return std::nullopt;
}

}  // namespace

std::optional<Reason> check_memory_plan(const MemoryProblem& problem, const MemoryPlan& plan) {
  const std::size_t count = problem.blocks.size();
  if (plan.offsets.size() != count || problem.interference.size() != count)
    return Reason{std::to_string(plan.offsets.size()) + " offsets and the interference of " +
                  std::to_string(problem.interference.size()) + " blocks for " +
                  std::to_string(count) + " blocks"};
  for (std::size_t k = 0; k < count; ++k) {
    const MemoryBlock& block = problem.blocks[k];
    if (block.alignment == 0 || plan.offsets[k] % block.alignment != 0)
      return Reason{named(problem, plan, k) + " is not aligned to " +
                    std::to_string(block.alignment)};
    if (block.bytes > plan.total || plan.offsets[k] > plan.total - block.bytes)
      return Reason{named(problem, plan, k) + " is beyond the total of " +
                    std::to_string(plan.total) + " bytes"};
  }
  if (plan.total < plan.bound)
    return Reason{"the total of " + std::to_string(plan.total) + " bytes is below the bound of " +
                  std::to_string(plan.bound)};
  if (problem.interference.timed()) return find_overlap_in_time(problem, plan);
  for (std::uint32_t a = 0; a < count; ++a)
    for (const std::uint32_t b : problem.interference.neighbours(a))
      if (b > a && problem.blocks[a].bytes > 0 && problem.blocks[b].bytes > 0 &&
          overlaps(problem, plan, a, b))
        return overlap(problem, plan, a, b);
  return std::nullopt;
}

}  // namespace mote
