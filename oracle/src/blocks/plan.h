// SPDX-License-Identifier: Apache-2.0
// How a program is computed block by block: which nodes become whole arrays, and in which order
// blocks of the others are computed. Made once for a program, for all sizes.
//
// Elements of a **region** are those of one shape; a block of them goes through the region's steps,
// whose results live no longer than the block, unless somebody reads them at other places or later:
// those are kept as arrays. Reductions and scatters take in the blocks as they come. A region
// belongs to a
// **stage**: it reads arrays that earlier stages completed.
#pragma once

#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "as.h"
#include "fused.h"
#include "mote/uops/program.h"
#include "thin.h"

namespace mote::blocks {

/// So many sums are taken together at most.
constexpr int kTogether = 3;
/// More instructions than writing and reading an element are worth.
constexpr int kMuchWork = 8;

/// Where a value is.
struct Place {
  enum class Kind : std::uint8_t { constant, array, block };
  Kind kind = Kind::constant;
  int at = 0;
  bool single = false;  ///< one element stands for all
};

/// One node for a block, or a tree of Map nodes.
struct Step {
  /// Map, Reindex, Iota, Select; any that gathers; or Reduce, Scatter, SelectScatter, which take
  /// the block in.
  Uop node;
  Place result;             ///< of what takes blocks in the array
  std::vector<Place> args;  ///< of a Reindex its source, of a Select source and index, of a scatter
                            ///< base and x; of one that locates the index
  FusedLoop* loop = nullptr;  ///< of a tree, whose operands the arguments are
  std::uint32_t numbers = 0;  ///< of a tree: bit k: operand k is a number
  bool widens = false;        ///< the value is that of an array
  int positions = -1;    ///< of a Reindex; of a scatter and a thin region's Reduce, in the result
  int located = -1;      ///< of a SelectScatter: the positions that a step before makes
  bool locates = false;  ///< it is that step
  bool gathers = false;  ///< the array's elements at `positions`
  bool stores = false;   ///< of a thin region: the argument to `positions` of the array
  bool counts = false;   ///< a sum of booleans as reals; its argument are the booleans
  int together = 1;      ///< of a sum: so many steps from here on are taken together
};

/// Positions of a Reindex, which several may share: `from` in a tensor of that shape; in a thin
/// region of no shape the values of an Iota.
struct Read {
  std::vector<Expr> from;
  std::vector<Expr> tensor;
};

struct Region {
  std::vector<Expr> shape;
  std::vector<Uop> conditions;  ///< of a thin region: others of its elements are left out (thin.h)
  std::vector<Step> steps;
  std::vector<Read> reads;
  std::vector<std::size_t> order;  ///< of a thin region: its axes, from the outermost loop inwards
  int located = 0;                 ///< how many positions steps make, beside those of `reads`
  int blocks = 0;                  ///< how many blocks of results live at a time, at most
  /// The steps with a block for each result, where parameters may decide some of them (decide.h).
  std::vector<Step> undecided;
};

/// Sums over the same axes follow one another.
void put_sums_together(Region& region);
/// All axes as they are; of a thin region those outside that its reductions keep, so that what goes
/// to one cell of a result comes together. The order among it stays.
void order_loops(Region& region);
/// Results of steps share blocks where one is read for the last time before the other begins; how
/// many blocks there are.
int share_blocks(std::vector<Step>& steps);
/// How many elements of that shape are taken at a time: whole rows, of as many of the last axes as
/// a block holds, and whole vectors, if they nearly fill it. So rows are reduced several at a time,
/// none of them in parts.
std::int64_t block_of(const Extents& shape);

struct Stage {
  std::vector<Region> regions;
  std::vector<int> last_reads;  ///< arrays that nothing reads afterwards
};

struct ArrayPlan {
  Uop node;
  int input = -1;  ///< the program's input that it holds
};

struct Plan {
  std::vector<Uop> constants;  ///< Scalar, Param
  std::vector<ArrayPlan> arrays;
  std::vector<Stage> stages;
  std::vector<Place> outputs;
};

/// All that may be thin.
Thins find_thins(const Program& program);
/// With regions for some of them.
Plan make_plan(const Program& program, const Thins& thins = {});

}  // namespace mote::blocks
