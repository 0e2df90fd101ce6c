// SPDX-License-Identifier: Apache-2.0
// The uop gradient of a program, apart from the headers of the runtime, which has another Gradient.
#pragma once

#include <string>
#include <vector>

#include "mote/uops/program.h"

namespace mote {

struct ProgramGradient {
  Program program;
  std::vector<std::string> gradient_names;  ///< the inputs that are gradients of outputs, by output
};

/// Returns the gradient of all real outputs with respect to those inputs.
ProgramGradient gradient_by_uops(const Program& program, const std::vector<std::string>& wrt);

}  // namespace mote
