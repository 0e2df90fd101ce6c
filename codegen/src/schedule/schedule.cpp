// SPDX-License-Identifier: Apache-2.0
// Defines the schedule, read from top to bottom: the versions, and the steps of each. In: the loops
// of compile(); out: native loops with marks.
#include "mote/codegen/schedule.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <functional>
#include <set>

#include "ir/dependence.h"
#include "ir/transposed.h"
#include "mote/base/error.h"
#include "passes/conditions.h"
#include "schedule/innermost.h"
#include "schedule/iterations.h"
#include "schedule/keep.h"
#include "schedule/narrow.h"
#include "schedule/paths.h"
#include "schedule/scan.h"
#include "schedule/take.h"
#include "schedule/tiles/nest.h"
#include "schedule/tiles/register_tile.h"
#include "schedule/transpose.h"
#include "schedule/unit_strides.h"
#include "schedule/versions.h"

namespace mote {

std::vector<std::string> names_of_loops(const LoopProgram& p, const std::vector<Path>& paths) {
  std::vector<std::string> names;
  for (const Path& path : paths) names.push_back(as_loop(at(p, path))->variable.name());
  return names;
}

namespace {

/// Returns true for a loop that sets the sums of a scatter to 0.
bool sets_sums_to_0(const Version& v, const std::string& name) {
  const Body& body = as_loop(at(v.program, *find_loop(v.program, name)))->body;
  const auto* store = body.size() == 1 ? std::get_if<Store>(&body[0].kind) : nullptr;
  return has_step(v, StepKind::scatter) && store != nullptr &&
         std::holds_alternative<value::Constant>(store->value->kind);
}

}  // namespace

void mark_simd(Version& v, StepKind who, const ScheduleOptions& options, std::int64_t widest) {
  for (const std::string& loop : names_of_loops(v.program, loops_of(v.program))) {
    if (sets_sums_to_0(v, loop)) continue;  // they are no reason for a version of their own
    if (!take(v, {who, {{loop, widest}}}, options) && v.name.empty()) v.name = "simd_" + loop;
  }
}

Version native(const LoopProgram& p) {
  Version v{"", {}, p};
  v.program.native = true;
  return v;
}

namespace {

// ---- versions

/// Runs the loops that set the sums of a scatter to 0 in vectors.
void set_sums_in_vectors(Version& v, const ScheduleOptions& options) {
  if (!has_step(v, StepKind::scatter)) return;
  for (const std::string& loop : names_of_loops(v.program, loops_of(v.program)))
    if (sets_sums_to_0(v, loop)) (void)take(v, {StepKind::simd_if_adjacent, {{loop}}}, options);
}

/// Takes the steps that all versions start with; `scans` gets the variables along which a value is
/// carried.
Version started(Version v, std::vector<Symbol>& scans) {
  std::ranges::move(keep_in_outputs(v.program), std::back_inserter(v.steps));
  for (Scanned& scanned : scan_prefixes(v.program)) {
    v.steps.push_back(std::move(scanned.step));
    scans.push_back(scanned.variable);
  }
  remove_loops_that_run_once(v.program);
  return v;
}

/// Makes the version with rows require rows that are contiguous along the scans. It is then tried
/// before the version with tiles across the rows, which may be one element wide.
void rely_on_rows(Version& rows, const std::vector<Symbol>& scans, const ScheduleOptions& options) {
  for (const Symbol v : scans) (void)take(rows, {StepKind::adjacent, {{v.name()}}}, options);
  if (!rows.program.strides.empty()) rows.name = "scan_" + scans.front().name();
}

/// Adds the version, and those in which one input repeats along the innermost axis.
void add_with_repeats(const Version& v, std::vector<Version>& versions,
                      const ScheduleOptions& options) {
  versions.push_back(v);
  for (const KnownStride& zero : repeatable(v.program, v.program.strides)) {
    Version repeated = v;
    if (take(repeated, {StepKind::repeat, {{zero.tensor, zero.axis}}}, options)) continue;
    repeated.name += "_repeat_" + zero.tensor;
    versions.push_back(std::move(repeated));
  }
}

template <typename T>
bool holds_all(const std::vector<T>& all, const std::vector<T>& some) {
  return std::ranges::all_of(
      some, [&](const T& one) { return std::ranges::find(all, one) != all.end(); });
}

/// Puts a version that relies on all that an earlier one relies on, and on more, before it: each
/// call that could run it would run the earlier one.
void put_demanding_first(std::vector<Version>& versions) {
  const auto includes = [&](const Version& all, const Version& some) {
    return holds_all(all.program.strides, some.program.strides) &&
           holds_all(all.program.demands, some.program.demands) &&
           all.program.vector_bytes >= some.program.vector_bytes;
  };
  for (auto late = versions.begin(); late != versions.end(); ++late) {
    const auto hides = [&](const Version& early) { return includes(*late, early); };
    std::rotate(std::find_if(versions.begin(), late, hides), late, late + 1);
  }
}

/// The least number of iterations of a loop in vectors, and of columns of the narrowest tile, for
/// which a version is fast.
constexpr std::int64_t kLeastInVectors = 8;

/// Returns the number of iterations of the program's loop of that name, if it is a size.
std::optional<Expr> extent_of(const LoopProgram& p, const std::string& name) {
  const std::optional<Path> path = find_loop(p, name);
  if (!path) return std::nullopt;
  const Loop& loop = *as_loop(at(p, *path));
  const Expr extent = loop.end - loop.begin;
  const bool changes = std::ranges::any_of(
      extent.symbols(), [](const Symbol& s) { return s.kind() == SymbolKind::loop; });
  return changes || extent.has_load() ? std::nullopt : std::optional(extent);
}

/// Adds the condition that the extent is not less, unless the version demands it.
void add_least(Conditions& conditions, const Version& v, const Expr& extent, std::int64_t least) {
  if (const auto count = extent.constant(); count && *count >= least) return;
  const Condition condition{Condition::Kind::nonneg, extent - least};
  if (std::ranges::find(v.program.demands, condition) == v.program.demands.end() &&
      std::ranges::find(conditions, condition) == conditions.end())
    conditions.push_back(condition);
}

void prefer_least(Version& v, const Expr& extent, std::int64_t least) {
  add_least(v.preferences, v, extent, least);
}

/// Makes a version of tiles be tried first only where these have all of their columns.
void prefer_whole_tiles(Version& v, const LoopProgram& before) {
  for (const TakenStep& taken : v.steps) {
    if (taken.step.kind != StepKind::tile && taken.step.kind != StepKind::tile_window) continue;
    const StepTarget& columns = taken.step.targets[1];
    if (const auto extent = extent_of(before, columns.name))
      prefer_least(v, *extent, columns.amount);
  }
}

/// Makes a version whose reductions are innermost, in vectors, be tried before narrow tiles only
/// where these reductions are not short.
void prefer_long_reductions(Version& v) {
  if (has_step(v, StepKind::inward)) return;
  for (const TakenStep& taken : v.steps) {
    if (taken.step.kind != StepKind::simd) continue;
    if (const auto extent = extent_of(v.program, taken.step.targets[0].name))
      prefer_least(v, *extent, kLeastInVectors);
  }
}

/// The least number of terms of a sum for which a tile is faster though its results lie apart,
/// along the channels of an image in NCHW, so that they are stored one by one or by squares.
constexpr std::int64_t kLeastTerms = 32;

/// The same next to a tile along the lines of the image, if the squares have two sizes. Measured
/// with vectors of 32 bytes: 64 terms took 1.12 times as long as with that tile, 72 and 96 as long,
/// 128 and more took less.
constexpr std::int64_t kLeastTermsOfTwoSizes = 96;

/// Returns true if the rows of a tile are no single square.
bool has_squares_of_two_sizes(const LoopProgram& p) {
  return has_ordered_panel(p) && std::ranges::any_of(p.tensors, [](const TensorDecl& t) {
           const auto rows = t.memory == TensorMemory::registers ? t.shape.front().constant()
                                                                 : std::optional<std::int64_t>();
           return rows && !std::has_single_bit(static_cast<std::uint64_t>(*rows));
         });
}

/// Makes a version whose results lie apart be tried first for sums of many terms, and behind the
/// version along the lines for those of fewer, whose tiles are wider than those of all others.
void prefer_terms(Version& v, const Expr& terms) {
  if (!has_squares_of_two_sizes(v.program)) {
    prefer_least(v, terms, kLeastTerms);
    return;
  }
  prefer_least(v, terms, kLeastTermsOfTwoSizes);
  add_least(v.preferences_behind_next.emplace(), v, terms, kLeastTerms);
}

/// Returns the number of terms of the first sum, if sizes alone tell it.
std::optional<Expr> count_terms(const LoopProgram& p) {
  for (const Path& path : loops_of(p)) {
    const auto nest = reduction_nest(*as_loop(at(p, path)), base_facts(*p.source));
    if (!nest) continue;
    Expr terms = 1;
    for (const LoopRange& l : nest->loops) terms = terms * (l.end - l.begin);
    return mentions_loop(terms) ? std::nullopt : std::optional(terms);
  }
  return std::nullopt;
}

/// Returns the versions whose nests are tiled in registers, for each processor and axis, the widest
/// vectors first. Of two axes for the vectors, the innermost one of the results comes first for
/// each size; the other one, where results lie apart, is tried ahead of smaller vectors only for
/// sums of several terms. For these it comes first if its panel has the order of its input.
std::vector<Version> tiled(const Version& start, const ScheduleOptions& options) {
  std::vector<Version> found;
  bool may_slide = false;
  for (const RegisterShape& shape : options.shapes) {
    for (const VectorAxis axis : {VectorAxis::innermost, VectorAxis::separate}) {
      Version v = start;
      const auto steps = tile_in_registers(v.program, shape, axis, options);
      if (steps.empty()) continue;
      remove_loops_that_run_once(v.program);
      may_slide = may_slide || axis == VectorAxis::innermost;
      if (may_slide && axis == VectorAxis::separate)
        if (const auto terms = count_terms(start.program)) prefer_terms(v, *terms);
      v.name = fmt::format("tile_{}{}", shape.vector_bytes,
                           axis == VectorAxis::innermost ? "_innermost" : "");
      v.steps.insert(v.steps.end(), steps.begin(), steps.end());
      mark_simd(v, StepKind::simd_if_adjacent, options);
      share_outermost(v, options);
      // Such a version copies lines in either order, and stores results of f32 and f64 by squares.
      const bool is_first = has_ordered_panel(v.program) && !found.empty() &&
                            found.back().program.vector_bytes == v.program.vector_bytes;
      found.insert(is_first ? found.end() - 1 : found.end(), std::move(v));
    }
  }
  return found;
}

/// The iterations that fill arrays which the next loops read: what they fill stays in the cache.
constexpr std::int64_t kBlock = 256;

/// Returns true if threads can share a loop around the blocks of the loop.
bool can_share_around_blocks(const LoopProgram& p, const std::string& loop) {
  const Stmt& outermost = at(p, {find_loop(p, loop)->front()});
  return as_loop(outermost)->step == Expr(1) && shared_loops(p, outermost).has_value();
}

/// Returns the names of the temporaries with several extents that only sizes bound.
std::vector<std::string> large_arrays(const LoopProgram& p) {
  std::vector<std::string> names;
  for (const TensorDecl& t : p.tensors) {
    const auto is_open = [](const Expr& extent) { return !extent.constant(); };
    if (t.role == TensorRole::temporary && std::ranges::count_if(t.shape, is_open) > 1)
      names.push_back(t.name);
  }
  return names;
}

/// Takes the step `blocks` on a loop that fills all large arrays. Blocks run in order: threads must
/// have a loop around them to share.
bool take_blocks(Version& v, const ScheduleOptions& options) {
  const std::vector<std::string> large = large_arrays(v.program);
  for (const std::string& loop : names_of_loops(v.program, loops_of(v.program))) {
    Version blocks = v;
    if (take(blocks, {StepKind::blocks, {{loop, kBlock}}}, options) ||
        !can_share_around_blocks(blocks.program, loop))
      continue;
    const std::vector<std::string> still_large = large_arrays(blocks.program);
    const auto is_left = [&](const std::string& name) {
      return std::ranges::find(still_large, name) != still_large.end();
    };
    if (std::ranges::any_of(large, is_left)) continue;
    v = std::move(blocks);
    return true;
  }
  return false;
}

/// Returns the tiled versions that compute once what the others compute twice, a block at a time.
std::vector<Version> tiled_in_blocks(const LoopProgram& p, const ScheduleOptions& options) {
  Version once = native(p);
  if (take(once, {StepKind::once, {{""}}}, options)) return {};
  std::vector<Symbol> scans;
  once = started(std::move(once), scans);
  if (!take_blocks(once, options)) return {};
  std::vector<Version> found = tiled(once, options);
  for (Version& v : found) v.name += "_once";
  return found;
}

/// Returns the versions in which windows slide over rows, for each stride. A program of several
/// nests has none: each version would hold all of them.
std::vector<Version> slid(const Version& start, const ScheduleOptions& options) {
  std::vector<Version> found;
  if (start.program.body.size() != 1) return found;
  for (const std::int64_t stride : {1, 2}) {
    Version v = start;
    if (take(v, {StepKind::slide, {{"", stride}}}, options)) continue;
    v.name = fmt::format("slide_by_{}", stride);
    mark_simd(v, StepKind::simd_apart, options, stride);
    share_outermost(v, options);
    found.push_back(std::move(v));
  }
  return found;
}

/// The iterations of a block of a transposition: the lines that its squares touch stay in the
/// cache.
constexpr std::int64_t kTransposedBlock = 128;

/// Returns the versions that copy by squares transposed in registers, for each processor.
std::vector<Version> transposed(const Version& start, const ScheduleOptions& options) {
  std::vector<Version> found;
  const auto loop = loop_to_transpose(start.program);
  if (!loop) return found;
  std::set<int, std::greater<>> sizes;
  for (const RegisterShape& shape : options.shapes) sizes.insert(shape.vector_bytes);
  std::erase_if(sizes, [&](int bytes) {
    return bytes / loop->element_bytes < 2 || bytes / loop->element_bytes > kMaxTransposedLanes;
  });
  for (const int bytes : sizes) {
    Version v = start;
    v.name = fmt::format("transpose_{}", bytes);
    if (take(v, {StepKind::vectors, {{"", bytes}}}, options) ||
        take(v, {StepKind::transpose, {{loop->name, kTransposedBlock}}}, options))
      continue;
    share_outermost(v, options);
    found.push_back(std::move(v));
  }
  return found;
}

/// Returns the versions that rely on strides; `is_tiled`: others have tiles in registers.
std::vector<Version> on_strides(const Version& start, const std::vector<Symbol>& scans,
                                const ScheduleOptions& options, bool is_tiled) {
  std::vector<Version> found;
  Version rows = start;
  mark_simd(rows, StepKind::simd, options);
  if (is_tiled) {
    prefer_long_reductions(rows);
    add_up_other_columns(rows, options);
  }
  share_outermost(rows, options);
  for (const std::string& loop : names_of_loops(rows.program, loops_of(rows.program)))
    (void)take(rows, {StepKind::prefetch, {{loop}}}, options);
  Version columns = with_columns_inward(start, options, is_tiled);
  if (rows.program.strides.empty() && !columns.program.strides.empty())
    rely_on_rows(rows, scans, options);
  if (!rows.program.strides.empty()) add_with_repeats(rows, found, options);
  const bool differs = columns.program.strides != rows.program.strides;
  // A call that could run either has its sums in vectors.
  const bool is_slower = !found.empty() && !add_up_columns_in_vectors(columns.program) &&
                         holds_all(columns.program.strides, rows.program.strides);
  if (!columns.program.strides.empty() && differs && !is_slower) {
    if (columns.name == rows.name) columns.name += "_inward";
    found.push_back(std::move(columns));
  }
  if (!found.empty() || has_step(start, StepKind::scatter)) return found;
  std::ranges::move(innermost_versions(start, options, is_tiled), std::back_inserter(found));
  return found;
}

}  // namespace

bool has_step(const Version& v, StepKind kind) {
  return std::ranges::any_of(v.steps,
                             [&](const TakenStep& taken) { return taken.step.kind == kind; });
}

Schedule schedule(const LoopProgram& p, const ScheduleOptions& options) {
  std::vector<Symbol> scans;
  Version start = started(native(p), scans);
  Schedule s{tiled_in_blocks(p, options)};
  // Along channels that are adjacent, sums over windows are in vectors; others add by windows.
  std::vector<Version> others;
  if (Version windows = start; !take(windows, {StepKind::scatter, {{""}}}, options)) {
    others = innermost_versions(start, options, false);
    start = std::move(windows);
  }
  if (s.versions.empty()) s.versions = tiled(start, options);
  const bool is_tiled = !s.versions.empty();
  std::ranges::move(slid(start, options), std::back_inserter(s.versions));
  std::ranges::move(transposed(start, options), std::back_inserter(s.versions));
  Version lanes = start;
  (void)take(lanes, {StepKind::positions, {{"", -1}}}, options);
  for (Version& v : s.versions) prefer_whole_tiles(v, start.program);
  std::ranges::move(on_strides(lanes, scans, options, is_tiled), std::back_inserter(others));
  for (Version& v : others)
    if (is_tiled) prefer_long_reductions(v);
  std::ranges::move(others, std::back_inserter(s.versions));
  put_demanding_first(s.versions);
  Version any = start;
  share_outermost(any, options);
  s.versions.push_back(std::move(any));
  for (Version& v : s.versions) {
    set_sums_in_vectors(v, options);
    (void)take(v, {StepKind::hoist, {{"", -1}}}, options);
    (void)take(v, {StepKind::narrow, {{"", kMaxNarrowPart}}}, options);
  }
  return s;
}

void verify(const Schedule& s) {
  for (const Version& v : s.versions) verify(v.program);
}

std::vector<Step> steps_of(const Version& v) {
  std::vector<Step> steps;
  for (const TakenStep& taken : v.steps) steps.push_back(taken.step);
  return steps;
}

std::string steps_text(const Version& v) {
  if (v.steps.empty()) return "";
  std::string out = fmt::format("  steps: {}\n", to_string(steps_of(v)));
  for (const TakenStep& taken : v.steps)
    if (!taken.effect.empty())
      out += fmt::format("  {}: {}\n", to_string(taken.step), taken.effect);
  return out;
}

std::string to_string(const Schedule& s) {
  std::string out;
  for (const Version& v : s.versions) {
    std::string strides;
    for (const KnownStride& k : v.program.strides)
      strides += fmt::format("{}axis {} of {} has stride {}", strides.empty() ? "" : ", ", k.axis,
                             k.tensor, k.stride);
    if (!v.program.demands.empty())
      strides += (strides.empty() ? "" : ", ") + to_string(v.program.demands);
    if (!v.preferences.empty()) strides += ", first where " + to_string(v.preferences);
    if (v.preferences_behind_next)
      strides += ", behind the next where " + to_string(*v.preferences_behind_next);
    out +=
        fmt::format("{}version {}, {}\n", out.empty() ? "" : "\n", v.name.empty() ? "any" : v.name,
                    strides.empty() ? "for all other calls" : "where " + strides);
    out += steps_text(v) + to_string(v.program);
  }
  return out;
}

}  // namespace mote
