// SPDX-License-Identifier: Apache-2.0
// Finds rows whose elements a block's threads move 16 bytes at a time.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "mote/codegen/emit_cuda.h"
#include "mote/codegen/loops.h"

namespace mote::cuda {

/// Adjacent elements, from the index of a loop's iteration on.
struct RowVector {
  std::string tensor;
  std::string vector;       ///< their name in the form's program: a tensor of rank 1
  std::vector<Expr> index;  ///< index of the first of them, by the loop's variable
  Conditions conditions;  ///< conditions under which they are accessed, the same for all iterations
  bool is_read = false;
  bool is_stored = false;
};

/// A loop over a row, by vector accesses.
struct VectorLoop {
  std::vector<RowVector> vectors;
  int elements = 0;  ///< the number of the widest tensor's elements that 16 bytes hold
  Symbol at;         ///< the element within the vector
  Body body;         ///< body of the loop, on elements of vectors
};

struct RowVectorForm {
  LoopProgram program;                 ///< the given program, with the vectors declared
  std::map<Symbol, VectorLoop> loops;  ///< by the variable of the loop
  std::vector<VectorRow> rows;         ///< the requirements on tensors
};

/// Finds the form of `p`, a stage whose iterations a block takes (rows.h), with the strides that it
/// requires. Returns nullopt if no loop accesses elements only at its own index, without a
/// condition.
std::optional<RowVectorForm> row_vector_form(const LoopProgram& p);

}  // namespace mote::cuda
