// SPDX-License-Identifier: Apache-2.0
// Makes the text of the kernels that a stage may have.
#pragma once

#include <string>
#include <vector>

#include "mote/codegen/emit_cuda.h"
#include "stages.h"
#include "vector_access.h"

namespace mote::cuda {

/// Makes a kernel of a thread for each iteration, or of one thread for all; `all` holds the
/// declarations that the stage's statements mention.
CudaKernel kernel(const LoopProgram& all, const Stage& stage, const std::string& function);
/// The kernels of blocks that a stage may have.
struct RowKernels {
  bool by_vectors;  ///< one whose threads access 16 bytes of a row at a time, if a row allows that
  bool by_elements;
  bool is_map = false;  ///< rows are not reduced
};
/// Makes kernels of a block for each iteration of a stage that has rows, by vectors first.
std::vector<CudaKernel> row_kernels(const LoopProgram& all, const Stage& stage,
                                    const std::string& function, const RowKernels& wanted);
/// Makes kernels of a block for each tile, a pipelined one first if the stage has that form; none
/// if it has no form of tiles. In the variant tf32, products of f32 are rounded.
std::vector<CudaKernel> tile_kernels(const LoopProgram& all, const Stage& stage,
                                     const std::string& function, CudaVariant variant);
/// Makes a kernel of a thread for each 16 bytes of elements.
CudaKernel vector_kernel(const VectorForm& form, const std::string& function);

}  // namespace mote::cuda
