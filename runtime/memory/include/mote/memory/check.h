// SPDX-License-Identifier: Apache-2.0
// Checks a plan against its problem, independently of the planners.
#pragma once

#include <optional>

#include "mote/base/error.h"
#include "mote/base/export.h"
#include "mote/memory/plan.h"
#include "mote/memory/problem.h"

namespace MOTE_API mote {

/// Returns the first defect in words, or nothing: an offset that is lacking or not aligned, a block
/// that ends beyond the total, two blocks that interfere and overlap (both are named), a total
/// below the bound. Takes n log n for lifetimes, and one step a pair for pairs.
std::optional<Reason> check_memory_plan(const MemoryProblem& problem, const MemoryPlan& plan);

}  // namespace mote
