// SPDX-License-Identifier: Apache-2.0
// Takes the steps of a GPU's schedule on the loops of one stage.
#pragma once

#include <string>
#include <vector>

#include "mote/codegen/emit_cuda.h"
#include "schedule/take.h"
#include "stages.h"

namespace mote::cuda {

/// This is a stage as one kernel runs it.
struct StageForm {
  Version version;  ///< the declarations, and the stage's loops, with the steps so far
  /// The stage whose loops of kind threads are those that the workers share, before blocks take
  /// them.
  Stage stage;
  CudaWorker worker;
  Expr iterations;           ///< the number of workers that have something to do
  std::size_t steps_before;  ///< the number of steps that led to the stage

  const LoopProgram& loops() const { return version.program; }
};

/// Returns the stage as it was cut, after the steps `before`: a thread takes each of its
/// iterations, or one thread takes all. `all` holds the declarations that the stage's statements
/// mention.
StageForm start_of(const LoopProgram& all, const Stage& stage, std::vector<TakenStep> before);

/// Returns a refusal if a step has given the stage to its workers.
Refusal why_has_workers(const StageForm& form);
/// Takes the step, or returns why it cannot be taken; then the form is as it was. In the variant
/// tf32, tiles of f32 are rounded.
Refusal take(StageForm& form, const Step& step, CudaVariant variant);

/// Returns the step `kind` of the loops that the workers of a stage share, without the innermost
/// `left`; nullopt if none is left, as in a stage that runs in order.
std::optional<Step> step_of_shared(StepKind kind, const Stage& stage, std::size_t left = 0);

}  // namespace mote::cuda
