// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "gradient/gradient_call.h"

namespace mote {

/// Returns J(x) c of the op f whose gradient the call's op g is, for the gradients c of g's
/// outputs: a symbol for each output of f, in their order; empty where g takes no gradient of it.
std::vector<TensorSymbol> tangents(GraphBuilder& builder, const GradientCall& call,
                                   const GradientRow& row, Tangent tangent);

}  // namespace mote
