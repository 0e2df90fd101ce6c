// SPDX-License-Identifier: Apache-2.0
// Declares what programs whose kernels are searched for and programs by hand have in common.
#pragma once

#include <string>
#include <vector>

#include "mote/codegen/emit_cuda.h"

namespace mote::cuda {

/// Returns the comment of a program: equation, tensors, parameters, what the variant means.
std::string comment_of(const LoopProgram& p, std::size_t stages, CudaVariant variant);
/// Returns the memory between and in kernels.
std::vector<CudaTemporary> temporaries_of(const LoopProgram& p);
/// Adds the sizes and tensors that the parts of a stage have, and returns the sizes that are new.
std::vector<NamedSize> add_declarations(LoopProgram& p, const LoopProgram& parts);

}  // namespace mote::cuda
