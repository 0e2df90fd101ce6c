// SPDX-License-Identifier: Apache-2.0
// Checks that a function takes what a node gives it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "mote/symbolic/symbolic_graph.h"

namespace mote {

/// Throws StatusError if that is no number of inputs or outputs that the function takes. `what` is
/// "inputs" or "outputs".
void check_count(const NamedFunction& function, const char* what, const CountRange& taken,
                 std::size_t count);

/// Throws StatusError if the function does not take these symbols. Their forms are looked at if all
/// are known.
void check_function(const SymbolicGraph& graph, const NamedFunction& function,
                    std::span<const std::uint32_t> inputs, std::span<const std::uint32_t> outputs);

/// Throws StatusError unless that is the form of one number of the dtype on the host. `what` says
/// which.
void expect_number(const char* what, const TensorForm& got, DType dtype);

}  // namespace mote
