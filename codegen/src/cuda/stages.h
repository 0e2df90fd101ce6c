// SPDX-License-Identifier: Apache-2.0
// Cuts a program into stages, one for each launch of a kernel. Values pass from one stage to
// another through temporaries of rank 1 or more: threads share nothing else.
#pragma once

#include <optional>
#include <vector>

#include "mote/codegen/loops.h"

namespace mote::cuda {

struct Stage {
  Body body;        ///< loops that threads share are of kind threads; their work is `iterations`
  bool in_order;    ///< for one thread: its iterations depend on one another, or it has none
  Expr iterations;  ///< number of iterations of the shared loops; 1 in order; may hold loads
  /// The strides that must be 1 for a block to take an iteration: the block's threads then share
  /// each loop in it, over adjacent elements. nullopt: a block cannot take one.
  std::optional<std::vector<KnownStride>> rows = {};
};

struct Stages {
  LoopProgram program;  ///< all stages in sequence: equal to the program that was cut, bit for bit
  std::vector<Stage> stages;
};

/// A stage in parts, each a stage that is launched after the one before it.
struct Division {
  Stages parts;
  Expr terms;  ///< the maximum number of terms that an iteration of the stage goes over
};

/// Splits long reductions of the stage, and scatters by output range, for more threads than it has
/// iterations; nullopt if it has none.
std::optional<Division> divided(const Stages& all, std::size_t stage);

/// Cuts the program: each statement at top level, and in branches there, is a stage if its
/// outermost loop's iterations are independent; the statements between are one stage together.
/// Names whose values need no tensor are bound again in each stage that reads them.
Stages cut(const LoopProgram& p);

}  // namespace mote::cuda
