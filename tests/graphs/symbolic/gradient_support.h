// SPDX-License-Identifier: Apache-2.0
// Values and checks for the tests of gradients.
#pragma once

#include <vector>

#include "error_of.h"
#include "mote/symbolic/binding.h"
#include "mote/symbolic/symbolic_graph.h"

namespace mote {

using Numbers = std::vector<double>;
using test::error_of;

/// Returns an f64 tensor of these elements; without a shape it has one axis.
Tensor real(const Numbers& values);
Tensor real(const Numbers& values, const AxisList& shape);
/// Returns an f64 tensor of distinct elements in that range; `turn` tells tensors apart.
Tensor counted(const AxisList& shape, double lowest = -2, double highest = 2, int turn = 0);
/// Returns the elements in row-major order.
Numbers numbers(const Tensor& tensor);

/// A function of a graph's inputs: the sum of weights[k] times of[k], or of the elements of `of`.
struct WeightedSum {
  std::vector<TensorSymbol> of;
  std::vector<Numbers> weights = {};
};

/// Expects that the gradients of the function with respect to the inputs `wrt`, which are bound in
/// f64, are what central differences converge to: at the step h their error is of the order h^2.
void expect_central_differences(const SymbolicGraph& graph,
                                const std::vector<TensorBinding>& bindings, const WeightedSum& f,
                                const std::vector<TensorSymbol>& wrt,
                                const std::vector<TensorSymbol>& gradients);

}  // namespace mote
