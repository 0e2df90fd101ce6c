// SPDX-License-Identifier: Apache-2.0
// Row-major forms, which loops and branches carry gradients in.
#pragma once

#include <span>
#include <vector>

#include "mote/symbolic/symbolic_graph.h"

namespace mote {

/// Returns the form in row-major order.
TensorForm plain(const TensorForm& form);
/// Returns the symbol, or a copy of it, in row-major order and in memory of its own.
TensorSymbol as_plain(SymbolicGraph& graph, TensorSymbol x);
/// Appends the gradient of `of`. Returns that for each of `wrt`, in row-major order; zeros if there
/// is nothing to differentiate.
std::vector<TensorSymbol> gradient_or_zeros(SymbolicGraph& graph, std::span<const TensorSymbol> of,
                                            std::span<const TensorSymbol> seeds,
                                            std::span<const TensorSymbol> wrt);

}  // namespace mote
