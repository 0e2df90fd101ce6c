// SPDX-License-Identifier: Apache-2.0
// A gradient's case: what it is given of its op's outputs.
#pragma once

#include <vector>

#include "mote/oracle/case.h"
#include "run/buffer.h"

namespace mote {

/// Where the target is a gradient and the case has all that its op was computed from, the inputs
/// that are outputs of the op become what the op's reference gives for the others: a gradient may
/// count on y being that of its x. Those that repeat elements along an axis stay as they are.
void compute_given_outputs(const Case& c, std::vector<Dense>& inputs);

}  // namespace mote
