// SPDX-License-Identifier: Apache-2.0
// A program cut into stages, one for each launch of a kernel. What one stage gives to another
// passes through temporaries of rank 1 or more: threads share nothing else.
#pragma once

#include <optional>
#include <vector>

#include "mote/codegen/loops.h"

namespace mote::cuda {

struct Stage {
  Body body;      ///< loops that threads share are marked parallel; their work is `rounds`
  bool in_order;  ///< for one thread: its rounds depend on one another, or it has none
  Expr rounds;    ///< of the loops that are shared; 1 in order; may hold loads
  /// Where these strides are 1 a block may take a round: each loop in it is shared among the
  /// block's threads, over adjacent elements. nullopt: it may not.
  std::optional<std::vector<KnownStride>> rows = {};
};

struct Stages {
  LoopProgram program;  ///< all stages in a row: equal to the program that was cut, bit for bit
  std::vector<Stage> stages;
};

/// A stage in parts, each a stage that is launched after the one before.
struct Division {
  Stages parts;
  Expr terms;  ///< that a round of the stage goes over, at most
};

/// The stage with the innermost of its shared loops as a row that a block goes along; nullopt where
/// it is the only one, or not a row.
std::optional<Stage> along_rows(const LoopProgram& p, const Stage& stage);

/// Long reductions of the stage in chunks, scatters by segments, for more threads than it has
/// rounds; nullopt where it has none.
std::optional<Division> divided(const Stages& all, std::size_t stage);

/// Each statement at top level, and in branches there, is a stage where its outermost loop's rounds
/// are independent; those between are one stage together. Names whose values need no tensor are
/// bound again in each stage that reads them.
Stages cut(const LoopProgram& p);

}  // namespace mote::cuda
