// SPDX-License-Identifier: Apache-2.0
// Reads the two loops that copy a square through transposed registers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "mote/codegen/loops.h"

namespace mote {

/// The most rows and lanes of a square that is transposed in registers.
inline constexpr std::int64_t kMaxTransposedLanes = 16;

/// The copy `y[…, row, …, lane] = x[…, lane, …, row]` of a square, in a loop of the kind transposed
/// over rows and one in vectors over lanes. Other variables may be added to each of these indices.
struct TransposedSquare {
  const Loop* rows;
  const Loop* lanes;
  const Store* store;
  const value::Load* load;
  std::size_t row_axis;   ///< of the output
  std::size_t lane_axis;  ///< of the input
  std::int64_t size;      ///< the number of rows, and of lanes
};

/// Returns the square that the loop copies; nullopt if it does anything else.
std::optional<TransposedSquare> transposed_square(const LoopProgram& p, const Loop& rows);

/// Returns the axis whose index goes on by 1 with the variable, if no other mentions it.
std::optional<std::size_t> axis_along(const std::vector<Expr>& index, Symbol variable);

/// Returns the sizes of the squares by which a tile of that many rows and lanes is transposed in
/// registers, the largest first, which together have its rows: 6 rows have squares of 4 and of 2.
/// Empty if there are none, as for an odd number of rows.
std::vector<std::int64_t> squares_of_tile(std::int64_t rows, std::int64_t lanes);

/// Returns true if a panel of the program is ordered like an input.
bool has_ordered_panel(const LoopProgram& p);

/// Returns true for a store of an input's element in an output of its dtype.
bool is_copy(const LoopProgram& p, const Store& store);

}  // namespace mote
