// SPDX-License-Identifier: Apache-2.0
// One step of a schedule: takes a loop of a nest that slides no window innermost, and inward into
// the reductions: the channels of a pooling whose elements are adjacent in NHWC.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "mote/codegen/loops.h"

namespace mote {

/// The statements that take a nest's place, and what they rely on.
struct Innermost {
  Body body;
  KnownStride adjacent;  ///< results that follow each other along the loop are adjacent
  Conditions demands;    ///< sizes that multiply the loop's variable are 1; the loop is not short
  std::string step;
};

struct TileOfIterations {
  std::int64_t most;   ///< an array has as many elements
  std::int64_t least;  ///< the loop has at least as many iterations
};

/// `nest` is a statement of p whose loops are independent. Operands that the other loops do not
/// change are copied ahead, so that they are adjacent too. Adds the arrays of a tile to p.tensors.
/// The loop is the innermost but the last that can be taken, among those that demand sizes of 1 or
/// among the others. No variable gets a name in `used`, to which those of the nest are added.
/// Returns nullopt, with p as it was, if there is no such loop.
std::optional<Innermost> taken_innermost(LoopProgram& p, const Stmt& nest, TileOfIterations tile,
                                         bool demands_ones, std::set<std::string>& used);

}  // namespace mote
