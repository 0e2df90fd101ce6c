// SPDX-License-Identifier: Apache-2.0
// The derivative of a graph in a direction, node by node, from the nodes' values alone: the truth
// for gradients. It uses no gradient of any op, and holds exactly where all arithmetic is exact.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "mote/symbolic/binding.h"
#include "mote/symbolic/symbolic_graph.h"

namespace mote::test {

/// A tensor of f64 for each symbol that is asked for; or why there is none: a kink, rounding.
struct Tangents {
  std::vector<Tensor> of;
  std::string why_not;
};
/// Takes the inputs' values and the directions of some of them, in f64. A node's derivative is the
/// difference quotient of its op over a step of 2^-10 to either side, which is exact for ops that
/// are linear in each operand, quadratic, or linear in pieces. At a kink the two sides differ; then
/// there is no result, and neither if a value is no integer below 2^40.
Tangents exact_tangents(const SymbolicGraph& graph, const std::vector<TensorBinding>& values,
                        const std::vector<TensorBinding>& directions,
                        const std::vector<TensorSymbol>& of);

/// True for ops whose values at integers are integers, and whose derivative is found so.
bool is_exact_op(const std::string& op);

/// Checks gradient() and jvp() of the graph at integers: <J v, w> = <v, J^T w>, and jvp() = J v.
/// Returns the difference; `why_not` is set where nothing can be decided.
std::optional<std::string> check_derivatives(const SymbolicGraph& graph, std::uint64_t seed,
                                             std::string& why_not);

/// Checks that the second derivative is symmetric: <u, H v> = <v, H u>, with H v the forward mode
/// of the gradient. The same for `why_not`, also where both are 0.
std::optional<std::string> check_second_order(const SymbolicGraph& graph, std::uint64_t seed,
                                              std::string& why_not);

}  // namespace mote::test
