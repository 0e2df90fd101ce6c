// SPDX-License-Identifier: Apache-2.0
// Ops of a plug-in, loaded and registered once, and data for which their results are exact.
#pragma once

#include <cstdint>
#include <vector>

#include "mote/runtime/context.h"
#include "mote/runtime/registry.h"
#include "mote/runtime/tensor.h"
#include "mote/symbolic/binding.h"
#include "mote/symbolic/symbolic_graph.h"

namespace mote::test {

/// Register the plug-in's ops: cube as a library, and fold_pairs by attributes.
void register_cube(Registry& registry);
void register_fold_pairs(Registry& registry);

/// Loads the plug-in, registers cube as a library and fold_pairs by attributes, and returns a
/// context with the plug-in's backend. Later calls return the same.
Context& exact_context();

/// Returns a tensor of integers from -3 to 3, which differ from `first` to `first`.
Tensor small_integers(const TensorForm& form, std::int64_t first);
/// Binds each input of the graph to such a tensor.
std::vector<TensorBinding> small_integers(const SymbolicGraph& graph);

/// Returns the elements in row-major order.
std::vector<double> reals(const Tensor& x);

}  // namespace mote::test
