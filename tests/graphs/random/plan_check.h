// SPDX-License-Identifier: Apache-2.0
// Checks where a compiled graph puts its tensors and when it runs its nodes, from the bytes that
// its nodes use and what is done before what: independent of the planner, of the search for pairs
// in place, of the scheduler, and of what the graph says of itself.
#pragma once

#include <optional>
#include <string>

#include "mote/graph/picture.h"
#include "mote/symbolic/compile.h"

namespace mote::test {

/// Returns a block that is not aligned or lies outside the memory; none if all is well.
std::optional<std::string> misplaced(const CompileReport& report);

/// Returns a node that reads bytes into which another node has written another value in between, or
/// may have; none if there is none. The graph has run: choices are those of its last run.
std::optional<std::string> lost_value(const Graph& graph);

/// Returns two nodes of which one writes bytes that the other uses, and neither is done before the
/// other begins; none if there are none.
std::optional<std::string> race(Executable& executable);
/// The same for the nodes of a part, which has run.
std::optional<std::string> race(Executable& executable, GraphPart part);

/// True if two blocks have a byte in common.
bool has_shared_memory(const CompileReport& report);
/// True if nodes of several streams wait for each other.
bool has_several_streams(const CompileReport& report);
/// True if two nodes on different streams ran at one time.
bool has_overlapped(const GraphTrace& trace);

}  // namespace mote::test
