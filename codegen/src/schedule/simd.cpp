// SPDX-License-Identifier: Apache-2.0
// One step of a schedule: runs the iterations of an innermost loop over adjacent elements in
// vectors.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "ir/dependence.h"
#include "passes/conditions.h"
#include "schedule/combine.h"
#include "schedule/iterations.h"
#include "schedule/take.h"
#include "schedule/unit_strides.h"

namespace mote {
namespace {

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

/// Returns why lanes cannot hold what the loop folds into.
Refusal why_no_lanes(const LoopProgram& p, const Loop& loop) {
  for (const Accumulator& a : loop.accumulators)
    if (!has_lanes(a))
      return fmt::format("it folds into {}, which is no sum, product, max or min of numbers",
                         a.name);
  if (can_fold_outward(p, loop)) return std::nullopt;
  return fmt::format("it folds into {} of another loop, in order",
                     fmt::join(outer_folds(loop), " and "));
}

}  // namespace

Refusal run_in_vectors(LoopProgram& p, const Path& path, bool asks_version, std::int64_t widest,
                       std::string& effect) {
  Stmt& s = at(p, path);
  Loop& loop = *as_loop(s);
  if (holds_loop(loop.body)) return "it holds a loop";
  if (loop.step != Expr(1)) return "its step is not 1";
  if (loop.kind != LoopKind::serial) return "it has a kind already";
  if (auto why = why_no_lanes(p, loop)) return why;
  const auto needed = adjacency(p, s, widest);
  if (!needed) return "its iterations access elements that are adjacent for no strides";
  if (!are_compatible(p.strides, needed->strides))
    return "the version relies on adjacent elements along another axis";
  if (asks_version && !needed->ones.empty())
    return fmt::format("its elements are adjacent only where {} is 1",
                       needed->ones.front().to_string());
  const auto own = independent_iterations(p, s);
  if (!own) return kDependent;
  if (!own->empty())
    return fmt::format("its iterations share the temporary {}", fmt::join(*own, ", "));
  if (asks_version) {
    add_missing(p.strides, needed->strides);
  } else {
    loop.adjacent_under = needed->strides;
    std::erase_if(loop.adjacent_under, [&](const KnownStride& k) {
      return std::ranges::find(p.strides, k) != p.strides.end();
    });
    loop.adjacent_under_ones = needed->ones;
  }
  loop.kind = LoopKind::simd;
  if (!loop.accumulators.empty() || !outer_folds(loop).empty()) effect = "accumulators by lanes";
  return std::nullopt;
}

}  // namespace mote
