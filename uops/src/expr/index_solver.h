// SPDX-License-Identifier: Apache-2.0
// Solves to(i) = j for i: which elements of a scatter's argument are written to element j.
#pragma once

#include <optional>
#include <vector>

#include "mote/uops/facts.h"
#include "mote/uops/program.h"

namespace mote {

/// left = right; left in the loop variables of what is written, right in those of the target.
struct IndexEquation {
  Expr left;
  Expr right;
};

struct IndexProblem {
  std::vector<Expr> to;       ///< in i0, i1, … of the argument
  std::vector<Expr> extents;  ///< of the argument
  std::vector<Expr> target;   ///< extents of what is written to
  /// What holds of every argument element that is not 0: left, in the argument's loop variables,
  /// has the constant value right.
  std::vector<IndexEquation> known;
  std::vector<ParamDecl> params;
};

/// Element j gets the sum, over all values of `free` variables, of the argument's element `index`
/// where every condition is 0. An index out of range counts for nothing. Everything is in the loop
/// variables of a tensor whose axes are the target's, then those of `free`.
struct IndexSolution {
  struct Free {
    Expr extent;
    std::optional<int> axis;  ///< the argument's axis that it runs along, if just that
  };
  std::vector<Free> free;
  std::vector<Expr> index;       ///< by axis of the argument
  std::vector<Expr> conditions;  ///< each is to be 0
};
std::optional<IndexSolution> solve_index(const IndexProblem& problem);

}  // namespace mote
