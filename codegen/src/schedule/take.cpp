// SPDX-License-Identifier: Apache-2.0
// Finds the loops that a step names, and hands them to the file of the step.
#include "schedule/take.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "ir/dependence.h"
#include "mote/codegen/passes.h"
#include "schedule/blocks.h"
#include "schedule/hoist.h"
#include "schedule/innermost.h"
#include "schedule/iterations.h"
#include "schedule/jam.h"
#include "schedule/keep.h"
#include "schedule/narrow.h"
#include "schedule/once.h"
#include "schedule/partial.h"
#include "schedule/positions.h"
#include "schedule/prefetch.h"
#include "schedule/scan.h"
#include "schedule/scatter.h"
#include "schedule/slide.h"
#include "schedule/tiles/register_tile.h"
#include "schedule/transpose.h"
#include "schedule/unit_strides.h"

namespace mote {
namespace {

Refusal no_loop(const LoopProgram& p, const std::string& name) {
  std::vector<std::string> known;
  for (const Path& path : loops_of(p)) known.push_back(as_loop(at(p, path))->variable.name());
  return fmt::format("there is no loop {} (loops: {})", name, fmt::join(known, ", "));
}

Refusal keep(LoopProgram& p, const std::string& output, std::string& effect) {
  const TensorDecl* t = find_tensor(p, output);
  if (t == nullptr || t->role != TensorRole::output)
    return fmt::format("there is no output {}", output);
  const std::vector<TakenStep> kept = keep_in_outputs(p, &output);
  if (kept.empty())
    return fmt::format("no two loops compute the same costly value, of which {} can keep one",
                       output);
  effect = kept.front().effect;
  return std::nullopt;
}

Refusal scan(LoopProgram& p, const std::string& along, std::string& effect) {
  const std::vector<Scanned> scanned = scan_prefixes(p, &along);
  if (scanned.empty())
    return "in no loop of it are the terms of a sum those before or after its element";
  effect = scanned.front().step.effect;
  return std::nullopt;
}

Refusal take_innermost(LoopProgram& p, const Step& step, const ScheduleOptions& options,
                       std::string& effect) {
  const StepTarget& target = step.targets.front();
  const Path found = *find_loop(p, target.name);
  const Path nest = {found.front()};
  if (as_loop(at(p, nest)) == nullptr) return "its nest is under a condition";
  if (auto why = why_not_serial(at(p, nest))) return why;
  const auto chain = shared_loops(p, at(p, nest));
  if (!chain) return why_dependent(p, at(p, nest));
  const Loop* loop = as_loop(at(p, found));
  if (std::ranges::find(chain->loops, loop) == chain->loops.end())
    return fmt::format(
        "it is none of {} and the loops directly below it, whose iterations are "
        "independent",
        as_loop(at(p, nest))->variable.name());
  const std::vector<TensorDecl> before = p.tensors;
  const bool is_whole = step.kind == StepKind::registers;
  const std::int64_t least = is_whole ? target.amount : options.least_iterations;
  auto taken = taken_innermost(p, *chain, *loop, {target.amount, least, is_whole});
  if (const auto* why = std::get_if<std::string>(&taken)) return *why;
  if (auto why = put_innermost(p, nest, std::get<Innermost>(taken))) {
    p.tensors = before;
    return why;
  }
  effect = std::get<Innermost>(taken).step.effect;
  return std::nullopt;
}

/// Slides the windows of all nests by the stride.
Refusal slide(LoopProgram& p, std::int64_t stride, const ScheduleOptions& options,
              std::string& effect) {
  Body body;
  std::set<std::string> used;
  std::vector<std::string> effects;
  for (const Path& path : outermost_loops(p))
    if (auto why = why_not_serial(at(p, path))) return why;
  for (std::size_t k = 0; k < p.body.size(); ++k) {
    auto taken = slid_inward(p, p.body[k], {kTile, options.least_iterations}, stride, used);
    if (!taken || !are_compatible(p.strides, {taken->adjacent})) {
      body.push_back(p.body[k]);
      continue;
    }
    std::ranges::move(taken->body, std::back_inserter(body));
    add_missing(p.strides, {taken->adjacent});
    add_missing(p.demands, taken->demands);
    effects.push_back(taken->step.effect);
  }
  if (effects.empty()) return fmt::format("no last loop of a nest slides a window by {}", stride);
  p.body = std::move(body);
  p = tighten(std::move(p));
  effect = fmt::format("{}", fmt::join(effects, "; "));
  return std::nullopt;
}

/// Returns a refusal if nothing was done.
Refusal done(const std::vector<std::string>& effects, const char* why_not, std::string& effect) {
  if (effects.empty()) return why_not;
  effect = fmt::format("{}", fmt::join(effects, "; "));
  return std::nullopt;
}

/// The most iterations that a loop takes at a time: the text has a statement for each.
constexpr std::int64_t kMostJammed = 64;

Refusal set_vectors(LoopProgram& p, std::int64_t bytes) {
  if (bytes != 8 && bytes != 16 && bytes != 32 && bytes != 64)
    return fmt::format("expected 8, 16, 32 or 64 bytes, got {}", bytes);
  if (p.vector_bytes != 0) return fmt::format("vectors have {} bytes already", p.vector_bytes);
  p.vector_bytes = static_cast<int>(bytes);
  return std::nullopt;
}

Refusal taken(LoopProgram& p, const Step& step, const ScheduleOptions& options,
              std::string& effect) {
  const std::string& name = step.targets.front().name;
  const std::int64_t amount = step.targets.front().amount;
  const auto loop = [&] { return *find_loop(p, name); };
  switch (step.kind) {
    case StepKind::once:
      return compute_once(p, effect);
    case StepKind::keep:
      return keep(p, name, effect);
    case StepKind::scan:
      return scan(p, name, effect);
    case StepKind::blocks:
      return run_in_blocks(p, loop(), amount, effect);
    case StepKind::vectors:
      return set_vectors(p, amount);
    case StepKind::tile:
    case StepKind::tile_window:
      return tile_in_registers(p, step, options, effect);
    case StepKind::tile_rows:
      return tile_rows(p, step.targets.front(), options, effect);
    case StepKind::slide:
      return slide(p, amount, options, effect);
    case StepKind::scatter:
      return done(scatter_windows(p), "no element sums over the windows that hold it alone",
                  effect);
    case StepKind::positions:
      return done(find_positions(p), "no loop finds the position of a maximum or minimum alone",
                  effect);
    case StepKind::jam:
      if (amount < 2) return fmt::format("expected at least 2 iterations, got {}", amount);
      if (amount > kMostJammed)
        return fmt::format("expected at most {} iterations, got {}", kMostJammed, amount);
      return done(jam_rows(p, amount), "no loop adds to sums in an array of a tile", effect);
    case StepKind::prefetch:
      return prefetch_rows(p, loop(), effect);
    case StepKind::hoist:
      return done(hoist_conditions(p), "no loop copies under a condition on data", effect);
    case StepKind::narrow:
      if (amount > kMaxNarrowPart)
        return fmt::format("expected at most {} iterations, got {}", kMaxNarrowPart, amount);
      return done(narrow_positions(p, amount), "no simd loop looks for a position", effect);
    case StepKind::inward:
      return move_inward(p, loop(), amount, effect);
    case StepKind::partial:
      return add_up_parts(p, loop(), amount, effect);
    case StepKind::outward:
      return move_outward(p, loop(), amount, effect);
    case StepKind::innermost:
    case StepKind::registers:
      return take_innermost(p, step, options, effect);
    case StepKind::transpose:
      return transpose_squares(p, loop(), amount);
    case StepKind::interchange:
      return interchange(p, loop());
    case StepKind::split:
      return split(p, loop(), amount);
    case StepKind::simd:
    case StepKind::simd_if_adjacent:
      return run_in_vectors(p, loop(), step.kind == StepKind::simd, 1, effect);
    case StepKind::simd_apart:
      return run_in_vectors(p, loop(), true, amount, effect);
    case StepKind::threads:
      return share_among_threads(p, loop(), step.targets);
    case StepKind::adjacent:
      return rely_on_adjacent(p, name);
    case StepKind::repeat:
      return repeat(p, name, amount);
    default:
      return "it is unknown";
  }
}

bool names_loops(const Step& step) {
  return step.kind != StepKind::keep && step.kind != StepKind::repeat &&
         !step.targets.front().name.empty();
}

/// Returns true for a step that leaves every loop with its iterations and what they read.
bool keeps_loops(StepKind kind) {
  switch (kind) {
    case StepKind::simd:
    case StepKind::simd_if_adjacent:
    case StepKind::simd_apart:
    case StepKind::threads:
    case StepKind::adjacent:
    case StepKind::repeat:
    case StepKind::hoist:
    case StepKind::narrow:
    case StepKind::prefetch:
      return true;
    default:
      return false;
  }
}

}  // namespace

void remove_loops_that_run_once(LoopProgram& p) {
  const auto holds_arrays = [&](const Loop& loop) {
    return std::ranges::any_of(p.tensors,
                               [&](const TensorDecl& t) { return t.per == loop.variable; });
  };
  // An outermost loop stays where arrays are local to its iteration.
  const auto goes = [&](const Path& path) {
    const Loop& loop = *as_loop(at(p, path));
    return runs_once(loop) && (path.size() > 1 || !holds_arrays(loop));
  };
  if (std::ranges::any_of(loops_of(p), goes)) p = simplify(std::move(p));
}

Refusal take(Version& v, const Step& step, const ScheduleOptions& options) {
  if (is_for_gpu(step.kind)) return "only a GPU's schedule has it (--lang cuda)";
  if (step.kind == StepKind::once && !v.steps.empty()) return "other steps were taken before it";
  if (has_step(v, StepKind::prefetch) && !keeps_loops(step.kind))
    return "the loops fetch rows ahead already: take prefetch after it";
  if (names_loops(step))
    for (const StepTarget& t : step.targets)
      if (!find_loop(v.program, t.name)) return no_loop(v.program, t.name);
  std::string effect;
  if (auto why = taken(v.program, step, options, effect)) return why;
  if (!keeps_loops(step.kind)) remove_loops_that_run_once(v.program);
  v.steps.push_back({step, std::move(effect)});
  return std::nullopt;
}

}  // namespace mote
