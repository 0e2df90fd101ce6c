// SPDX-License-Identifier: Apache-2.0
// Lists the steps that give a stage's iterations to the workers of a GPU, each with the form that
// it makes of the stage and with what the search tries of it.
#pragma once

#include <span>

#include "stage_form.h"

namespace mote::cuda {

struct FormStep {
  StepKind kind;
  bool is_first;  ///< no step may have given the stage to its workers before it
  /// Changes the form, or returns why it cannot; `effect` gets what it did besides.
  Refusal (*take)(StageForm& form, const Step& step, std::string& effect);
  /// Returns what the search tries.
  Schedules (*to_try)(const StageSearch& search);
};
/// Returns all of them, in the order in which the search prefers their kernels.
std::span<const FormStep> form_steps();

/// Takes the step, or returns why it cannot be taken; then the form is as it was.
Refusal take(StageForm& form, const Step& step);

}  // namespace mote::cuda
