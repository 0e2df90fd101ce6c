// SPDX-License-Identifier: Apache-2.0
// Passes with one defect each, for testing the oracle itself.
#pragma once

#include "mote/codegen/loops.h"

namespace mote::test {

/// Merges neighbouring loops with equal limits, whatever they read of each other.
LoopProgram fuse_carelessly(LoopProgram p);
/// Every temporary loses its first axis, whoever reads it where.
LoopProgram contract_carelessly(LoopProgram p);
/// A guarded value is 0 where its conditions fail, whatever its fill is.
LoopProgram forget_fills(LoopProgram p);
/// Every loop of a reduction ends one round early.
LoopProgram drop_last_term(LoopProgram p);

}  // namespace mote::test
