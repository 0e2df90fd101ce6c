// SPDX-License-Identifier: Apache-2.0
// Defines the schedule, read from top to bottom: the versions, and the steps of each. In: the loops
// of compile(); out: native loops with marks.
#include "mote/codegen/schedule.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>

#include "ir/dependence.h"
#include "mote/codegen/passes.h"
#include "passes/conditions.h"
#include "schedule/combine.h"
#include "schedule/hoist.h"
#include "schedule/innermost.h"
#include "schedule/interchange.h"
#include "schedule/iterations.h"
#include "schedule/jam.h"
#include "schedule/keep.h"
#include "schedule/paths.h"
#include "schedule/positions.h"
#include "schedule/register_tile.h"
#include "schedule/scan.h"
#include "schedule/slide.h"
#include "schedule/threads.h"
#include "schedule/unit_strides.h"

namespace mote {
namespace {

/// The elements of a tile: an array of them, and a few more, stay in the first-level cache.
constexpr std::int64_t kTile = 256;
/// The elements of a tile whose rows are read once: longer parts of a row are read faster.
constexpr std::int64_t kWideTile = 1024;

/// Returns true if the accumulators of outer loops that the loop folds into have lanes, and lanes
/// pay off: they do not for a short loop with limits of its own in each iteration.
bool can_fold_outward(const LoopProgram& p, const Loop& loop) {
  const std::set<std::string> outer = outer_folds(loop);
  if (outer.empty()) return true;
  if (mentions_loop(loop.begin) || mentions_loop(loop.end)) return false;
  bool all = true;
  for_each(p.body, [&](const Stmt& s) {
    if (const Loop* l = as_loop(s))
      for (const Accumulator& a : l->accumulators)
        all = all && (!outer.contains(a.name) || has_lanes(a));
  });
  return all;
}

// ---- simd: the innermost loops over adjacent elements.

/// The part of a schedule that asks for the strides that let loops run in vectors.
enum class Asks : std::uint8_t { version, loop };

/// Reads may go on by `widest` elements from one iteration to the next.
void mark_simd(Version& v, Asks who, std::int64_t widest = 1) {
  LoopProgram& p = v.program;
  for (const Path& path : loops_of(p)) {
    Stmt& s = at(p, path);
    Loop& loop = *as_loop(s);
    if (holds_loop(loop.body) || loop.step != Expr(1) || loop.kind != LoopKind::serial) continue;
    if (!std::ranges::all_of(loop.accumulators, has_lanes) || !can_fold_outward(p, loop)) continue;
    const auto needed = adjacency(p, s, widest);
    if (!needed || !are_compatible(p.strides, needed->strides)) continue;
    if (who == Asks::version && !needed->ones.empty()) continue;
    const auto own = independent_iterations(p, s);
    if (!own || !own->empty()) continue;
    if (who == Asks::version) {
      add_missing(p.strides, needed->strides);
    } else {
      loop.adjacent_under = needed->strides;
      std::erase_if(loop.adjacent_under, [&](const KnownStride& k) {
        return std::ranges::find(p.strides, k) != p.strides.end();
      });
      loop.adjacent_under_ones = needed->ones;
    }
    loop.kind = LoopKind::simd;
    const bool folds = !loop.accumulators.empty() || !outer_folds(loop).empty();
    if (v.name.empty()) v.name = "simd_" + loop.variable.name();
    v.steps.push_back(
        fmt::format("simd {}{}", loop.variable.name(), folds ? ", accumulators by lanes" : ""));
  }
}

// ---- inward: a loop over the last axis of an output goes inside the reductions that it holds.

bool runs_over_last_axis(const LoopProgram& p, const Loop& loop) {
  bool found = false;
  for_each(loop.body, [&](const Stmt& s) {
    const auto* store = std::get_if<Store>(&s.kind);
    if (store == nullptr || store->index.empty()) return;
    found = found || (find_tensor(p, store->tensor)->role == TensorRole::output &&
                      store->index.back() == Expr(loop.variable));
  });
  return found;
}

std::ptrdiff_t passes_over_rows(const Body& body) {
  return std::ranges::count_if(body, [](const Stmt& s) { return nested_body(s) != nullptr; });
}

bool move_inward(Version& v) {
  for (const Path& path : loops_of(v.program)) {
    const Loop& loop = *as_loop(at(v.program, path));
    const bool only_nests = loop.body.size() == 1 && as_loop(loop.body[0]) != nullptr &&
                            as_loop(loop.body[0])->accumulators.empty();
    if (!holds_loop(loop.body) || only_nests || !runs_over_last_axis(v.program, loop)) continue;
    std::string step;
    const std::int64_t tile = passes_over_rows(loop.body) > 1 ? kTile : kWideTile;
    auto moved = moved_inward(v.program, at(v.program, path), tile, step);
    if (!moved) continue;
    at(v.program, path) = *std::move(moved);
    v.steps.push_back(step);
    return true;
  }
  return false;
}

// ---- innermost: another loop than the last is the one of adjacent results.

/// A step that takes a loop of the nest `s` innermost.
using Taking = std::function<std::optional<Innermost>(LoopProgram& p, const Stmt& s,
                                                      std::set<std::string>& used)>;

/// Takes loops innermost in the nests at top level; returns false if there is no nest for it.
bool take_innermost(Version& v, const Taking& taking) {
  Body body;
  bool found = false;
  std::set<std::string> used;
  for (std::size_t k = 0; k < v.program.body.size(); ++k) {
    auto taken = taking(v.program, v.program.body[k], used);
    if (!taken || !are_compatible(v.program.strides, {taken->adjacent})) {
      body.push_back(v.program.body[k]);
      continue;
    }
    found = true;
    std::ranges::move(taken->body, std::back_inserter(body));
    add_missing(v.program.strides, {taken->adjacent});
    add_missing(v.program.demands, taken->demands);
    v.steps.push_back(taken->step);
  }
  v.program.body = std::move(body);
  return found;
}

// ---- versions

/// Returns the version that all others start from; `scans` gets the variables along which a value
/// is carried.
Version native(const LoopProgram& p, std::vector<Symbol>& scans) {
  Version v{"", {"accumulate natively"}, p};
  v.program.native = true;
  for (std::string& step : keep_in_outputs(v.program)) v.steps.push_back(std::move(step));
  for (Scanned& scanned : scan_prefixes(v.program)) {
    v.steps.push_back(std::move(scanned.step));
    scans.push_back(scanned.variable);
  }
  return v;
}

/// Makes the version with rows require rows that are contiguous along the scans. It is then tried
/// before the version with tiles across the rows, which may be one element wide.
void rely_on_rows(Version& rows, const std::vector<Symbol>& scans) {
  for (const Symbol v : scans)
    for (const KnownStride& k : strides_along(rows.program, v))
      if (are_compatible(rows.program.strides, {k})) add_missing(rows.program.strides, {k});
  if (!rows.program.strides.empty()) rows.name = "scan_" + scans.front().name();
}

/// Adds the version, and those in which one input repeats along the innermost axis.
void add_with_repeats(const Version& v, std::vector<Version>& versions) {
  versions.push_back(v);
  for (const KnownStride& zero : repeatable(v.program, v.program.strides)) {
    Version repeated = v;
    for (KnownStride& k : repeated.program.strides)
      if (k.tensor == zero.tensor && k.axis == zero.axis) k = zero;
    repeated.name += "_repeat_" + zero.tensor;
    repeated.steps.push_back("repeat " + zero.tensor);
    versions.push_back(std::move(repeated));
  }
}

/// Puts a version that relies on all that an earlier one relies on, and on more, before it: each
/// call that could run it would run the earlier one.
void put_demanding_first(std::vector<Version>& versions) {
  const auto holds_all = [](const auto& all, const auto& some) {
    return std::ranges::all_of(
        some, [&](const auto& one) { return std::ranges::find(all, one) != all.end(); });
  };
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

/// Returns the versions whose nests are tiled in registers, for each processor and axis.
std::vector<Version> tiled(const Version& start, const ScheduleOptions& options) {
  std::vector<Version> found;
  for (const VectorAxis axis : {VectorAxis::innermost, VectorAxis::separate}) {
    for (const RegisterShape& shape : options.shapes) {
      Version v = start;
      const auto steps = tile_in_registers(v.program, shape, axis, options.may_multiply_padding);
      if (steps.empty()) break;
      v.name = fmt::format("tile_{}{}", shape.vector_bytes,
                           axis == VectorAxis::innermost ? "_innermost" : "");
      v.steps.insert(v.steps.end(), steps.begin(), steps.end());
      mark_simd(v, Asks::loop);
      share_among_threads(v);
      found.push_back(std::move(v));
    }
  }
  return found;
}

/// Returns the versions in which windows slide over rows, for each stride. A program of several
/// nests has none: each version would hold all of them.
std::vector<Version> slid(const Version& start, const ScheduleOptions& options) {
  std::vector<Version> found;
  if (start.program.body.size() != 1) return found;
  for (const std::int64_t stride : {1, 2}) {
    Version v = start;
    const auto taking = [&](LoopProgram& p, const Stmt& s, std::set<std::string>& used) {
      return slid_inward(p, s, {kTile, options.least_iterations}, stride, used);
    };
    if (!take_innermost(v, taking)) continue;
    v.name = fmt::format("slide_by_{}", stride);
    v.program = tighten(std::move(v.program));
    mark_simd(v, Asks::version, stride);
    share_among_threads(v);
    found.push_back(std::move(v));
  }
  return found;
}

/// Returns the versions that rely on strides; `is_tiled`: others have tiles in registers.
std::vector<Version> on_strides(const Version& start, const std::vector<Symbol>& scans,
                                const ScheduleOptions& options, bool is_tiled) {
  std::vector<Version> found;
  Version rows = start;
  mark_simd(rows, Asks::version);
  share_among_threads(rows);
  Version columns = start;
  if (move_inward(columns)) {
    mark_simd(columns, Asks::version);
    share_among_threads(columns);
    if (!is_tiled)
      for (std::string& step : jam_rows(columns.program, options.rows))
        columns.steps.push_back(std::move(step));
  }
  if (rows.program.strides.empty() && !columns.program.strides.empty()) rely_on_rows(rows, scans);
  if (!rows.program.strides.empty()) add_with_repeats(rows, found);
  const bool differs = columns.program.strides != rows.program.strides;
  if (!columns.program.strides.empty() && differs) {
    if (columns.name == rows.name) columns.name += "_inward";
    found.push_back(std::move(columns));
  }
  if (!found.empty()) return found;
  for (const bool demands_ones : {true, false}) {
    Version other = start;
    if (is_tiled && !demands_ones) break;
    const auto taking = [&](LoopProgram& p, const Stmt& s, std::set<std::string>& used) {
      return taken_innermost(p, s, {kTile, options.least_iterations}, demands_ones, used);
    };
    if (!take_innermost(other, taking)) continue;
    other.name = demands_ones ? "innermost_of_ones" : "innermost";
    mark_simd(other, Asks::loop);
    share_among_threads(other);
    found.push_back(std::move(other));
  }
  return found;
}

}  // namespace

Schedule schedule(const LoopProgram& p, const ScheduleOptions& options) {
  std::vector<Symbol> scans;
  const Version start = native(p, scans);
  Schedule s{tiled(start, options)};
  const bool is_tiled = !s.versions.empty();
  std::ranges::move(slid(start, options), std::back_inserter(s.versions));
  Version lanes = start;
  for (std::string& step : find_positions(lanes.program)) lanes.steps.push_back(std::move(step));
  std::ranges::move(on_strides(lanes, scans, options, is_tiled), std::back_inserter(s.versions));
  put_demanding_first(s.versions);
  Version any = start;
  share_among_threads(any);
  s.versions.push_back(std::move(any));
  for (Version& v : s.versions)
    for (std::string& step : hoist_conditions(v.program)) v.steps.push_back(std::move(step));
  return s;
}

void verify(const Schedule& s) {
  for (const Version& v : s.versions) verify(v.program);
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
    out +=
        fmt::format("{}version {}, {}\n", out.empty() ? "" : "\n", v.name.empty() ? "any" : v.name,
                    strides.empty() ? "for all other calls" : "where " + strides);
    for (const std::string& step : v.steps) out += "  step: " + step + "\n";
    out += to_string(v.program);
  }
  return out;
}

}  // namespace mote
