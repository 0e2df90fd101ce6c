// SPDX-License-Identifier: Apache-2.0
// Decides when the operands of a nest in tiles are copied to panels: for each tile, or ahead of the
// nest, for all of its iterations.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "mote/codegen/schedule.h"
#include "schedule/iterations.h"
#include "schedule/tiles/operands.h"

namespace mote {

/// The variable that stands for 0 and 1 in the two terms of an iteration.
inline const Symbol kHalf{SymbolKind::loop, "tile half"};

/// A loop of a reduction, each of whose iterations has two terms.
struct PairLoop {
  Symbol variable;
  Expr terms;  ///< of all iterations; if it is odd, the last iteration lacks its second
};

struct TiledReduction {
  ReductionNest nest;
  SharedOperands shared;
  /// The terms are products of integers of 16 bits: the operands depend on kHalf.
  std::optional<PairLoop> pairs = {};
  Conditions demands = {};
};

/// The loops of a nest that are tiled. A last tile that would not be full along the vectors begins
/// earlier: it computes some results again, and stores those that are missing.
struct TileOfNest {
  const Loop& vector;
  const Loop& rows;
  std::int64_t height, width;  ///< rows and columns of a tile; the width is one of whole vectors
  /// There may be fewer columns than a tile is wide: then its last lanes compute the last column
  /// again, and nothing of them is stored.
  bool may_be_narrow = false;
  /// The vectors slide over a window, along which the loops of the reduction run: they are short.
  bool slides = false;
  std::set<std::string> used_names = {};  ///< names that p does not show yet
  /// The variable of the loop over tiles of rows, if the nest lies in it already. Then terms that
  /// some rows leave out are left out in these alone, and the vectors' operands are copied ahead of
  /// that loop.
  std::optional<Symbol> row_start = {};
  std::size_t around = 0;  ///< the number of loops of the chain that are around that loop
  /// Otherwise, the terms that a condition of the rows leaves out are skipped, not multiplied by 0.
  bool skips_terms = false;
  std::int64_t block = 0;  ///< ScheduleOptions::block
  std::int64_t tiles = 1;  ///< ScheduleOptions::tiles
};

/// Returns the loops of the chain that are not tiled, outermost first, without those around the
/// loop over tiles of rows.
std::vector<LoopRange> outer_loops_of(const SharedLoops& chain, const TileOfNest& tile);
/// Returns the conditions that depend on the axis of the side.
const Conditions& conditions_of(const TiledReduction& r, Side side);
/// Returns those of the outer loops on which the operand, or a condition of its axis, depends.
std::vector<LoopRange> loops_of(const std::vector<LoopRange>& outer, const TiledReduction& r,
                                const SharedOperand& o);
/// Returns true if all operands exist in all iterations of the chain's loops that the conditions of
/// their own axis leave.
bool reads_only_elements(const LoopProgram& p, const SharedLoops& chain, const TiledReduction& r);
/// Returns true if no operand is read outside of its tensor where a condition of the other axis,
/// which its copy does not ask for, leaves a term out.
bool reads_only_counted_elements(const LoopProgram& p, const SharedLoops& chain,
                                 const TiledReduction& r);
/// Returns true if a row reads the operand's elements where they are; otherwise it is copied.
bool is_direct(const LoopProgram& p, const TileOfNest& tile, const TiledReduction& r,
               const SharedOperand& o);
/// Returns true if the operand is copied ahead of the nest: several iterations of its outer loops,
/// or of the loop over tiles of rows, share it, and all of its elements exist. Of pairs, the
/// vectors' operands are: then a tile of rows is copied once, for all tiles of columns.
bool is_copied_ahead(const LoopProgram& p, const SharedLoops& chain, const TileOfNest& tile,
                     const TiledReduction& r, const SharedOperand& o);
/// Returns true if all operands that change along the vectors are.
bool are_columns_ahead(const LoopProgram& p, const SharedLoops& chain, const TileOfNest& tile,
                       const std::map<Symbol, TiledReduction>& reductions);

}  // namespace mote
