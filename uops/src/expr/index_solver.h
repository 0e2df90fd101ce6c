// SPDX-License-Identifier: Apache-2.0
// Solves to(i) = j for i, to find the elements of a scatter's argument that go to element j.
#pragma once

#include <optional>
#include <vector>

#include "mote/uops/facts.h"
#include "mote/uops/program.h"

namespace mote {

/// An equation left = right; left is in the argument's loop variables, right in the target's.
struct IndexEquation {
  Expr left;
  Expr right;
};

struct IndexProblem {
  std::vector<Expr> to;       ///< indices in i0, i1, … of the argument
  std::vector<Expr> extents;  ///< extents of the argument
  std::vector<Expr> target;   ///< extents of the tensor that is written to
  /// Facts about every argument element that is not 0: left, in the argument's loop variables, has
  /// the constant value right.
  std::vector<IndexEquation> known;
  std::vector<ParamDecl> params;
};

/// The solution: element j gets the sum, over all values of `free` variables, of the argument's
/// element `index` if every condition is 0. An index out of range contributes nothing. All
/// expressions are in the loop variables of a tensor whose axes are the target's, then those of
/// `free`.
struct IndexSolution {
  struct Free {
    Expr extent;
    std::optional<int> axis;  ///< the argument's axis that it runs along, if it is just that
  };
  std::vector<Free> free;
  std::vector<Expr> index;       ///< by axis of the argument
  std::vector<Expr> conditions;  ///< each must be 0
};
std::optional<IndexSolution> solve_index(const IndexProblem& problem);

}  // namespace mote
