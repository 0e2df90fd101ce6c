// SPDX-License-Identifier: Apache-2.0
// One step of a schedule: moves a loop inside the loops that it holds. `for c { for n with s { s +=
// f(n, c) } y[c] = s }` becomes a loop over tiles of c, in which each statement has a loop over c
// of its own, inside n, and s is an array with an element for each c of the tile; so is a scalar
// that is local to an iteration of c. The order of each sum stays.
#include <fmt/format.h>

#include "ir/dependence.h"
#include "schedule/iterations.h"
#include "schedule/take.h"
#include "schedule/tile.h"

namespace mote {

Refusal move_inward(LoopProgram& p, const Path& path, std::int64_t tile, std::string& effect) {
  const Stmt& s = at(p, path);
  const Loop moving = *as_loop(s);
  if (moving.step != Expr(1)) return "its step is not 1";
  if (auto why = why_not_serial(s)) return why;
  const auto own = independent_iterations(p, s);
  if (!own || !moving.accumulators.empty() || !outer_folds(moving).empty()) return kDependent;
  const std::vector<TensorDecl> before = p.tensors;
  try {
    std::set<std::string> used;
    const Symbol start = Tiler::fresh_variable(p, moving.variable.name() + "_tile", used);
    Tiler tiler(p, moving.body,
                {{moving.variable, moving.begin, moving.end, tile, start, Expr(start)}}, *own);
    Body body = tiler.distributed();
    effect = tiler.arrays();
    at(p, path) = {Loop{start, moving.begin, moving.end, Expr(tile), {}, std::move(body)}};
    return std::nullopt;
  } catch (const CannotTile& e) {
    p.tensors = before;
    return e.why;
  }
}

}  // namespace mote
