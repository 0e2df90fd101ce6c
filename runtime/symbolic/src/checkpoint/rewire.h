// SPDX-License-Identifier: Apache-2.0
// Makes the nodes of the way back read copies of forward values, segment by segment, the last one
// first.
#pragma once

#include <cstdint>

#include "checkpoint/copies.h"
#include "checkpoint/segments.h"
#include "checkpoint/way.h"

namespace mote {

/// Keeps the values that cross the cuts, and computes each segment but the last again when the way
/// back comes to it.
void recompute_segments(SymbolicGraph& graph, const ForwardWay& way, const Cuts& cuts,
                        Copies& copies);

/// Keeps at most `slots` states besides the first one; layers are the pieces between the cuts.
void recompute_binomially(SymbolicGraph& graph, const ForwardWay& way, const Cuts& cuts,
                          std::uint64_t slots, Copies& copies);

/// Computes values of element-wise nodes again where that keeps fewer bytes.
void recompute_cheaply(SymbolicGraph& graph, const ForwardWay& way, Copies& copies);

}  // namespace mote
