// SPDX-License-Identifier: Apache-2.0
// One step of a schedule: moves a loop outside of the loops that hold it. `for i { at = f(i); for d
// { y[at, d] += x[i, d] } }` becomes a loop over parts of d, whose iterations are independent, and
// which holds the nest with the loop over one part. Other innermost loops of the nest must have the
// same range, and run over the same part. All else is repeated in each part; it may only compute
// what the part reads. Each part does what it did, in its order.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <span>

#include "ir/dependence.h"
#include "mote/codegen/in_place.h"
#include "mote/codegen/walk.h"
#include "passes/conditions.h"
#include "schedule/iterations.h"
#include "schedule/take.h"

namespace mote {
namespace {

/// Returns the path of the outermost loop that holds the one at the path.
Path outermost_around(const LoopProgram& p, const Path& path) {
  Path above;
  for (const std::size_t position : path) {
    above.push_back(position);
    if (as_loop(at(p, above)) != nullptr) return above;
  }
  return path;
}

/// Calls `f` for each loop in the body that holds no others, and `outer` for each that does.
void for_each_loop(Body& body, const std::function<void(Stmt&)>& f,
                   const std::function<void(Stmt&)>& outer) {
  for (Stmt& s : body) {
    const bool is_innermost = as_loop(s) != nullptr && !holds_loop(as_loop(s)->body);
    if (as_loop(s) != nullptr) (is_innermost ? f : outer)(s);
    if (Body* inner = nested_body(s); inner != nullptr && !is_innermost)
      for_each_loop(*inner, f, outer);
  }
}

/// Returns why the loop cannot run over parts of the range that `moving` has.
Refusal why_not_cut(const Loop& loop, const Loop& moving) {
  const std::string& v = loop.variable.name();
  if (loop.begin != moving.begin || loop.end != moving.end)
    return fmt::format("{} has another range, and would run again in each part", v);
  if (loop.step != Expr(1)) return fmt::format("the step of {} is not 1", v);
  if (loop.kind != LoopKind::serial && loop.kind != LoopKind::simd)
    return fmt::format("loop {} has a kind already", v);
  if (!loop.accumulators.empty() || !outer_folds(loop).empty())
    return fmt::format("{} folds, and each part would begin anew", v);
  return std::nullopt;
}

/// Returns why the nest cannot be repeated in parts.
Refusal why_not_repeated(Body nest, const Loop& moving) {
  Refusal why;
  const auto cut = [&](const Stmt& s) {
    if (!why) why = why_not_cut(*as_loop(s), moving);
  };
  const auto repeat = [&](const Stmt& s) {
    if (!why && as_loop(s)->kind != LoopKind::serial)
      why = fmt::format("loop {} has a kind already", as_loop(s)->variable.name());
  };
  for_each_loop(nest, cut, repeat);
  const Loop& first = *as_loop(nest.front());
  if (!why && !first.accumulators.empty())
    why = fmt::format("{} folds into {}, which is read behind it", first.variable.name(),
                      first.accumulators.front().name);
  return why;
}

/// Returns the loop over parts of `moving`'s range that holds the nest; `cut` gets the loops that
/// run over a part.
Loop parts_of(const LoopProgram& p, Body nest, const Loop& moving, std::int64_t amount,
              std::vector<std::string>& cut) {
  const Symbol start(SymbolKind::loop, fresh_name(p, moving.variable.name() + "_start"));
  const auto run_over_part = [&](Stmt& s) {
    as_loop(s)->begin = Expr(start);
    as_loop(s)->end = min(Expr(start) + Expr(amount), moving.end);
    cut.push_back(as_loop(s)->variable.name());
  };
  for_each_loop(nest, run_over_part, [](const Stmt&) {});
  return {start, moving.begin, moving.end, Expr(amount), {}, std::move(nest)};
}

/// Returns why the parts, which now hold the nest, may change results: what one writes another may
/// access, or lacks.
Refusal why_parts_meet(const LoopProgram& p, const Stmt& parts,
                       const std::vector<InPlacePair>& in_place) {
  if (!independent_iterations(p, parts)) return why_dependent(p, parts);
  if (mergeable_parts(p, parts).empty())
    return "what is outside of the parts reads what all of them have written";
  const bool reads_again = std::ranges::any_of(in_place, [&](const InPlacePair& pair) {
    return why_not_in_place(p, std::span(&pair, 1)).has_value();
  });
  if (reads_again) return "a call in place would read what it has overwritten";
  return std::nullopt;
}

}  // namespace

Refusal move_outward(LoopProgram& p, const Path& path, std::int64_t amount, std::string& effect) {
  const Path nest_path = outermost_around(p, path);
  const Loop moving = *as_loop(at(p, path));
  if (nest_path == path) return "no loop holds it";
  if (holds_loop(moving.body)) return "it holds a loop";
  for (const Expr* e : {&moving.begin, &moving.end})
    if (e->has_load() || mentions_loop(*e)) return "its limits move";
  if (auto why = why_one_part(moving, amount)) return why;
  const Stmt before = at(p, nest_path);
  if (auto why = why_not_repeated({before}, moving)) return why;
  const std::vector<InPlacePair> in_place = pairs_in_place(p);
  std::vector<std::string> cut;
  at(p, nest_path) = {parts_of(p, {before}, moving, amount, cut)};
  if (auto why = why_parts_meet(p, at(p, nest_path), in_place)) {
    at(p, nest_path) = before;
    return why;
  }
  if (cut.size() > 1) effect = fmt::format("parts of {}", fmt::join(cut, ", "));
  return std::nullopt;
}

}  // namespace mote
