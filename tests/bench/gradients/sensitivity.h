// SPDX-License-Identifier: Apache-2.0
// Computes how far rounding may move a sum of a graph's gradients, to first order. Each node's
// outputs are off from what the node's exact op gives by at most the bound of that op for the
// values that were there; the gradient of the sum with respect to the output says what the sum
// makes of it.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "networks.h"

namespace mote::bench {

/// The greatest distance of each computed element from the exact result of its node on the same
/// inputs, by the output symbol's index; infinite where nothing is known.
using LocalErrors = std::unordered_map<std::uint32_t, std::vector<double>>;

/// Returns the local errors of every node of the graph, for the kernels that a context without
/// backends chooses. Throws Error, with the node, where an op has no bound.
LocalErrors local_errors(const SymbolicGraph& graph, const std::vector<TensorBinding>& bindings);

/// Returns sum |d phi / d element| * local error over all elements that nodes write, where phi is
/// the sum of <signs[k], of[k]>. `graph` is copied; `errors` has an entry for each output of a node
/// that `of` depends on. Throws StatusError where a node has no second gradient.
double first_order_error(const SymbolicGraph& graph, const std::vector<TensorBinding>& bindings,
                         const std::vector<TensorSymbol>& of, const std::vector<Tensor>& signs,
                         const LocalErrors& errors);

}  // namespace mote::bench
