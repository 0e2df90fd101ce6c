// SPDX-License-Identifier: Apache-2.0
// Loops of kernels whose calls may leave outputs out.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "mote/base/export.h"
#include "mote/codegen/loops.h"

namespace MOTE_API mote {

/// As compile(). Where the program has several outputs, of which these may be left out, each
/// temporary keeps storage of its own: what shares it could not be left out by itself.
LoopProgram compile_for_calls(const std::shared_ptr<const Program>& program,
                              const std::vector<std::string>& optional_outputs);

}  // namespace mote
