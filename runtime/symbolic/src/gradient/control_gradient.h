// SPDX-License-Identifier: Apache-2.0
// The gradients of loops and of case..of.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "gradient/gradient_call.h"

namespace mote {

/// Returns a reason if the gradient cannot be computed; empty if it can.
std::string why_no_control_gradient(GraphBuilder& builder, const NodeInfo& node,
                                    const GradientCall& call);
/// Computes the gradient of a loop, which keeps from then on what its way back reads. The sums of
/// the gradients of what it does not carry over begin with `sums`; none: with 0.
std::vector<TensorSymbol> loop_gradient(SymbolicGraph& graph, std::uint32_t index,
                                        const GradientCall& call,
                                        std::span<const TensorSymbol> sums);
/// Computes the gradient of node `index`.
std::vector<TensorSymbol> control_gradient(GraphBuilder& builder, std::uint32_t index,
                                           const GradientCall& call);

}  // namespace mote
