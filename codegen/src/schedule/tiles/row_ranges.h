// SPDX-License-Identifier: Apache-2.0
// Splits ranges whose limits depend on a row, such as the keys that a query sees, for a tile of
// rows: into the part that all rows have, and the parts that only some have.
#pragma once

#include <cstdint>
#include <optional>

#include "schedule/tiles/nest.h"

namespace mote {

/// The values of a loop variable, first and last included.
struct Span {
  Symbol variable;
  Expr first, last;
};

/// Returns the greatest value of an expression of the variable in the span; nullopt if it is not
/// linear in it with a constant factor.
std::optional<Expr> greatest_in(const Expr& e, const Span& span);

/// The parts of a range for a tile of rows: begin..all_begin and all_end..end have terms of some
/// rows, all_begin..all_end have those of all rows. Any of them may be empty.
struct RowRanges {
  Expr begin, all_begin, all_end, end;
};

/// The conditions leave terms of some rows out. Returns nullopt if one is not linear in the rows
/// and, with a factor of 1 or -1, in the range's variable.
std::optional<RowRanges> row_ranges(const LoopRange& range, const Conditions& conditions,
                                    const Span& rows);

}  // namespace mote
