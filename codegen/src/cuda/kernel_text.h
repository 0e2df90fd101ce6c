// SPDX-License-Identifier: Apache-2.0
// The kernels that a stage may have, as text.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "mote/codegen/emit_cuda.h"
#include "packs.h"
#include "stages.h"

namespace mote::cuda {

/// A thread for each round, or a block; `all` holds what the stage's statements mention.
CudaKernel kernel(const LoopProgram& all, const Stage& stage, const std::string& function,
                  bool by_block);
/// A block for each tile, a wide one first where the stage has that form; none where it has no form
/// of tiles.
std::vector<CudaKernel> tile_kernels(const LoopProgram& all, const Stage& stage,
                                     const std::string& function, bool tf32);
/// A block for each round, whose threads take 16 bytes of a row at a time; nullopt where no row can
/// be taken so.
std::optional<CudaKernel> row_pack_kernel(const LoopProgram& all, const Stage& stage,
                                          const std::string& function);
/// A thread for 16 bytes of elements.
CudaKernel pack_kernel(const PackForm& form, const std::string& function);

}  // namespace mote::cuda
