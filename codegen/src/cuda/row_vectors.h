// SPDX-License-Identifier: Apache-2.0
// Finds rows whose elements a block's threads move 16 bytes at a time.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "stage_form.h"

namespace mote::cuda {

/// Elements of a tensor along a loop, which are adjacent.
struct RowVector {
  std::string tensor;
  std::vector<Expr> index;  ///< by the loop's variable
  Conditions conditions;  ///< conditions under which they are accessed, the same for all iterations
  bool is_read = false;
  bool is_stored = false;
};

/// Returns all that the loop, of plain statements, accesses along its variable. Returns nullopt if
/// it accesses anything but adjacent elements at its own index.
std::optional<std::vector<RowVector>> vectors_of(const LoopProgram& p, const Loop& loop);

struct RowVectors {
  LoopProgram program;
  std::vector<VectorRow> rows;  ///< the requirements on tensors
};

/// Puts the loops of kind block_threads over a row in steps of 16 bytes, each a simd loop. The last
/// step may have fewer iterations. Returns nullopt if no loop accesses elements only at its own
/// index, without a condition.
std::optional<RowVectors> vectorise_rows(const LoopProgram& p);

/// Takes the step `row_vectors`, behind `grid`.
Refusal take_row_vectors(StageForm& form, const Step& step, std::string& effect);
/// Blocks take rows of elements where threads would compute each element's index. (Rows that reduce
/// are tried with `grid`.)
Schedules row_vectors_to_try(const StageSearch& search);

}  // namespace mote::cuda
