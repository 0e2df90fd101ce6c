// SPDX-License-Identifier: Apache-2.0
// Problems and plans in the CSV format of MiniMalloc (github.com/google/minimalloc): a first line
// of column names, id,lower,upper,size in any order and perhaps alignment and offset, then a line
// for each block.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "mote/base/export.h"
#include "mote/memory/plan.h"
#include "mote/memory/problem.h"

namespace MOTE_API mote {

/// A problem on one line of time; `offsets` is empty unless the text has them for all blocks.
struct MinimallocFile {
  MemoryProblem problem;
  std::vector<std::uint64_t> offsets;
};

/// Reads the format. `lower` and `upper` become the lifetime [lower, upper). Throws Error with line
/// and column for what does not fit: a column that is unknown, twice or lacking, a line with more
/// or fewer fields, a field that is no integer or out of range, an empty lifetime, an alignment
/// that is no power of two.
MinimallocFile read_minimalloc(std::string_view text);

/// Writes a problem of lifetimes, with offsets if a plan is given; alignments are left out where
/// all are 1. Reading it back gives the same problem. An id is the block's name, or its number if
/// it has none. Throws Error if the problem has no lifetimes, or a name holds a comma or a line end
/// or has space at an end.
std::string write_minimalloc(const MemoryProblem& problem, const MemoryPlan* plan = nullptr);

}  // namespace mote
