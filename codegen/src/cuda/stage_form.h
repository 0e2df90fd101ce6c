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
  /// The declarations, and the stage's loops, with the steps so far. The name tells the kernel's
  /// function from others of the stage.
  Version version;
  /// The stage whose loops of kind threads are those that the workers share, before blocks take
  /// them.
  Stage stage;
  CudaVariant variant;
  CudaWorker worker;
  Expr iterations;           ///< the number of workers that have something to do
  std::size_t steps_before;  ///< the number of steps that led to the stage

  const LoopProgram& loops() const { return version.program; }
};

/// Returns the stage as it was cut, after the steps `before`: a thread takes each of its
/// iterations, or one thread takes all. `all` holds the declarations that the stage's statements
/// mention. In the variant tf32, tiles of f32 are rounded.
StageForm start_of(const LoopProgram& all, const Stage& stage, std::vector<TakenStep> before,
                   CudaVariant variant);

/// Returns a refusal if a step has given the stage to its workers.
Refusal why_has_workers(const StageForm& form);
/// Returns the loops that the workers of a stage with that body share, outermost first.
std::vector<const Loop*> shared_by_workers(const Body& body);
/// Shares the loops that the step names, which must be the stage's from the first on.
Refusal share_loops(StageForm& form, const Step& step);

/// Returns the step `kind` of the loops that the workers of a stage share, without the innermost
/// `left`; nullopt if none is left, as in a stage that runs in order.
std::optional<Step> step_of_shared(StepKind kind, const Stage& stage, std::size_t left = 0);

/// A stage for which the search looks for kernels.
struct StageSearch {
  const StageForm& start;
  bool is_part;  ///< the stage is a part of another one
  /// True if rows are long wherever it is launched, also rows of temporaries alone, which need no
  /// strides: in a part, and in a program that was distributed.
  bool has_long_rows;
  const std::vector<CudaKernel>& found;  ///< by the steps that are preferred

  const LoopProgram& loops() const { return start.loops(); }
  /// True if blocks can take rows if they may rely on strides.
  bool demands_strides() const { return start.stage.rows && !start.stage.rows->empty(); }
};
/// The steps of each of several kernels, the preferred one first.
using Schedules = std::vector<std::vector<Step>>;

}  // namespace mote::cuda
