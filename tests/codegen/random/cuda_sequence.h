// SPDX-License-Identifier: Apache-2.0
// Puts the loops of a GPU's kernels one after the other, so that the interpreter runs a whole
// program by them.
#pragma once

#include <optional>

#include "mote/codegen/emit_cuda.h"

namespace mote::test {

/// Returns the loops of the first kernel of each stage, in order: variables, and the memory of
/// blocks, which kernels have for themselves, get names that tell them apart. Returns nullopt if
/// kernels declare different sizes by one name, or a tensor has other axes in one.
std::optional<LoopProgram> in_sequence(const CudaProgram& program);

}  // namespace mote::test
