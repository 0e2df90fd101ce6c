// SPDX-License-Identifier: Apache-2.0
// Runs a plan.
#pragma once

#include <vector>

#include "mote/oracle/case.h"
#include "plan.h"
#include "run/buffer.h"

namespace mote::blocks {

/// Runs the plan for one case of its program. Outputs are rounded to their dtypes.
void run_plan(const Program& program, const Plan& plan, const Case& c,
              const std::vector<Dense>& inputs, std::vector<Dense>& outputs);

}  // namespace mote::blocks
