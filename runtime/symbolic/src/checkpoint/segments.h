// SPDX-License-Identifier: Apache-2.0
// Cuts the way forward: into segments whose values are computed again together, or into the
// layers of a chain.
#pragma once

#include <cstdint>
#include <vector>

#include "checkpoint/way.h"

namespace mote {

/// The positions after which the way forward is cut, rising, without the last one.
using Cuts = std::vector<std::uint32_t>;

/// Returns, for each position, the bytes of values that were written up to it, that a later forward
/// node reads, and that may be computed again: they are kept if the way is cut there.
std::vector<std::size_t> crossing_bytes(const SymbolicGraph& graph, const ForwardWay& way);

/// Cuts the way into about `segments` segments with equal bytes for the way back, at positions that
/// few bytes cross.
Cuts cut_evenly(const SymbolicGraph& graph, const ForwardWay& way, std::size_t segments);

/// Returns the bytes that cuts keep, and those of the largest segment, together.
std::size_t estimated_bytes(const SymbolicGraph& graph, const ForwardWay& way, const Cuts& cuts);

/// Returns the positions that exactly one value crosses, those of a chain.
Cuts chain_cuts(const SymbolicGraph& graph, const ForwardWay& way);

}  // namespace mote
