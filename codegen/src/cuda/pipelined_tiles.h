// SPDX-License-Identifier: Apache-2.0
// Finds tiles of 128 x 128: operands are copied to shared memory while earlier slices are
// multiplied, by tensor cores or, for f32, by threads.
#pragma once

#include <optional>
#include <string>

#include "tiles.h"

namespace mote::cuda {

/// The axes of an operand's tensor that change with the tile and with the reduction.
struct PipelinedOperand {
  const value::Load* load;
  int across;
  int along;
};

/// Returns nullopt if the operand is not an element of a tensor with an axis for each; `across` is
/// the loop over the tile's rows, or columns, that it changes with.
std::optional<PipelinedOperand> pipelined_operand(const Value& operand, const LoopDigit& across,
                                                  const LoopDigit& along);

/// Returns why the form has no pipelined tiles; empty if it has. They are of elements of 16 bits,
/// or of f32 not rounded to tf32, where all products count and rows, columns and the reduction are
/// one loop each.
std::string why_not_pipelined(const LoopProgram& p, const TileForm& form);
/// Returns the form with pipelined tiles, which it has.
TileForm pipelined_form(const TileForm& form);

/// Returns the requirements on strides and addresses of both operands: there are none for f32.
std::vector<VectorOperand> vector_operands(const TileForm& form);

}  // namespace mote::cuda
