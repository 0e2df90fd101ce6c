// SPDX-License-Identifier: Apache-2.0
// In: a stage and a step; out: its loops after it, and who takes an iteration. Each step is a pass
// in a file of its own.
#include "form_steps.h"

#include <algorithm>
#include <array>
#include <utility>

#include "row_vectors.h"
#include "share_rows.h"
#include "take_tiles.h"
#include "vector_access.h"

namespace mote::cuda {
namespace {

Refusal take_threads(StageForm& form, const Step& step, std::string& /*effect*/) {
  return share_loops(form, step);
}

/// Threads take what blocks do not: also all of a stage that runs in order.
Schedules threads_to_try(const StageSearch& search) {
  if (search.has_long_rows && search.start.stage.rows && !search.demands_strides()) return {};
  const auto threads = step_of_shared(StepKind::threads, search.start.stage);
  return {threads ? std::vector{*threads} : std::vector<Step>()};
}

constexpr std::array kFormSteps = {
    FormStep{StepKind::block_tile, true, take_tiles, tiles_to_try},
    FormStep{StepKind::grid, true, take_grid, grids_to_try},
    FormStep{StepKind::thread_vectors, true, take_thread_vectors, thread_vectors_to_try},
    FormStep{StepKind::row_vectors, false, take_row_vectors, row_vectors_to_try},
    FormStep{StepKind::threads, true, take_threads, threads_to_try},
};

Refusal taken(StageForm& form, const Step& step, std::string& effect) {
  const auto row = std::ranges::find(kFormSteps, step.kind, &FormStep::kind);
  const bool is_known = row != kFormSteps.end();
  if (!is_known || row->is_first)
    if (auto why = why_has_workers(form)) return why;
  return is_known ? row->take(form, step, effect) : "it must come before the steps of a GPU";
}

}  // namespace

std::span<const FormStep> form_steps() { return kFormSteps; }

Refusal take(StageForm& form, const Step& step) {
  StageForm next = form;
  std::string effect;
  if (auto why = taken(next, step, effect)) return why;
  next.version.steps.push_back({step, std::move(effect)});
  form = std::move(next);
  return std::nullopt;
}

}  // namespace mote::cuda
