// SPDX-License-Identifier: Apache-2.0
#include "mote/memory/plan.h"

#include <algorithm>
#include <string>

#include "greedy.h"
#include "mote/base/error.h"
#include "part.h"
#include "search.h"
#include "seed.h"

namespace mote {
namespace {

using memory::Greedy;
using memory::Part;

std::uint64_t bound_of(const std::vector<Part>& parts) {
  std::uint64_t bound = 0;
  for (const Part& part : parts) bound = std::max(bound, part.bound);
  return bound;
}

/// Puts a part's places into the plan.
void put(MemoryPlan& plan, const Part& part, const Greedy& found) {
  const memory::Packing& packing = found.packing;
  for (std::size_t k = 0; k < part.size(); ++k) plan.offsets[part.blocks[k]] = packing.offsets[k];
  if (packing.total <= plan.total) return;
  plan.total = packing.total;
  plan.planner = found.name;
}

std::uint64_t steps_of(MemoryEffort effort) {
  switch (effort) {
    case MemoryEffort::fast:
      return std::uint64_t{1} << 25;
    case MemoryEffort::normal:
      return std::uint64_t{1} << 30;
    case MemoryEffort::thorough:
      break;
  }
  return std::uint64_t{1} << 35;
}

/// Searches for a packing between the target and the best so far, first at the target with half of
/// the steps, then by halving what is between; returns the steps that it took.
std::uint64_t improve(Greedy& best, const Part& part, std::uint64_t target,
                      std::uint64_t most_steps) {
  if (!memory::can_search(part)) return 0;
  std::uint64_t steps = 0;
  std::uint64_t low = target;  // nothing below it is sought
  for (std::uint64_t capacity = target; low < best.packing.total && steps < most_steps;) {
    memory::SearchResult result = memory::search(part, capacity, (most_steps - steps + 1) / 2);
    steps += result.steps;
    if (result.verdict == memory::Verdict::found)
      best = {std::move(result.packing), "search"};
    else
      low = capacity + 1;
    capacity = low + (best.packing.total - std::min(low, best.packing.total)) / 2;
    if (capacity >= best.packing.total) break;
  }
  return steps;
}

/// Searches in all parts that are above the target, each with an equal share of what is left of the
/// steps; adds the steps that it took.
void search_all(const std::vector<Part>& parts, std::vector<Greedy>& found, std::uint64_t target,
                const MemoryPlanOptions& options, std::uint64_t& steps) {
  std::vector<std::size_t> above;
  for (std::size_t k = 0; k < parts.size(); ++k)
    if (found[k].packing.total > target) above.push_back(k);
  const std::uint64_t most = options.steps > 0 ? options.steps : steps_of(options.effort);
  for (std::size_t at = 0; at < above.size() && steps < most; ++at)
    steps +=
        improve(found[above[at]], parts[above[at]], target, (most - steps) / (above.size() - at));
}

}  // namespace

MemoryPlan plan_memory(const MemoryProblem& problem, const MemoryPlanOptions& options) {
  if (options.planner > MemoryPlanner::seed || options.effort > MemoryEffort::thorough)
    throw Error("plan_memory: planner " + std::to_string(static_cast<int>(options.planner)) +
                " with effort " + std::to_string(static_cast<int>(options.effort)) + " is none");
  std::vector<Part> parts = memory::parts_of(problem);
  MemoryPlan plan;
  plan.bound = bound_of(parts);
  plan.offsets.assign(problem.blocks.size(), 0);
  plan.planner = "time, best fit";
  const std::uint64_t target = std::max(plan.bound, options.enough);
  std::vector<Greedy> found;
  for (Part& part : parts)
    found.push_back(options.planner == MemoryPlanner::seed
                        ? Greedy{memory::pack_as_seed(part), "seed"}
                        : memory::pack_greedily(part, target, options.effort));
  if (options.planner == MemoryPlanner::packing)
    search_all(parts, found, target, options, plan.steps);
  for (std::size_t k = 0; k < parts.size(); ++k) {
    if (found[k].packing.total == memory::kTooMany)
      throw Error("plan_memory: no plan of " + std::to_string(problem.blocks.size()) +
                  " blocks below 2^63 bytes was found");
    put(plan, parts[k], found[k]);
  }
  return plan;
}

std::uint64_t memory_bound(const MemoryProblem& problem) {
  return bound_of(memory::parts_of(problem));
}

}  // namespace mote
