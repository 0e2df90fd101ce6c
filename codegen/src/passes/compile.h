// SPDX-License-Identifier: Apache-2.0
// Compiles a program for a caller who puts statements under conditions afterwards.
#pragma once

#include <memory>

#include "mote/codegen/loops.h"

namespace mote {

/// Returns what compile() returns, before temporaries that are not in use at the same time share
/// memory.
LoopProgram compile_uncoalesced(const std::shared_ptr<const Program>& program);

}  // namespace mote
