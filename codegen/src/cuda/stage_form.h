// SPDX-License-Identifier: Apache-2.0
// Takes the steps of a GPU's schedule on the loops of one stage.
#pragma once

#include <string>
#include <vector>

#include "mote/codegen/emit_cuda.h"
#include "schedule/take.h"
#include "stages.h"

namespace mote::cuda {

/// A stage as one kernel runs it.
struct StageForm {
  LoopProgram loops;  ///< the declarations, and the stage's loops
  /// The stage whose loops of kind threads are those that the workers share, before blocks take
  /// them.
  Stage stage;
  CudaWorker worker;
  Expr iterations;                        ///< the number of workers that have something to do
  std::vector<KnownStride> strides = {};  ///< strides that must be as they say
  std::vector<Step> steps = {};
};

/// Returns the stage as it was cut: a thread takes each of its iterations, or one thread takes all.
/// `all` holds the declarations that the stage's statements mention.
StageForm start_of(const LoopProgram& all, const Stage& stage);

/// Takes the step, or returns why it cannot be taken; then the form is as it was. In the variant
/// tf32, tiles of f32 are rounded.
Refusal take(StageForm& form, const Step& step, CudaVariant variant);

/// Returns the step `kind` of the loops that the workers of a stage share, without the innermost
/// `left`; nullopt if none is left, as in a stage that runs in order.
std::optional<Step> step_of_shared(StepKind kind, const Stage& stage, std::size_t left = 0);

}  // namespace mote::cuda
