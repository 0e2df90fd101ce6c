// SPDX-License-Identifier: Apache-2.0
// Makes programs that differ from one in a single location: each is what a kernel may compute
// instead.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "mote/uops/program.h"

namespace mote::diagnosis {

struct Altered {
  std::string kind;                        ///< the kind of the diagnosis
  std::shared_ptr<const Program> program;  ///< with the same inputs, parameters, sizes and outputs
  std::string words;                       ///< a description; empty: the formulas describe it
  Uop before, after;                       ///< the changed node, and its replacement

  /// A description such as "with x[n]/s in place of x[n]*s".
  std::string text() const;
};

/// The altered programs have one of these changes at one node:
/// - an operand, an operand's operand, or an input of the same shape replaces the node;
/// - a sum runs along another axis, or includes ones up to a whole block; scatters read before any
///   of them writes;
/// - f(a) + b and f(b) + a replace f(a + b), through up to three functions, and f(a + b) replaces
///   f(a) + b;
/// - f is applied after a reindex, also to elements out of range, and not before it;
/// - another function of its family replaces it: trunc for floor, <= for <, - for +, set for add;
/// - an intermediate value has an integer type of the program's, which wraps or saturates; the sum
///   under a log1p and the exp under an expm1 are rounded;
/// - 0, 1, another constant or a size one more or less replaces it, also for one of its readers;
/// - an index is one more or less, runs along another axis or into the next row; all indices lose
///   their offsets, or divisions in them round differently.
std::vector<Altered> altered_programs(const Program& program);

}  // namespace mote::diagnosis
