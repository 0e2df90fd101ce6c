// SPDX-License-Identifier: Apache-2.0
// Programs that differ from one in a single place: what a kernel may compute in its stead.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "mote/uops/program.h"

namespace mote::diagnosis {

struct Altered {
  std::string kind;                        ///< of the diagnosis
  std::shared_ptr<const Program> program;  ///< of the same inputs, parameters, sizes and outputs
  std::string words;                       ///< that say it; empty: the formulas do
  Uop before, after;                       ///< the place that is another

  /// "with x[n]/s in place of x[n]*s"
  std::string text() const;
};

/// At each node in turn:
/// - an operand, an operand's operand, or an input of the same shape in place of the node;
/// - a sum along another axis, or with ones up to a whole block; scatters that read before any
/// wrote;
/// - f(a) + b and f(b) + a for f(a + b), through up to three functions, and f(a + b) for f(a) + b;
/// - f of the elements that a reindex reads, also of those out of range, and not f before it;
/// - another function of its family: trunc for floor, <= for <, - for +; what scatters sets;
/// - an intermediate value in an integer type of the program's, that wraps or saturates; the sum
///   under a log1p and the exp under an expm1 rounded;
/// - 0, 1, another constant or a size one more or less, also where one of several reads it;
/// - an index one more or less, along another axis, that goes on in the next row; all indices
///   without offsets, divisions in them rounded otherwise.
std::vector<Altered> altered_programs(const Program& program);

}  // namespace mote::diagnosis
