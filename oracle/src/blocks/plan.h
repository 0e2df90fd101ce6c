// SPDX-License-Identifier: Apache-2.0
// Plans how a program is computed block by block: which nodes become whole arrays, and in which
// order blocks of the others are computed. A plan is made once for a program, for all sizes.
//
// The elements of a **region** have one shape; a block of them goes through the region's steps.
// Their results live only as long as the block, unless they are read at other locations or later:
// those are kept as arrays. Reductions and scatters take in blocks as they come. A region belongs
// to a **stage**: it reads arrays that earlier stages completed.
#pragma once

#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "as.h"
#include "fused.h"
#include "masked.h"
#include "mote/uops/program.h"

namespace mote::blocks {

/// The maximum number of sums that are taken in together.
constexpr int kTogether = 3;
/// A number of instructions that costs more than writing and reading an element.
constexpr int kMuchWork = 8;

/// The location of a value.
struct Location {
  enum class Kind : std::uint8_t { constant, array, block };
  Kind kind = Kind::constant;
  int at = 0;
  bool single = false;  ///< one element stands for all
};

/// One node for a block, or a tree of Map nodes.
struct Step {
  /// Map, Reindex, Iota, Select; any node that gathers; or Reduce, Scatter, SelectScatter, which
  /// take in the block.
  Uop node;
  Location result;             ///< the array for nodes that take in blocks
  std::vector<Location> args;  ///< source of a Reindex; source and index of a Select; base and x of
                               ///< a scatter; the index if the step locates
  FusedLoop* loop = nullptr;   ///< the loop of a tree, whose operands are the arguments
  std::uint32_t numbers = 0;   ///< bit k: operand k of the tree is a number
  bool widens = false;         ///< it converts the value of an array
  int positions = -1;          ///< index into reads; of a scatter or masked Reduce: in the result
  int located = -1;  ///< number of the positions of a SelectScatter, which an earlier step makes
  bool locates = false;  ///< it is that earlier step
  bool gathers = false;  ///< it reads the array's elements at `positions`
  bool stores = false;   ///< it writes the argument to `positions` of the array (masked regions)
  bool counts = false;   ///< it sums booleans, its argument, as reals
  int together = 1;      ///< the number of sums from here on that are taken together
};

/// The positions of a Reindex, which several steps may share: `from` in a tensor of that shape. In
/// a masked region, a read of a tensor without shape gives the values of an Iota.
struct Read {
  std::vector<Expr> from;
  std::vector<Expr> tensor;
};

struct Region {
  std::vector<Expr> shape;
  std::vector<Uop> conditions;  ///< conditions of a masked region: failing elements are left out
  std::vector<Step> steps;
  std::vector<Read> reads;
  std::vector<std::size_t> order;  ///< the axes of a masked region, outermost first
  int located = 0;  ///< the number of positions that steps make, in addition to `reads`
  int blocks = 0;   ///< the maximum number of blocks of results that live at a time
  /// The steps with a block for each result, if parameters may decide some of them (decide.h).
  std::vector<Step> undecided;
};

/// Makes sums over the same axes follow one another.
void put_sums_together(Region& region);
/// Orders the loops: in a masked region whose reductions have the same axes, the kept axes come
/// first, so that elements for one cell of a result come together. Otherwise the order stays.
void order_loops(Region& region);
/// Lets results of steps share blocks if one is read for the last time before the other begins;
/// returns the number of blocks.
int share_blocks(std::vector<Step>& steps);
/// The number of elements of that shape that are taken at a time: whole rows of those last axes
/// that a block holds, and whole vectors, if they nearly fill it. Rows are then reduced several
/// at a time, and none in parts.
std::int64_t block_of(const Extents& shape);

struct Stage {
  std::vector<Region> regions;
  std::vector<int> last_reads;  ///< arrays that are not read afterwards
};

struct ArrayPlan {
  Uop node;
  int input = -1;  ///< the program's input that it holds
};

struct Plan {
  std::vector<Uop> constants;  ///< Scalar and Param nodes
  std::vector<ArrayPlan> arrays;
  std::vector<Stage> stages;
  std::vector<Location> outputs;
};

/// All nodes that may be masked.
Masks find_masks(const Program& program);
/// The plan with masked regions for the nodes of `masks`.
Plan make_plan(const Program& program, const Masks& masks = {});

}  // namespace mote::blocks
