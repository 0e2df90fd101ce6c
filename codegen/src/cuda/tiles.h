// SPDX-License-Identifier: Apache-2.0
// Finds sums of products that blocks of threads can compute as tiles: each block holds a tile of
// the output, with both operands in shared memory.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <vector>

#include "mote/codegen/emit_cuda.h"
#include "mote/codegen/loops.h"

namespace mote::cuda {

/// The iterations of the reduction that a block takes at a time.
inline constexpr int kSlice = 16;

/// The loops `for batch, rows, columns { for reduced where … { sum += left * right } rest }`:
/// `left` does not depend on columns, `right` not on rows. The pointers into the body that it was
/// made from live as long as that body.
struct TileForm {
  std::vector<LoopDigit> batch, rows, columns, reduced;  ///< outermost first
  Value left, right;
  Conditions left_where, right_where;  ///< a product counts if both hold
  const Loop* innermost;               ///< the innermost of batch, rows and columns
  const Stmt*
      sum;  ///< the reduction, in the body of `innermost`; all other statements are the rest
  const Accumulator* accumulator;
  /// f16 or bf16: both operands are elements of that dtype as they are stored, so that tensor cores
  /// can multiply them. f32: the same, if they may be rounded to tf32.
  std::optional<DType> fragments;
  bool is_pipelined = false;  ///< see pipelined_tiles.h

  int side() const { return is_pipelined ? kCudaPipelinedTile : kCudaTile; }
};

/// Returns the form of a stage's body, whose shared loops are of kind threads; nullopt if it has
/// another form. `tf32`: f32 may be rounded to tf32 before it is multiplied.
std::optional<TileForm> tile_form(const LoopProgram& p, const Body& stage, bool tf32);

/// Returns a maximum or minimum without its arguments that mention any of these variables, each of
/// which is given to `drop`; nullopt if no argument is left.
std::optional<Expr> fixed_limit(const Expr& limit, Atom::Kind kind, const std::set<Symbol>& moving,
                                const std::function<void(const Expr&)>& drop);

/// Returns the number of iterations of all axes together.
Expr extent(const std::vector<LoopDigit>& axes);

}  // namespace mote::cuda
