// SPDX-License-Identifier: Apache-2.0
// Decides which programs have a gen variant, and writes the contracts of both variants.
#pragma once

#include <optional>
#include <string>

#include "mote/base/export.h"
#include "mote/codegen/schedule.h"

namespace MOTE_API mote {

/// Returns the schedule of the variant gen of a program whose main dtype is `dtype`; nullopt if it
/// has none. Programs of reals have one, unless an output is made of random words other than by
/// comparisons: such an output would be another number in other arithmetic, and every backend draws
/// the same numbers. Programs of integers and of truths have one if a loop of theirs runs in
/// vectors.
std::optional<Schedule> gen_schedule(const LoopProgram& loops, DType dtype,
                                     const ScheduleOptions& options = {});

/// Returns C text: a static array functions_f32 of the accuracies that the gen variant's functions
/// promise in f32.
std::string gen_accuracy_c();
/// Returns C text: a static mote_contract `name` of the gen variant of a dtype, whose functions
/// are functions_f32; kernels of f64 and of the variant reference need no such table. If
/// `may_multiply_padding`, as ScheduleOptions has it, the form is `padding_multiplied`.
std::string gen_contract_c(const std::string& name, DType dtype, bool may_multiply_padding = false);
std::string reference_contract_c(const std::string& name);

}  // namespace mote
