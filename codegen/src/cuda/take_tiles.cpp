// SPDX-License-Identifier: Apache-2.0
#include "take_tiles.h"

#include <fmt/format.h>

#include <utility>

#include "block_tiles.h"
#include "ir/dependence.h"
#include "pipelined_tiles.h"
#include "schedule/iterations.h"

namespace mote::cuda {
namespace {

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

}  // namespace

Refusal take_tiles(StageForm& form, const Step& step, std::string& effect) {
  const std::int64_t side = step.targets.front().amount;
  if (side != kCudaTile && side != kCudaPipelinedTile)
    return fmt::format("expected {} or {} rows, got {}", kCudaTile, kCudaPipelinedTile, side);
  auto tiles = tile_form(form.loops(), form.stage.body, form.variant == CudaVariant::tf32);
  if (!tiles)
    return "its loops are not those of a tile: a sum of products, each of a row with a column, in "
           "loops over all rows and columns";
  if (side == kCudaPipelinedTile) {
    if (std::string why = why_not_pipelined(form.loops(), *tiles); !why.empty()) return why;
    tiles = pipelined_form(*tiles);
  }
  LoopProgram blocks = tile_blocks(form.loops(), *tiles);
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
  form.version.name = tiles->is_pipelined ? "pipelined_tiles" : "tiles";
  form.version.program = std::move(blocks);
  return std::nullopt;
}

Schedules tiles_to_try(const StageSearch& search) {
  const auto shared = step_of_shared(StepKind::block_tile, search.start.stage);
  if (!search.loops().native || search.is_part || !shared) return {};
  Schedules all;
  for (const int side : {kCudaPipelinedTile, kCudaTile})
    all.push_back({{StepKind::block_tile, {{shared->targets.front().name, side}}}});
  return all;
}

}  // namespace mote::cuda
