// SPDX-License-Identifier: Apache-2.0
// What the tests of passes share: programs from text, before-and-after golden files, and the check
// that two loop programs mean the same, bit for bit, on random data at many sizes.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "../loop_builders.h"
#include "golden.h"
#include "mote/codegen/passes.h"
#include "mote/codegen/schedule.h"

namespace mote::test {

std::shared_ptr<const Program> program(const std::string& text);
/// The accumulator of that name, read in double.
inline Value sum_of(const std::string& name) { return accumulated_value(name, DType::f64); }

/// Both run alike on random inputs for every choice of sizes out of {0, 1, 2, 3, 5} that is tried.
void expect_same_meaning(const LoopProgram& a, const LoopProgram& b);
/// The source, by evaluate(), and the loops agree.
void expect_right(const LoopProgram& p);

/// Runs the pass; checks verify() and the meaning; returns the result.
LoopProgram run_checked(LoopProgram (*pass)(LoopProgram), const LoopProgram& p);
/// run_checked, and "before … after …" against the golden file of the running test.
LoopProgram expect_golden_pass(LoopProgram (*pass)(LoopProgram), const LoopProgram& p);
/// run_checked, and the pass changes nothing.
void expect_unchanged(LoopProgram (*pass)(LoopProgram), const LoopProgram& p);

/// Scheduled and verified; every version means the same as the program.
Schedule scheduled(const LoopProgram& p);

}  // namespace mote::test
