// SPDX-License-Identifier: Apache-2.0
// Cliques of a part that has no line of time: sets of blocks that all interfere with each other.
#pragma once

#include "part.h"

namespace mote::memory {

/// Fills cliques, points and bound of a part. Each block is in one of the cliques at least, and so
/// is each pair where the graph is chordal, as that of lifetimes is; then the bound is exact.
/// Throws Error if a clique has more than 2^63 - 1 bytes.
void find_cliques(Part& part);

}  // namespace mote::memory
