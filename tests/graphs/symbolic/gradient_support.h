// SPDX-License-Identifier: Apache-2.0
// Values and checks for the tests of gradients.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "mote/symbolic/binding.h"
#include "mote/symbolic/symbolic_graph.h"

namespace mote {

using Numbers = std::vector<double>;

/// Returns an f64 tensor of these elements; without a shape it has one axis.
Tensor real(const Numbers& values);
Tensor real(const Numbers& values, const AxisList& shape);
/// Returns an f64 tensor of distinct elements between -2 and 2, none of them near an integer.
Tensor counted(const AxisList& shape);
/// Returns the elements in row-major order.
Numbers numbers(const Tensor& tensor);
/// Returns the message of the StatusError that the call throws; empty if it throws none.
std::string error_of(const std::function<void()>& call);

/// Expects that the gradients of the sum of f with respect to the inputs `wrt`, which are bound in
/// f64, are what central differences converge to: at the step h their error is of the order h^2.
void expect_central_differences(const SymbolicGraph& graph,
                                const std::vector<TensorBinding>& bindings, TensorSymbol f,
                                const std::vector<TensorSymbol>& wrt,
                                const std::vector<TensorSymbol>& gradients);

}  // namespace mote
