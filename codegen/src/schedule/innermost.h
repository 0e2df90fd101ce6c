// SPDX-License-Identifier: Apache-2.0
// One step of a schedule: takes a loop of a nest that slides no window innermost, and inward into
// the reductions: the channels of a pooling whose elements are adjacent in NHWC.
#pragma once

#include <set>
#include <string>
#include <variant>
#include <vector>

#include "mote/codegen/schedule.h"
#include "schedule/iterations.h"
#include "schedule/take.h"

namespace mote {

/// The statements that take a nest's place, and what they rely on.
struct Innermost {
  Body body;
  KnownStride adjacent;  ///< results that follow each other along the loop are adjacent
  Conditions demands;    ///< sizes that multiply the loop's variable are 1; the loop is not short
  TakenStep step;
};

/// The elements of a tile: an array of them, and a few more, stay in the first-level cache.
inline constexpr std::int64_t kTile = 256;

struct TileOfIterations {
  std::int64_t most;      ///< an array has as many elements
  std::int64_t least;     ///< the loop has at least as many iterations
  bool is_whole = false;  ///< all elements are computed: the last tile overlaps the one before
};

/// `loop` is one of the chain, which is in p. Operands that the other loops do not change are
/// copied ahead, so that they are adjacent too. Adds the arrays of a tile to p.tensors. Returns why
/// the loop cannot be taken, with p as it was, where it cannot.
std::variant<Innermost, std::string> taken_innermost(LoopProgram& p, const SharedLoops& chain,
                                                     const Loop& loop, TileOfIterations tile);

/// Puts what was taken in the place of the nest; or returns why not, with p as it was: whole tiles
/// read elements again that a call in place may have overwritten.
Refusal put_innermost(LoopProgram& p, const Path& nest, Innermost& taken);

}  // namespace mote
