// SPDX-License-Identifier: Apache-2.0
// Draws a plan: offsets over time.
#pragma once

#include <string>

#include "mote/base/export.h"
#include "mote/memory/plan.h"
#include "mote/memory/problem.h"

namespace MOTE_API mote {

/// Returns an SVG file of its own, which viewers and browsers open: time from left to right,
/// offsets from bottom to top, a rectangle for each block (a tooltip shows its name, bytes, offsets
/// and life), and a line at the bound. Where the problem has no line of time, a block's column is
/// its place in the order of first uses, and its width is 1. Throws Error if the plan has no offset
/// for each block.
std::string memory_picture(const MemoryProblem& problem, const MemoryPlan& plan);

}  // namespace mote
