// SPDX-License-Identifier: Apache-2.0
// Makes the text of a kernel.
#pragma once

#include <string>

#include "stage_form.h"

namespace mote::cuda {

/// Makes the kernel of a stage after its steps; its function is `function` with a word for who
/// takes an iteration.
CudaKernel kernel_of(const StageForm& form, const std::string& function);

}  // namespace mote::cuda
