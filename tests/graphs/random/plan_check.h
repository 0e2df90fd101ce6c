// SPDX-License-Identifier: Apache-2.0
// Checks where a compiled graph puts its tensors and when it runs its nodes, from what it says of
// itself alone: independent of the planner, of the search for pairs in place, and of the scheduler.
#pragma once

#include <optional>
#include <string>

#include "mote/symbolic/compile.h"

namespace mote::test {

/// Returns two blocks that share a byte though both hold a value at once; none if all is well. The
/// nodes of one stream run in their order, so only that case is decided here.
std::optional<std::string> shared_bytes(const CompileReport& report);

/// Returns two nodes of which one writes bytes that the other uses, and neither is done before the
/// other begins; none if there are none.
std::optional<std::string> race(Executable& executable);

/// True if two blocks have a byte in common.
bool has_shared_memory(const CompileReport& report);
/// True if nodes of several streams wait for each other.
bool has_several_streams(const CompileReport& report);

}  // namespace mote::test
