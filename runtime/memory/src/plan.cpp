// SPDX-License-Identifier: Apache-2.0
#include "mote/memory/plan.h"

#include <algorithm>
#include <string>

#include "greedy.h"
#include "mote/base/error.h"
#include "part.h"

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
void put(MemoryPlan& plan, const Part& part, const memory::Packing& packing,
         const std::string& planner) {
  for (std::size_t k = 0; k < part.size(); ++k) plan.offsets[part.blocks[k]] = packing.offsets[k];
  if (packing.total <= plan.total) return;
  plan.total = packing.total;
  plan.planner = planner;
}

}  // namespace

MemoryPlan plan_memory(const MemoryProblem& problem, const MemoryPlanOptions& options) {
  std::vector<Part> parts = memory::parts_of(problem);
  MemoryPlan plan;
  plan.bound = bound_of(parts);
  plan.offsets.assign(problem.blocks.size(), 0);
  plan.planner = "time, best fit";
  const std::uint64_t target = std::max(plan.bound, options.enough);
  for (Part& part : parts) {
    const Greedy greedy = memory::pack_greedily(part, target, options.effort);
    if (greedy.packing.total == memory::kTooMany)
      throw Error("plan_memory: no plan of " + std::to_string(problem.blocks.size()) +
                  " blocks below 2^63 bytes was found");
    put(plan, part, greedy.packing, greedy.name);
  }
  return plan;
}

std::uint64_t memory_bound(const MemoryProblem& problem) {
  return bound_of(memory::parts_of(problem));
}

}  // namespace mote
