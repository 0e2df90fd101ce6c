// SPDX-License-Identifier: Apache-2.0
// Fuzzes MiniMalloc's CSV: what is accepted is written as text that reads back to an equal problem,
// unless a name cannot be written; and plans of it are valid, unless they are too large.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "fuzz.h"
#include "mote/memory/check.h"
#include "mote/memory/minimalloc.h"
#include "mote/memory/picture.h"
#include "mote/memory/plan.h"

namespace {

std::optional<std::string> written(const mote::MemoryProblem& problem,
                                   const mote::MemoryPlan* plan) {
  try {
    return mote::write_minimalloc(problem, plan);
  } catch (const mote::Error& error) {
    mote::fuzz::require_one_line(error);
    return std::nullopt;
  }
}

void check_text(const mote::MinimallocFile& file) {
  const mote::MemoryPlan given = {.offsets = file.offsets, .planner = {}};
  const bool has_plan = !file.offsets.empty();
  const std::optional<std::string> printed = written(file.problem, has_plan ? &given : nullptr);
  if (!printed) return;
  mote::fuzz::must_not_throw([&] {
    const mote::MinimallocFile again = mote::read_minimalloc(*printed);
    const mote::MemoryPlan read = {.offsets = again.offsets, .planner = {}};
    const std::string second = mote::write_minimalloc(again.problem, has_plan ? &read : nullptr);
    mote::fuzz::require(second == *printed, *printed, second);
  });
}

void check_plans(const mote::MemoryProblem& problem) {
  for (const mote::MemoryPlanner planner :
       {mote::MemoryPlanner::packing, mote::MemoryPlanner::seed}) {
    try {
      const mote::MemoryPlan plan = mote::plan_memory(problem, {.planner = planner,
                                                                .effort = mote::MemoryEffort::fast,
                                                                .steps = std::uint64_t{1} << 16});
      if (const std::optional<mote::Reason> defect = mote::check_memory_plan(problem, plan))
        mote::fuzz::broken(defect->text);
      mote::memory_picture(problem, plan);
    } catch (const mote::Error& error) {
      mote::fuzz::require_one_line(error);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const mote::MinimallocFile file = mote::read_minimalloc(mote::fuzz::text_of(data, size));
    check_text(file);
    check_plans(file.problem);
  } catch (const mote::Error& error) {
    mote::fuzz::require_one_line(error);
  }
  return 0;
}
