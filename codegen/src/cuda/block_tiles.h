// SPDX-License-Identifier: Apache-2.0
// Gives the iterations of a sum of products to blocks of threads, a tile of the results to each.
#pragma once

#include "tiles.h"

namespace mote::cuda {

/// Returns the program, whose body is the stage of that form, with its loops of threads in tiles:
///
///   grid for the batch, for row_begin by 64, for column_begin by 64 {
///     sums = 0
///     for depth_begin by 16 {
///       block_threads: slices of both operands go to shared memory, 0 beyond their ends
///       barrier
///       sums += left * right, of registers: each thread's own, or fragments of tensor cores
///       barrier
///     }
///     for half in 0..2 {
///       32 rows of sums go to shared memory
///       barrier
///       block_threads: what follows the sum, for the elements that exist
///       barrier
///     }
///   }
///
/// An axis of several loops is counted through; their variables are digits of its number.
LoopProgram tile_blocks(const LoopProgram& p, const TileForm& form);

}  // namespace mote::cuda
