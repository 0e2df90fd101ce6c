// SPDX-License-Identifier: Apache-2.0
// The order in which a tile runs the loops of a reduction.
#pragma once

#include <vector>

#include "schedule/tiles/panels.h"

namespace mote {

/// Returns true if a loop runs along a window: conditions leave some of its iterations out, and
/// their number is a size. The positions of a window, whose number follows from several sizes, are
/// many.
bool has_window(const TiledReduction& r);
/// Returns the loops of the reduction, those along windows first: the innermost loops are then
/// long.
std::vector<LoopRange> ordered_loops(const TiledReduction& r);
/// Returns the loops of the reduction, that first along which rows leave out terms.
std::vector<LoopRange> rows_first(const TiledReduction& r);

}  // namespace mote
