// SPDX-License-Identifier: Apache-2.0
// Data for the gradients of the catalogue's ops.
#pragma once

#include "gradient_check.h"

namespace mote::test {

bool is_differentiable(const Program& p);

/// Sizes from 1 to 3 and parameters near their defaults, drawn from the seed; reals in (-2, 2), or
/// in (1/4, 1). Throws Error where they do not fit together.
GradientCase some_case(const Program& p, std::uint64_t seed, bool positive);

}  // namespace mote::test
