// SPDX-License-Identifier: Apache-2.0
// The gradients of loops and of case..of.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gradient/gradient_call.h"

namespace mote {

/// Returns a reason if the gradient cannot be computed; empty if it can.
std::string why_no_control_gradient(GraphBuilder& builder, const NodeInfo& node,
                                    const GradientCall& call);
/// Computes the gradient of node `index`. A loop keeps from then on what its iterations begin with.
std::vector<TensorSymbol> control_gradient(GraphBuilder& builder, std::uint32_t index,
                                           const GradientCall& call);

}  // namespace mote
