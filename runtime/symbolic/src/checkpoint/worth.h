// SPDX-License-Identifier: Apache-2.0
// Decides whether a checkpoint is worth its work, by the bytes of planned memory and the time of a
// step.
#pragma once

#include <cstdint>

#include "mote/runtime/context.h"
#include "mote/symbolic/symbolic_graph.h"

namespace mote {

/// Returns the graph that the default passes make of this one, which must not change as long as it
/// is there. Null: the generated kernels (PassOptions).
SymbolicGraph after_passes(const SymbolicGraph& graph, Context* context);

/// Returns the bytes that the graph's tensors take in planned memory, by the fast planner.
std::uint64_t planned_bytes(const SymbolicGraph& graph, Context* context);

/// Returns a number of bytes that the planned memory of the graph cannot be below, whatever is
/// computed again: what a node reads is there at once, with what it writes unless that may be in
/// place, and with the outputs that what comes before has read; so are all outputs in the end.
std::uint64_t least_bytes(const SymbolicGraph& graph);

/// Runs both graphs in turn, on made-up inputs, and returns the shortest time of `graph` over that
/// of `other`. Functions of the caller's would run too: a graph with one is not
/// measured, and the ratio is 1.
double time_ratio(const SymbolicGraph& graph, const SymbolicGraph& other, Context& context);

}  // namespace mote
