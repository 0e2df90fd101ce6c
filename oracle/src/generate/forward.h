// SPDX-License-Identifier: Apache-2.0
// Computes the inputs of a gradient's case that are outputs of its op.
#pragma once

#include <vector>

#include "mote/oracle/case.h"
#include "run/buffer.h"

namespace mote {

/// If the target is a gradient and the case has all inputs of its op, replaces the inputs that are
/// outputs of the op by the op's reference results: a gradient may assume that y belongs to its x.
/// Inputs that repeat elements along an axis stay as they are.
void compute_given_outputs(const Case& c, std::vector<Dense>& inputs);

}  // namespace mote
