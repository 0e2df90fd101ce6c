// SPDX-License-Identifier: Apache-2.0
// Passes with one defect each, for tests of the oracle itself.
#pragma once

#include "mote/codegen/loops.h"

namespace mote::test {

/// Merges neighbouring loops with equal limits, without looking at their dependencies.
LoopProgram fuse_carelessly(LoopProgram p);
/// Drops the first axis of every temporary, without looking at its readers.
LoopProgram contract_carelessly(LoopProgram p);
/// Makes a guarded value 0 where its conditions fail, for any fill.
LoopProgram forget_fills(LoopProgram p);
/// Ends every loop of a reduction one iteration early.
LoopProgram drop_last_term(LoopProgram p);

}  // namespace mote::test
