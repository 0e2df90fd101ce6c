// SPDX-License-Identifier: Apache-2.0
// Finds the nests and their axes, and puts the loops over tiles around what NestTiler makes of the
// body.
#include "schedule/tiles/register_tile.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "ir/dependence.h"
#include "mote/codegen/passes.h"
#include "mote/codegen/walk.h"
#include "schedule/iterations.h"
#include "schedule/paths.h"
#include "schedule/tiles/nest_tiler.h"
#include "schedule/tiles/operands.h"
#include "schedule/tiles/pairs.h"
#include "schedule/tiles/row_tile.h"
#include "schedule/unit_strides.h"

namespace mote {
namespace {

/// The loops of a nest that are tiled.
struct Axes {
  Symbol vector, rows;
};

struct AxesOfTile {
  Axes axes;
  VectorAxis which;
  const ScheduleOptions& options;
};

/// Returns the names and scalars that an iteration of the chain gives values to.
std::set<std::string> own_names(const SharedLoops& chain) {
  std::set<std::string> own = chain.own;
  for_each(chain.loops.back()->body, [&](const Stmt& s) {
    if (const auto* let = std::get_if<Let>(&s.kind)) own.insert(let->name);
    if (const Loop* loop = as_loop(s))
      for (const Accumulator& a : loop->accumulators) own.insert(a.name);
  });
  return own;
}

/// Returns true if an index of the operands adds the variable to one of the reduction.
bool is_mixed(const SharedOperands& shared, const ReductionNest& nest, Symbol variable) {
  bool mixed = false;
  for (const SharedOperand& o : shared.operands)
    for_each_value(o.value, [&](const Value& v) {
      const auto* load = std::get_if<value::Load>(&v->kind);
      if (load == nullptr) return;
      for (const Expr& e : load->index)
        mixed = mixed ||
                (e.mentions(variable) && std::ranges::any_of(nest.loops, [&](const LoopRange& l) {
                   return e.mentions(l.variable);
                 }));
    });
  return mixed;
}

class NestFinder {
 public:
  NestFinder(const LoopProgram& p, const SharedLoops& chain, bool may_multiply_padding)
      : p_(p), chain_(chain), own_(own_names(chain)), may_multiply_padding_(may_multiply_padding) {
    const Facts facts = facts_in(p, chain);
    for (const Stmt& s : chain.loops.back()->body)
      if (const Loop* loop = as_loop(s))
        if (auto nest = reduction_nest(*loop, facts))
          reductions_.emplace(loop->variable, *std::move(nest));
  }

  /// Returns the axes for the first reduction that can be tiled.
  std::optional<Axes> axes(VectorAxis which) const {
    const auto& loops = chain_.loops;
    for (auto v = loops.rbegin(); v != loops.rend(); ++v) {
      for (auto m = loops.rbegin(); m != loops.rend(); ++m) {
        if (m == v) continue;
        const Axes axes{(*v)->variable, (*m)->variable};
        for (const auto& [variable, nest] : reductions_) {
          const auto tiled = reduction(nest, axes);
          if (!tiled) continue;
          const bool mixed = is_mixed(tiled->shared, nest, axes.vector);
          if (which == VectorAxis::innermost) return mixed ? std::optional(axes) : std::nullopt;
          if (!mixed) return axes;
        }
      }
      if (which == VectorAxis::innermost) return std::nullopt;
    }
    return std::nullopt;
  }

  /// Returns why these axes cannot be tiled.
  Refusal why_not(const Axes& axes, VectorAxis which) const {
    bool any = false;
    for (const auto& [variable, nest] : reductions_) {
      const auto tiled = reduction(nest, axes);
      if (!tiled) continue;
      const bool mixed = is_mixed(tiled->shared, nest, axes.vector);
      if (mixed == (which == VectorAxis::innermost)) return std::nullopt;
      any = true;
    }
    const std::string& v = axes.vector.name();
    if (any)
      return which == VectorAxis::innermost
                 ? fmt::format("no index adds {} to a variable of a sum: take a tile", v)
                 : fmt::format("{} slides along a window: take a tile_window", v);
    return fmt::format(
        "no sum in the nest has terms of factors that depend on {} or on {} alone, all of which "
        "exist{}",
        axes.rows.name(), v,
        may_multiply_padding_ ? "" : " (terms outside must not be multiplied)");
  }

