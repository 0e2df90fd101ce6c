// SPDX-License-Identifier: Apache-2.0
// The functions of mote/mote_memory.h.
#include <algorithm>
#include <cstddef>
#include <utility>

#include "c/symbols.h"
#include "mote/memory/check.h"
#include "mote/memory/plan.h"

using namespace mote;     // NOLINT: C functions follow
using namespace mote::c;  // NOLINT

namespace {

MemoryProblem problem_of(const mote_memory_block* blocks, std::size_t count,
                         const std::uint64_t* offsets) {
  if (count > 0) {
    given(blocks, "blocks");
    given(offsets, "offsets");
  }
  MemoryProblem problem;
  std::vector<Lifetime> lifetimes;
  for (const mote_memory_block& block : std::span(blocks, count)) {
    problem.blocks.push_back({block.bytes, block.alignment, {}});
    lifetimes.push_back({block.begin, block.end});
  }
  problem.interference = Interference::of_lifetimes(std::move(lifetimes));
  return problem;
}

MemoryPlanOptions options_of(const mote_memory_options& given_options) {
  constexpr MemoryEffort kEfforts[] = {MemoryEffort::normal, MemoryEffort::fast,
                                       MemoryEffort::thorough};
  const mote_memory_options known = sized(given_options, offsetof(mote_memory_options, effort));
  MemoryPlanOptions options;
  options.planner = checked_enum<MemoryPlanner>(known.planner, MOTE_PLANNER_SEED,
                                                "options.planner is none of mote_memory_planner");
  options.effort = kEfforts[checked_enum<std::size_t>(
      known.effort, MOTE_EFFORT_THOROUGH, "options.effort is none of mote_memory_effort")];
  options.enough = known.enough;
  return options;
}

void plan(const mote_memory_block* blocks, std::size_t count, const MemoryPlanOptions& options,
          std::uint64_t* offsets, std::uint64_t* total, std::uint64_t* bound) {
  const MemoryPlan found = plan_memory(problem_of(blocks, count, offsets), options);
  std::ranges::copy(found.offsets, offsets);
  if (total != nullptr) *total = found.total;
  if (bound != nullptr) *bound = found.bound;
}

}  // namespace

mote_status mote_plan_memory(const mote_memory_block* blocks, size_t count, uint64_t* offsets,
                             uint64_t* total, uint64_t* bound) {
  return guarded(__func__, [&] { plan(blocks, count, {}, offsets, total, bound); });
}

mote_status mote_plan_memory_with(const mote_memory_block* blocks, size_t count,
                                  const mote_memory_options* options, uint64_t* offsets,
                                  uint64_t* total, uint64_t* bound) {
  return guarded(__func__, [&] {
    plan(blocks, count, options_of(given(options, "options")), offsets, total, bound);
  });
}

mote_status mote_check_memory_plan(const mote_memory_block* blocks, size_t count,
                                   const uint64_t* offsets, uint64_t total) {
  return guarded(__func__, [&] {
    const MemoryProblem problem = problem_of(blocks, count, offsets);
    MemoryPlan plan;
    plan.offsets.assign(offsets, offsets + count);
    plan.total = total;
    plan.bound = memory_bound(problem);
    if (const std::optional<Reason> reason = check_memory_plan(problem, plan))
      throw StatusError(MOTE_INVALID, reason->text);
  });
}
