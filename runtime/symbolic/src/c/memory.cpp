// SPDX-License-Identifier: Apache-2.0
// The functions of mote/mote_memory.h.
#include <algorithm>
#include <cstddef>
#include <utility>

#include "c/symbols.h"
#include "mote/memory/check.h"
#include "mote/memory/minimalloc.h"
#include "mote/memory/picture.h"
#include "mote/memory/plan.h"

using namespace mote;     // NOLINT: C functions follow
using namespace mote::c;  // NOLINT

namespace {

MemoryProblem problem_of(const mote_memory_block* blocks, std::size_t count) {
  if (count > 0) given(blocks, "blocks");
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
  const MemoryProblem problem = problem_of(blocks, count);
  if (count > 0) given(offsets, "offsets");
  const MemoryPlan found = plan_memory(problem, options);
  std::ranges::copy(found.offsets, offsets);
  if (total != nullptr) *total = found.total;
  if (bound != nullptr) *bound = found.bound;
}

/// Returns the plan that has these offsets.
MemoryPlan plan_of(const MemoryProblem& problem, const std::uint64_t* offsets) {
  MemoryPlan plan;
  if (!problem.blocks.empty()) given(offsets, "offsets");
  plan.offsets.assign(offsets, offsets + problem.blocks.size());
  for (std::size_t k = 0; k < problem.blocks.size(); ++k)
    plan.total = std::max(plan.total, plan.offsets[k] + problem.blocks[k].bytes);
  plan.bound = memory_bound(problem);
  return plan;
}

/// Copies as much of the text as there is room for, and ends it with 0.
void give_text(const std::string& text, char* to, std::size_t room, std::size_t* size) {
  given(size, "size") = text.size() + 1;
  if (to == nullptr || room == 0) return;
  const std::size_t copied = std::min(text.size(), room - 1);
  std::copy_n(text.data(), copied, to);
  to[copied] = 0;
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
    const MemoryProblem problem = problem_of(blocks, count);
    MemoryPlan plan = plan_of(problem, offsets);
    plan.total = total;
    if (const std::optional<Reason> reason = check_memory_plan(problem, plan))
      throw StatusError(MOTE_INVALID, reason->text);
  });
}

mote_status mote_memory_from_csv(const char* text, mote_memory_block* blocks, uint64_t* offsets,
                                 size_t room, size_t* count, int32_t* has_offsets) {
  return guarded(__func__, [&] {
    const MinimallocFile file = read_minimalloc(&given(text, "text"));
    const std::size_t all = file.problem.blocks.size();
    given(count, "count") = all;
    if (has_offsets != nullptr) *has_offsets = file.offsets.empty() ? 0 : 1;
    const std::span<const Lifetime> lifetimes = file.problem.interference.lifetimes();
    for (std::size_t k = 0; k < std::min(room, all); ++k) {
      const MemoryBlock& block = file.problem.blocks[k];
      if (blocks != nullptr)
        blocks[k] = {block.bytes, block.alignment, lifetimes[k].begin, lifetimes[k].end};
      if (offsets != nullptr) offsets[k] = file.offsets.empty() ? 0 : file.offsets[k];
    }
  });
}

mote_status mote_memory_to_csv(const mote_memory_block* blocks, size_t count,
                               const uint64_t* offsets, char* text, size_t room, size_t* size) {
  return guarded(__func__, [&] {
    const MemoryProblem problem = problem_of(blocks, count);
    std::optional<MemoryPlan> plan;
    if (offsets != nullptr) plan = plan_of(problem, offsets);
    give_text(write_minimalloc(problem, plan ? &*plan : nullptr), text, room, size);
  });
}

mote_status mote_memory_to_svg(const mote_memory_block* blocks, size_t count,
                               const uint64_t* offsets, char* text, size_t room, size_t* size) {
  return guarded(__func__, [&] {
    const MemoryProblem problem = problem_of(blocks, count);
    give_text(memory_picture(problem, plan_of(problem, offsets)), text, room, size);
  });
}
