// SPDX-License-Identifier: Apache-2.0
// Finds alternatives for a node; altered.h lists them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "mote/uops/program.h"

namespace mote::diagnosis {

/// The parts of the whole program that may replace a node of it.
struct Surroundings {
  explicit Surroundings(const Program& program);
  std::vector<Uop> inputs;
  std::vector<DType> integers;  ///< the types of inputs and outputs narrower than 64 bits
};

/// A value that may replace a node.
struct Alternative {
  Uop uop;
  std::string kind = {};   ///< the kind of the diagnosis; empty: "another formula"
  std::string words = {};  ///< a description; empty: the formulas describe it
};

/// True if both have the same dtype and shape.
bool are_interchangeable(const Uop& a, const Uop& b);
std::vector<Alternative> alternatives(const Uop& u, const Surroundings& around);
/// The node with an alternative for one operand.
std::vector<Alternative> with_another_operand(const Uop& u, const Surroundings& around);
/// The node with two axes exchanged in one of the inputs that it is computed from.
std::vector<Alternative> with_transposed_reads(const Uop& u);

/// A change of every index expression of a program.
struct IndexChange {
  std::string text;  ///< "divisions in indices rounded up"
  std::function<Expr(const Expr&)> make;
};
/// The changes: sums without the terms that move with no loop, and divisions that round
/// differently, one or all.
std::vector<IndexChange> index_changes(const std::vector<Uop>& nodes);
/// The node with changed index expressions.
Uop with_indices(const Uop& u, const std::function<Expr(const Expr&)>& change);

}  // namespace mote::diagnosis
