// SPDX-License-Identifier: Apache-2.0
// Draws data for the gradients of the catalogue's ops.
#pragma once

#include "gradient_check.h"

namespace mote::test {

bool is_differentiable(const Program& p);

/// Draws sizes from 1 to 3, integer parameters near their lower limits, and reals in (-2, 2), or in
/// (1/4, 1) if `positive`, from the seed; real parameters have their defaults. Throws Error if they
/// do not fit together.
GradientCase some_case(const Program& p, std::uint64_t seed, bool positive);

}  // namespace mote::test
