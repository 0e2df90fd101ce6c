// SPDX-License-Identifier: Apache-2.0
#include "schedule/interchange.h"

#include <fmt/format.h>

#include "ir/dependence.h"
#include "schedule/iterations.h"
#include "schedule/tile.h"

namespace mote {

std::optional<Stmt> moved_inward(LoopProgram& p, const Stmt& loop, std::int64_t tile,
                                 std::string& step) {
  const auto own = independent_iterations(p, loop);
  const Loop moving = *as_loop(loop);
  if (!own || moving.step != Expr(1) || !moving.accumulators.empty() ||
      !outer_folds(moving).empty())
    return std::nullopt;
  const std::vector<TensorDecl> before = p.tensors;
  try {
    std::set<std::string> used;
    const Symbol start = Tiler::fresh_variable(p, moving.variable.name() + "_tile", used);
    Tiler tiler(p, moving.body,
                {{moving.variable, moving.begin, moving.end, tile, start, Expr(start)}}, *own);
    Body body = tiler.distributed();
    step = fmt::format("move {} inward, by tiles of {}", moving.variable.name(), tile);
    if (!tiler.arrays().empty()) step += ": " + tiler.arrays();
    return Stmt{Loop{start, moving.begin, moving.end, Expr(tile), {}, std::move(body)}};
  } catch (const CannotTile&) {
    p.tensors = before;
    return std::nullopt;
  }
}

}  // namespace mote
