// SPDX-License-Identifier: Apache-2.0
// What may stand in place of a node: see altered.h.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "mote/uops/program.h"

namespace mote::diagnosis {

/// What the whole program offers to a node of it.
struct Surroundings {
  explicit Surroundings(const Program& program);
  std::vector<Uop> inputs;
  std::vector<DType> integers;  ///< of inputs and outputs, narrower than 64 bits
};

/// A value that may stand in place of a node.
struct Alternative {
  Uop uop;
  std::string kind = {};   ///< of the diagnosis; empty: "another formula"
  std::string words = {};  ///< that say it; empty: the formulas do
};

/// Of the same dtype and shape.
bool are_interchangeable(const Uop& a, const Uop& b);
std::vector<Alternative> alternatives(const Uop& u, const Surroundings& around);
/// The node with an alternative of an operand.
std::vector<Alternative> with_another_operand(const Uop& u, const Surroundings& around);
/// The node with one of the inputs that it is made of read with two axes exchanged.
std::vector<Alternative> with_transposed_reads(const Uop& u);

/// What becomes of every index expression of a program.
struct IndexChange {
  std::string text;  ///< "divisions in indices rounded up"
  std::function<Expr(const Expr&)> make;
};
/// Sums without what moves with no loop; divisions that are rounded otherwise, one or all.
std::vector<IndexChange> index_changes(const std::vector<Uop>& nodes);
/// The node with such expressions.
Uop with_indices(const Uop& u, const std::function<Expr(const Expr&)>& change);

}  // namespace mote::diagnosis
