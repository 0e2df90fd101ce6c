// SPDX-License-Identifier: Apache-2.0
// Checks that a command has its tensors on one device: only copies have tensors on two.
#pragma once

#include <cstdint>
#include <span>

#include "mote/runtime/command.h"
#include "mote/symbolic/symbolic_graph.h"

namespace mote {

/// Throws StatusError if two tensors of the command are on different devices. Those whose shapes
/// are not known yet may be anywhere.
void check_devices(const SymbolicGraph& graph, const Command& command,
                   std::span<const std::uint32_t> inputs, std::span<const std::uint32_t> outputs);

}  // namespace mote
