// SPDX-License-Identifier: Apache-2.0
// Tiles of 128 x 128: operands are copied to shared memory while earlier slices are multiplied, by
// tensor cores or, those of f32, by threads.
#pragma once

#include <optional>

#include "tiles.h"

namespace mote::cuda {

/// The axes of an operand's tensor that move with the tile and with the reduction.
struct WideOperand {
  const value::Load* load;
  int across;
  int along;
};

/// nullopt where the operand is not an element of a tensor at an axis for each; `across` is the
/// loop of the tile's rows, or columns, that it moves with.
std::optional<WideOperand> wide_operand(const Value& operand, const TileAxis& across,
                                        const TileAxis& along);

/// The form with wide tiles: of elements of 16 bits or of f32 as it is, all of whose products
/// count, where rows, columns and the reduction are a loop each. nullopt of another.
std::optional<TileForm> wide_form(const LoopProgram& p, const TileForm& form);

/// What the strides and addresses of both operands must be: those of f32 may be any.
std::vector<PackedOperand> packed_operands(const TileForm& form);

}  // namespace mote::cuda
