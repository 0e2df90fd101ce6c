// SPDX-License-Identifier: Apache-2.0
#include "program_gradient.h"

#include "mote/uops/gradient.h"

namespace mote {

ProgramGradient gradient_by_uops(const Program& program, const std::vector<std::string>& wrt) {
  GradientRequest request;
  request.wrt = wrt;
  Gradient g = gradient(program, request);
  return {std::move(g.program), std::move(g.gradient_names)};
}

}  // namespace mote
