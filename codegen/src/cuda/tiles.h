// SPDX-License-Identifier: Apache-2.0
// Sums of products as tiles: which loops can be computed by blocks of threads that each hold a
// tile of the output, with both operands in shared memory.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <vector>

#include "mote/codegen/emit_cuda.h"
#include "mote/codegen/loops.h"

namespace mote::cuda {

/// Rounds of the reduction that a block takes at a time.
inline constexpr int kSlice = 16;

/// A loop of the tile: its variable is begin, begin + step, … below end.
struct TileAxis {
  Symbol variable;
  Expr begin;
  Expr end;
  Expr step;
};

/// `for batch, rows, columns { for reduced where … { sum += left * right } rest }`: `left` doesn't
/// change with columns, `right` not with rows. The points into the body that it was made of live as
/// long as that body.
struct TileForm {
  std::vector<TileAxis> batch, rows, columns, reduced;  ///< outermost first
  Value left, right;
  Conditions left_where, right_where;  ///< a product counts where both hold
  const Loop* round;                   ///< the innermost of batch, rows and columns
  const Stmt* sum;                     ///< the reduction, in round's body; all else is the rest
  const Accumulator* accumulator;
  /// f16 or bf16: both operands are elements of it as they are stored, so that tensor cores can
  /// multiply them. f32: the same, where they may be rounded to tf32.
  std::optional<DType> fragments;
  bool is_wide = false;  ///< see wide_tiles.h

  int side() const { return is_wide ? kCudaWideTile : kCudaTile; }
};

/// The form of a stage's body, whose shared loops are marked parallel; nullopt where it has
/// another. `tf32`: whether f32 may be rounded to that before it is multiplied.
std::optional<TileForm> tile_form(const LoopProgram& p, const Body& stage, bool tf32);

/// A maximum or minimum without its arguments that mention any of these variables, each of which is
/// given to `drop`; nullopt where nothing is left.
std::optional<Expr> fixed_limit(const Expr& limit, Atom::Kind kind, const std::set<Symbol>& moving,
                                const std::function<void(const Expr&)>& drop);

/// How many rounds the axes have together.
Expr extent(const std::vector<TileAxis>& axes);

}  // namespace mote::cuda
