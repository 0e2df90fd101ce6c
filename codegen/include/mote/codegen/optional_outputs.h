// SPDX-License-Identifier: Apache-2.0
// Compiles kernels whose calls may leave outputs out.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "mote/base/export.h"
#include "mote/codegen/loops.h"

namespace MOTE_API mote {

/// Compiles as compile() does. If the program has several outputs, each temporary keeps storage of
/// its own, because an output that shares storage could not be left out by itself.
LoopProgram compile_for_calls(const std::shared_ptr<const Program>& program,
                              const std::vector<std::string>& optional_outputs);

}  // namespace mote
