// SPDX-License-Identifier: Apache-2.0
// Makes the text of the kernels that a stage may have.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "mote/codegen/emit_cuda.h"
#include "stages.h"
#include "vector_access.h"

namespace mote::cuda {

/// Makes a kernel of a thread, or a block, for each iteration; `all` holds the declarations that
/// the stage's statements mention.
CudaKernel kernel(const LoopProgram& all, const Stage& stage, const std::string& function,
                  bool by_block);
/// Makes kernels of a block for each tile, a pipelined one first if the stage has that form; none
/// if it has no form of tiles. In the variant tf32, products of f32 are rounded.
std::vector<CudaKernel> tile_kernels(const LoopProgram& all, const Stage& stage,
                                     const std::string& function, CudaVariant variant);
/// Makes a kernel of a block for each iteration, whose threads access 16 bytes of a row at a time;
/// nullopt if no row allows that. `is_map`: rows are not reduced.
std::optional<CudaKernel> row_vector_kernel(const LoopProgram& all, const Stage& stage,
                                            const std::string& function, bool is_map = false);
/// Makes a kernel of a thread for each 16 bytes of elements.
CudaKernel vector_kernel(const VectorForm& form, const std::string& function);

}  // namespace mote::cuda
