// SPDX-License-Identifier: Apache-2.0
// In: a stage and a step; out: its loops after it, and who takes an iteration. Each step is a pass
// in a file of its own; what it demands of a call is collected here.
#include "stage_form.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "block_tiles.h"
#include "ir/dependence.h"
#include "pipelined_tiles.h"
#include "row_vectors.h"
#include "rows.h"
#include "schedule/iterations.h"
#include "share_rows.h"
#include "tiles.h"
#include "vector_access.h"

namespace mote::cuda {
namespace {

/// Returns the loops that the workers of a stage with that body share, outermost first.
std::vector<const Loop*> shared_by_workers(const Body& body) {
  const std::vector<const Loop*> first = first_of_threads(body);
  return first.empty() ? std::vector<const Loop*>() : threads_chain(*first.front());
}

Loop* first_of_shared(Body& body) {
  for (Stmt& s : body) {
    Loop* loop = as_loop(s);
    if (loop != nullptr && loop->kind == LoopKind::threads) return loop;
    Body* nested = nested_body(s);
    if (Loop* found = nested != nullptr ? first_of_shared(*nested) : nullptr) return found;
  }
  return nullptr;
}

/// Returns a refusal if iterations have memory of their own: only single threads can have some.
Refusal why_own_memory(const StageForm& form) {
  for (const Access& a : accesses(form.version.program.body)) {
    const TensorDecl* t = find_tensor(form.version.program, a.tensor);
    if (t != nullptr && t->per)
      return fmt::format("each iteration of {} has {} for itself", t->per->name(), t->name);
  }
  return std::nullopt;
}

/// Leaves the first `count` of the shared loops to the workers, and the others to each iteration.
void share_first(StageForm& form, std::size_t count) {
  const std::vector<const Loop*> chain = shared_by_workers(form.stage.body);
  if (count == chain.size()) return;
  Expr iterations = 1;
  for (std::size_t k = 0; k < count; ++k)
    iterations = iterations * max(0, ceil_div(chain[k]->end - chain[k]->begin, chain[k]->step));
  Loop& first = *first_of_shared(form.stage.body);
  mark_threads(first, count);
  first.work = form.iterations = form.stage.iterations = iterations;
  form.version.program.body = form.stage.body;
  form.stage.rows = std::nullopt;
}

/// Returns why the workers of the stage do not share `loop` as the k-th of its loops: the
/// dependence that forbids it, or the loop that is expected.
std::string why_not_shared(const StageForm& form, std::size_t k, const std::string& loop) {
  const std::vector<const Loop*> chain = shared_by_workers(form.stage.body);
  const auto is_it = [&](const Loop* l) { return l->variable.name() == loop; };
  std::string why;
  for_each(form.version.program.body, [&](const Stmt& s) {
    const Loop* found = as_loop(s);
    if (found != nullptr && (chain.empty() || is_it(found)) && why.empty())
      why = why_dependent(form.version.program, s);
  });
  if (!why.empty() && std::ranges::none_of(chain, is_it)) return why;
  if (k < chain.size())
    return fmt::format("expected {} in the place of {}", chain[k]->variable.name(), loop);
  return fmt::format(
      "{} is not the only statement of a loop that is shared, with limits that do not change",
      loop);
}

/// Shares the loops that the step names, which must be the stage's from the first on.
Refusal share(StageForm& form, const Step& step) {
  const std::vector<const Loop*> chain = shared_by_workers(form.stage.body);
  for (std::size_t k = 0; k < step.targets.size(); ++k)
    if (k >= chain.size() || chain[k]->variable.name() != step.targets[k].name)
      return why_not_shared(form, k, step.targets[k].name);
  share_first(form, step.targets.size());
  return std::nullopt;
}

Refusal give_rows_to_blocks(StageForm& form, const Step& step) {
  if (auto why = share(form, step)) return why;
  if (auto why = why_own_memory(form)) return why;
  const Loop& iteration = *shared_by_workers(form.version.program.body).back();
  const bool reduces = form.stage.rows.has_value();
  auto strides =
      reduces ? form.stage.rows : strides_of_rows(form.version.program, iteration, false);
  if (!strides) return why_no_rows(form.version.program, iteration);
  form.worker =
      CudaPerBlock{longest_row(form.stage.body), accumulators_declared(iteration.body).empty()};
  form.version.program = share_rows(form.version.program, *strides);
  return std::nullopt;
}

void add_vector(std::string& effect, int elements, const std::string& tensor) {
  effect += fmt::format("{}{} elements of {}", effect.empty() ? "" : ", ", elements, tensor);
}

Refusal move_rows_by_vectors(StageForm& form, std::string& effect) {
  auto* rows = std::get_if<CudaPerBlock>(&form.worker);
  if (rows == nullptr) return "it must stand behind a step 'grid'";
  if (!rows->vectors.empty()) return "blocks move 16 bytes at a time already";
  auto vectors = vectorise_rows(form.version.program);
  if (!vectors) return "no loop of a block goes over adjacent elements alone, at its own index";
  rows->vectors = std::move(vectors->rows);
  for (const VectorRow& row : rows->vectors) add_vector(effect, row.elements, row.tensor);
  form.version.program = std::move(vectors->program);
  return std::nullopt;
}

Refusal move_by_vectors(StageForm& form, std::string& effect) {
  auto vectors = vectorise_elements(form.version.program, form.stage.body);
  if (!vectors)
    return "an iteration must store elements at its own index, in the order of the loops from 0 on "
           "by 1, computed from others there and from scalars";
  form.worker = CudaPerVector{vectors->vector_tensors(), vectors->extents};
  for (const std::string& tensor : vectors->vector_tensors())
    add_vector(effect, vectors->elements, tensor);
  form.iterations = ceil_div(vectors->iterations(), vectors->elements);
  form.version.program = std::move(vectors->program);
  return std::nullopt;
}

std::string variables(const std::vector<LoopDigit>& axes) {
  std::string out;
  for (const LoopDigit& a : axes) out += (out.empty() ? "" : " ") + a.variable.name();
  return out;
}

/// Returns why blocks and threads may not take their parts of tiles at the same time; empty if they
/// may. The stage's own iterations may be known to be independent where those of tiles are not.
std::string why_not_in_tiles(const LoopProgram& p) {
  std::string why;
  for_each(p.body, [&](const Stmt& s) {
    const Loop* l = as_loop(s);
    if (why.empty() && l != nullptr && (l->kind == LoopKind::grid || is_within_block(l->kind)) &&
        !independent_iterations(p, s))
      why = why_dependent(p, s);
  });
  return why;
}

Refusal take_tiles(StageForm& form, std::int64_t side, CudaVariant variant, std::string& effect) {
  if (side != kCudaTile && side != kCudaPipelinedTile)
    return fmt::format("expected {} or {} rows, got {}", kCudaTile, kCudaPipelinedTile, side);
  auto tiles = tile_form(form.version.program, form.stage.body, variant == CudaVariant::tf32);
  if (!tiles)
    return "its loops are not those of a tile: a sum of products, each of a row with a column, in "
           "loops over all rows and columns";
  if (side == kCudaPipelinedTile) {
    if (std::string why = why_not_pipelined(form.version.program, *tiles); !why.empty()) return why;
    tiles = pipelined_form(*tiles);
  }
  LoopProgram blocks = tile_blocks(form.version.program, *tiles);
  if (std::string why = why_not_in_tiles(blocks); !why.empty()) return why;
  form.worker = CudaPerTile{
      .rows = extent(tiles->rows),
      .columns = extent(tiles->columns),
      .side = tiles->side(),
      .operands = tiles->is_pipelined ? vector_operands(*tiles) : std::vector<VectorOperand>{},
      .rounds_to_tf32 = tiles->fragments == DType::f32};
  effect = fmt::format("rows {}, columns {}", variables(tiles->rows), variables(tiles->columns));
  form.iterations = extent(tiles->batch) * ceil_div(extent(tiles->rows), tiles->side()) *
                    ceil_div(extent(tiles->columns), tiles->side());
  form.version.program = std::move(blocks);
  return std::nullopt;
}

Refusal taken(StageForm& form, const Step& step, CudaVariant variant, std::string& effect) {
  if (step.kind == StepKind::row_vectors) return move_rows_by_vectors(form, effect);
  if (auto why = why_has_workers(form)) return why;
  switch (step.kind) {
    case StepKind::threads:
      return share(form, step);
    case StepKind::grid:
      return give_rows_to_blocks(form, step);
    case StepKind::thread_vectors:
      return move_by_vectors(form, effect);
    case StepKind::block_tile:
      return take_tiles(form, step.targets.front().amount, variant, effect);
    default:
      return "it must come before the steps of a GPU";
  }
}

}  // namespace

Refusal why_has_workers(const StageForm& form) {
  if (form.version.steps.size() == form.steps_before) return std::nullopt;
  return fmt::format("step '{}' was taken before it", to_string(form.version.steps.back().step));
}

StageForm start_of(const LoopProgram& all, const Stage& stage, std::vector<TakenStep> before) {
  const std::size_t steps = before.size();
  StageForm form{{"", std::move(before), all}, stage, CudaPerThread(), stage.iterations, steps};
  form.version.program.body = stage.body;
  if (stage.in_order) form.worker = CudaInOrder();
  return form;
}

Refusal take(StageForm& form, const Step& step, CudaVariant variant) {
  StageForm next = form;
  std::string effect;
  if (auto why = taken(next, step, variant, effect)) return why;
  next.version.steps.push_back({step, std::move(effect)});
  form = std::move(next);
  return std::nullopt;
}

std::optional<Step> step_of_shared(StepKind kind, const Stage& stage, std::size_t left) {
  const std::vector<const Loop*> chain = shared_by_workers(stage.body);
  if (chain.size() <= left) return std::nullopt;
  Step step{kind, {}};
  for (std::size_t k = 0; k + left < chain.size(); ++k)
    step.targets.push_back({chain[k]->variable.name()});
  return step;
}

}  // namespace mote::cuda
