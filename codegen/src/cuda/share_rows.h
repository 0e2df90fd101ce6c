// SPDX-License-Identifier: Apache-2.0
// Gives iterations to blocks of threads.
#pragma once

#include <vector>

#include "stage_form.h"

namespace mote::cuda {

/// Gives each iteration of the loops of kind threads to a block, whose threads share the loops in
/// it: for a nest, warps share the loop around the innermost, and the threads of a warp that one. A
/// barrier stands where a thread may read an element that another has stored. strides_of_rows()
/// must allow it, and `strides` is its result, on which the program then relies.
LoopProgram share_rows(const LoopProgram& p, const std::vector<KnownStride>& strides);

/// Takes the step `grid`.
Refusal take_grid(StageForm& form, const Step& step, std::string& effect);
Schedules grids_to_try(const StageSearch& search);

}  // namespace mote::cuda