  /// Returns the reductions that can be tiled along these axes, by their outermost variables.
  std::map<Symbol, TiledReduction> reductions(const Axes& axes) const {
    std::map<Symbol, TiledReduction> found;
    for (const auto& [variable, nest] : reductions_)
      if (auto tiled = reduction(nest, axes)) found.emplace(variable, *std::move(tiled));
    return found;
  }

 private:
  std::optional<TiledReduction> reduction(const ReductionNest& nest, const Axes& axes) const {
    auto shared = shared_operands(nest, axes.vector, axes.rows, own_);
    if (!shared) return std::nullopt;
    const bool is_real_sum = std::ranges::all_of(
        nest.folds, [](const Fold& fold) { return is_real(fold.value->dtype); });
    if (!shared->vector_conditions.empty() && is_real_sum && !may_multiply_padding_)
      return std::nullopt;
    TiledReduction r{nest, *std::move(shared)};
    if (!reads_only_counted_elements(p_, chain_, r)) return std::nullopt;
    if (is_real_sum) return r;
    return is_mixed(r.shared, nest, axes.vector) ? std::nullopt : in_pairs(p_, std::move(r));
  }

  const LoopProgram& p_;
  const SharedLoops& chain_;
  std::set<std::string> own_;
  bool may_multiply_padding_;
  std::map<Symbol, ReductionNest> reductions_;
};

const Loop& loop_of(const SharedLoops& chain, Symbol variable) {
  return **std::ranges::find(chain.loops, variable, &Loop::variable);
}

/// Returns the stride that lets a store to an output along the variable be one of adjacent
/// elements.
std::optional<KnownStride> stored_adjacent(const LoopProgram& p, const Stmt& s, Symbol variable) {
  std::optional<KnownStride> found;
  const Body body = {s};
  for_each(body, [&](const Stmt& inner) {
    const auto* store = std::get_if<Store>(&inner.kind);
    if (store == nullptr || find_tensor(p, store->tensor)->role != TensorRole::output) return;
    for (std::size_t axis = 0; axis < store->index.size(); ++axis)
      if (!found && store->index[axis] == Expr(variable))
        found = KnownStride{store->tensor, static_cast<int>(axis), 1};
  });
  return found;
}

/// Returns the loops of the nest as the step names them; nullopt if one is missing.
std::optional<Axes> named_axes(const SharedLoops& chain, const Step& step) {
  std::optional<Symbol> vector, rows;
  for (const Loop* loop : chain.loops) {
    if (loop->variable.name() == step.targets[0].name) rows = loop->variable;
    if (loop->variable.name() == step.targets[1].name) vector = loop->variable;
  }
  return vector && rows && *vector != *rows ? std::optional(Axes{*vector, *rows}) : std::nullopt;
}

/// Returns the bytes of the vectors that a tile of that width consists of: those of the program's,
/// else of the widest that fit.
int vector_bytes_for(const LoopProgram& p, const std::map<Symbol, TiledReduction>& reductions,
                     std::int64_t width) {
  const auto fits = [&](int bytes) {
    const std::int64_t lanes = lanes_of(reductions, bytes);
    return lanes > 0 && width % lanes == 0;
  };
  for (const int bytes : {64, 32, 16, 8})
    if ((p.vector_bytes == 0 || p.vector_bytes == bytes) && fits(bytes)) return bytes;
  throw CannotTile{
      fmt::format("{} columns are no whole vectors{}", width,
                  p.vector_bytes == 0 ? "" : fmt::format(" of {} bytes", p.vector_bytes))};
}

/// A tile of the narrowest vectors, of this number of bytes, may have fewer columns than it is
/// wide.
constexpr int kNarrowestBytes = 16;

/// The sums of a tile fill registers, and the text has a statement for each vector.
constexpr std::int64_t kMaxVectors = 64;

/// Tiles the nest at the path; returns what the step did, or throws CannotTile.
std::string tile_nest(LoopProgram& p, const Path& path, const SharedLoops& chain,
                      const std::map<Symbol, TiledReduction>& reductions, const AxesOfTile& of,
                      TileAmounts amounts) {
  const auto& [axes, which, options] = of;
  const int bytes = vector_bytes_for(p, reductions, amounts.width);
  if (amounts.height * (amounts.width / lanes_of(reductions, bytes)) > kMaxVectors)
    throw CannotTile{fmt::format("a tile of {} times {} has more than {} vectors", amounts.height,
                                 amounts.width, kMaxVectors)};
  std::optional<KnownStride> adjacent;
  if (which == VectorAxis::innermost) {
    adjacent = stored_adjacent(p, at(p, path), axes.vector);
    if (!adjacent || !are_compatible(p.strides, {*adjacent}))
      throw CannotTile{fmt::format("no output can be adjacent along {}", axes.vector.name())};
  }
  NestTiler tiler(p, chain, reductions,
                  {.vector = loop_of(chain, axes.vector),
                   .rows = loop_of(chain, axes.rows),
                   .height = amounts.height,
                   .width = amounts.width,
                   .may_be_narrow = bytes == kNarrowestBytes,
                   .slides = which == VectorAxis::innermost,
                   .skips_terms = !options.may_multiply_padding,
                   .block = options.block,
                   .tiles = options.tiles});
  Body nest = tiler.run();
  const Conditions demands = tiler.demands();
  replace(p, path, std::move(nest));
  add_missing(p.demands, demands);
  if (adjacent) add_missing(p.strides, {*adjacent});
  p.multiplies_padding = p.multiplies_padding || tiler.multiplies_padding();
  p.vector_bytes = bytes;
  std::string effect = tiler.effect();
  p = tighten(std::move(p));
  return effect;
}

/// Calls `make`; restores the tensors of p if it throws CannotTile, and returns why.
template <typename F>
Refusal or_restored(LoopProgram& p, const F& make) {
  const std::vector<TensorDecl> before = p.tensors;
  try {
    make();
    return std::nullopt;
  } catch (const CannotTile& e) {
    p.tensors = before;
    return e.why;
  }
}

/// Finds the axes of the nest at the path, and tiles it.
std::optional<TakenStep> tile_found(LoopProgram& p, const Path& path, const RegisterShape& shape,
                                    VectorAxis which, const ScheduleOptions& options) {
  const auto chain = shared_loops(p, at(p, path));
  if (!chain) return std::nullopt;
  const NestFinder finder(p, *chain, options.may_multiply_padding);
  const auto axes = finder.axes(which);
  if (!axes) return std::nullopt;
  const auto reductions = finder.reductions(*axes);
  TakenStep taken;
  const Refusal why = or_restored(p, [&] {
    const TileAmounts amounts = amounts_of(reductions, shape);
    taken.step = {which == VectorAxis::innermost ? StepKind::tile_window : StepKind::tile,
                  {{axes->rows.name(), amounts.height}, {axes->vector.name(), amounts.width}}};
    taken.effect = tile_nest(p, path, *chain, reductions, {*axes, which, options}, amounts);
  });
  return why ? std::nullopt : std::optional(std::move(taken));
}

/// Tiles the rows of the chain's loop number `rows`; `first` is the path of its first loop.
std::string tile_rows(LoopProgram& p, const Path& first, const SharedLoops& chain, std::size_t rows,
                      const RowTileAmounts& amounts) {
  std::vector<const Loop*> around;
  for (std::size_t depth = 1; depth < first.size(); ++depth)
    if (const Loop* l =
            as_loop(at(std::as_const(p),
                       Path(first.begin(), first.begin() + static_cast<std::ptrdiff_t>(depth)))))
      around.push_back(l);
  if (auto why = why_not_serial_around(p, first)) throw CannotTile{*why};
  const auto end = chain.loops.begin() + static_cast<std::ptrdiff_t>(rows);
  around.insert(around.end(), chain.loops.begin(), end);
  const Loop& loop = *chain.loops[rows];
  const Path path = *find_loop(p, loop.variable.name());
  if (amounts.height * amounts.vectors > kMaxVectors)
    throw CannotTile{
        fmt::format("a tile of {} rows has more than {} vectors", amounts.height, kMaxVectors)};
  auto tile = tiled_rows(p, loop, around, chain.own, amounts);
  if (!tile)
    throw CannotTile{
        fmt::format("no sum in {} has terms of factors that rows share", loop.variable.name())};
  replace(p, path, std::move(tile->body));
  add_missing(p.demands, tile->demands);
  p.is_for_no_larger_vectors = true;  // the text of several widths would be long
  p = tighten(std::move(p));
  return tile->effect;
}

/// Tiles the rows of every loop that holds products, outer loops first; of the loops of a chain,
/// the innermost one that does.
void tile_all_rows(LoopProgram& p, const RegisterShape& shape, std::vector<TakenStep>& steps) {
  std::vector<std::string> loops;
  for (const Path& path : loops_of(p)) loops.push_back(as_loop(at(p, path))->variable.name());
  std::set<std::string> tried;
  for (const std::string& loop : loops) {
    const auto path = find_loop(p, loop);
    if (!path || why_not_serial(at(p, *path))) continue;
    const auto chain = shared_loops(p, at(p, *path));
    if (!chain || !tried.insert(chain->loops.back()->variable.name()).second) continue;
    for (std::size_t rows = chain->loops.size(); rows-- > 0;) {
      TakenStep taken{{StepKind::tile_rows, {{chain->loops[rows]->variable.name(), shape.rows}}},
                      ""};
      const Refusal why = or_restored(p, [&] {
        taken.effect =
            tile_rows(p, *path, *chain, rows, {shape.rows, shape.vectors, shape.vector_bytes});
      });
      if (why) continue;
      steps.push_back(std::move(taken));
      break;
    }
  }
}

}  // namespace

std::vector<TakenStep> tile_in_registers(LoopProgram& p, const RegisterShape& shape,
                                         VectorAxis axis, const ScheduleOptions& options) {
  std::vector<std::string> nests;
  for (const Path& path : outermost_loops(p))
    nests.push_back(as_loop(at(p, path))->variable.name());
  std::vector<TakenStep> steps;
  const int before = std::exchange(p.vector_bytes, shape.vector_bytes);
  for (const std::string& nest : nests)
    if (const auto path = find_loop(p, nest))
      if (auto taken = tile_found(p, *path, shape, axis, options))
        steps.push_back(*std::move(taken));
  if (axis == VectorAxis::separate) tile_all_rows(p, shape, steps);
  if (steps.empty())
    p.vector_bytes = before;
  else
    steps.insert(steps.begin(), {{StepKind::vectors, {{"", shape.vector_bytes}}}, ""});
  return steps;
}

Refusal tile_in_registers(LoopProgram& p, const Step& step, const ScheduleOptions& options,
                          std::string& effect) {
  const auto which =
      step.kind == StepKind::tile_window ? VectorAxis::innermost : VectorAxis::separate;
  const std::string& rows = step.targets[0].name;
  const std::string& vector = step.targets[1].name;
  Refusal why;
  for (const Path& path : outermost_loops(p)) {
    const Stmt& s = at(p, path);
    const Body nest = {s};
    bool holds = false;
    for_each(nest, [&](const Stmt& inner) {
      const Loop* loop = as_loop(inner);
      holds = holds || (loop != nullptr && loop->variable.name() == rows);
    });
    if (!holds) continue;
    if ((why = why_not_serial(s))) return why;
    const auto chain = shared_loops(p, s);
    const auto axes = chain ? named_axes(*chain, step) : std::nullopt;
    if (!chain) return why_dependent(p, s);
    if (!axes)
      return fmt::format("{} and {} are not two loops of one nest whose iterations are independent",
                         rows, vector);
    const NestFinder finder(p, *chain, options.may_multiply_padding);
    if ((why = finder.why_not(*axes, which))) return why;
    return or_restored(p, [&] {
      effect = tile_nest(p, path, *chain, finder.reductions(*axes), {*axes, which, options},
                         {step.targets[0].amount, step.targets[1].amount});
    });
  }
  return fmt::format("{} is no loop of a nest", rows);
}

Refusal tile_rows(LoopProgram& p, const StepTarget& rows, const ScheduleOptions& options,
                  std::string& effect) {
  if (p.vector_bytes == 0) return "the size of vectors is not set: take vectors 32 first";
  const auto shape =
      std::ranges::find(options.shapes, p.vector_bytes, &RegisterShape::vector_bytes);
  const int vectors =
      shape == options.shapes.end() ? options.shapes.front().vectors : shape->vectors;
  for (const Path& path : loops_of(p)) {
    const Stmt& s = at(p, path);
    const auto chain = shared_loops(p, s);
    if (!chain) continue;
    const auto found = std::ranges::find(chain->loops, rows.name,
                                         [](const Loop* l) { return l->variable.name(); });
    if (found == chain->loops.end()) continue;
    if (auto why = why_not_serial(s)) return why;
    const auto k = static_cast<std::size_t>(found - chain->loops.begin());
    return or_restored(p, [&] {
      effect = tile_rows(p, path, *chain, k, {rows.amount, vectors, p.vector_bytes});
    });
  }
  return fmt::format("{} is none of loops whose iterations are independent", rows.name);
}

}  // namespace mote
