// SPDX-License-Identifier: Apache-2.0
// Helpers of the tests of passes: programs from text, before-and-after golden files, and the check
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
/// Returns the loops of the op of the catalogue with all of its optional inputs and outputs.
LoopProgram compiled_op(const std::string& op, DType dtype = DType::f32);
/// Returns t[n] = t[n - 1] + x[n]: each iteration reads a value of the previous one.
LoopProgram running_sum();
/// Returns the accumulator of that name, read in double.
inline Value sum_of(const std::string& name) { return accumulated_value(name, DType::f64); }

/// Expects equal results on random inputs, for sizes drawn from {0, 1, 2, 3, 5}.
void expect_same_meaning(const LoopProgram& a, const LoopProgram& b);
/// Expects that the loops agree with the source, run by evaluate().
void expect_right(const LoopProgram& p);

/// Runs the pass; checks verify() and the meaning; returns the result.
LoopProgram run_checked(LoopProgram (*pass)(LoopProgram), const LoopProgram& p);
/// Calls run_checked, and compares "before … after …" with the golden file of the running test.
LoopProgram expect_golden_pass(LoopProgram (*pass)(LoopProgram), const LoopProgram& p);
/// Calls run_checked, and expects that the pass changes nothing.
void expect_unchanged(LoopProgram (*pass)(LoopProgram), const LoopProgram& p);

/// Schedules and verifies; expects that every version means the same as the program.
Schedule scheduled(const LoopProgram& p, bool may_multiply_padding = false);
/// Calls scheduled, and compares the versions and their C with the golden file of the running test.
void expect_golden_schedule(const LoopProgram& p, bool may_multiply_padding = false);

}  // namespace mote::test
