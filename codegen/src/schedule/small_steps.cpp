// SPDX-License-Identifier: Apache-2.0
// The steps of a schedule that change one loop, or only what a version relies on.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "ir/dependence.h"
#include "schedule/iterations.h"
#include "schedule/take.h"
#include "schedule/unit_strides.h"

namespace mote {

Refusal why_not_serial(const Stmt& s) {
  Refusal why;
  const auto visit = [&](const Stmt& inner) {
    const Loop* loop = as_loop(inner);
    if (loop != nullptr && loop->kind != LoopKind::serial && !why)
      why = fmt::format("loop {} has a kind already", loop->variable.name());
  };
  for_each({s}, visit);
  return why;
}

Refusal why_not_serial_around(const LoopProgram& p, const Path& path) {
  for (std::size_t depth = 1; depth < path.size(); ++depth) {
    const auto end = path.begin() + static_cast<std::ptrdiff_t>(depth);
    const Loop* l = as_loop(at(p, Path(path.begin(), end)));
    if (l != nullptr && l->kind != LoopKind::serial)
      return fmt::format("loop {} around it has a kind already", l->variable.name());
  }
  return std::nullopt;
}

Refusal why_one_part(const Loop& loop, std::int64_t amount) {
  const auto most = most_iterations(loop);
  if (!most || *most > amount) return std::nullopt;
  return fmt::format("one part would hold all of its iterations, {}{}",
                     (loop.end - loop.begin).constant() ? "" : "at most ", *most);
}

namespace {

/// Returns true for a loop over lanes, whose vectors are kept or exchanged in registers.
bool is_over_lanes(const LoopProgram& p, const Path& path) {
  for (std::size_t depth = 1; depth < path.size(); ++depth) {
    const Path above(path.begin(), path.begin() + static_cast<std::ptrdiff_t>(depth));
    const Loop* loop = as_loop(at(p, above));
    if (loop != nullptr && (loop->kind == LoopKind::unrolled || loop->kind == LoopKind::transposed))
      return true;
  }
  return false;
}

}  // namespace

/// Turns the loop into one over parts of its range that holds one over the iterations of a part.
Refusal split(LoopProgram& p, const Path& path, std::int64_t amount) {
  Stmt& s = at(p, path);
  Loop& loop = *as_loop(s);
  if (loop.step != Expr(1)) return "its step is not 1";
  if (loop.kind != LoopKind::serial && loop.kind != LoopKind::simd) return "it has a kind already";
  if (is_over_lanes(p, path)) return "it runs over the lanes of registers";
  if (!loop.accumulators.empty())
    return fmt::format("it folds into {}, which each part would begin anew",
                       loop.accumulators.front().name);
  if (auto why = why_one_part(loop, amount)) return why;
  const Symbol start(SymbolKind::loop, fresh_name(p, loop.variable.name() + "_start"));
  Loop outer{start, loop.begin, loop.end, Expr(amount), {}, {}};
  loop.begin = Expr(start);
  loop.end = min(Expr(start) + Expr(amount), outer.end);
  outer.body.push_back(s);
  s = {std::move(outer)};
  return std::nullopt;
}

/// Exchanges the loop with the only statement of its body, a loop.
Refusal interchange(LoopProgram& p, const Path& path) {
  Stmt& s = at(p, path);
  if (auto why = why_not_serial(s)) return why;
  Loop& outer = *as_loop(s);
  Loop* inner = outer.body.size() == 1 ? as_loop(outer.body.front()) : nullptr;
  if (inner == nullptr) return "its body is not just a loop";
  for (const Stmt* loop : {static_cast<const Stmt*>(&s), static_cast<const Stmt*>(&outer.body[0])})
    if (std::string why = why_dependent(p, *loop); !why.empty()) return why;
  for (const Expr* e : {&inner->begin, &inner->end, &inner->step})
    if (e->has_load() || e->mentions(outer.variable))
      return fmt::format("the limits of {} change", inner->variable.name());
  std::swap(outer.variable, inner->variable);
  std::swap(outer.begin, inner->begin);
  std::swap(outer.end, inner->end);
  std::swap(outer.step, inner->step);
  return std::nullopt;
}

Refusal rely_on_adjacent(LoopProgram& p, const std::string& variable) {
  const auto along = strides_along(p, Symbol(SymbolKind::loop, variable));
  if (along.empty()) return "no tensor changes along it on one axis";
  bool any = false;
  for (const KnownStride& k : along) {
    if (!are_compatible(p.strides, {k})) continue;
    add_missing(p.strides, {k});
    any = true;
  }
  if (any) return std::nullopt;
  return "the version relies on adjacent elements along another axis";
}

namespace {

void forget_prefetched(Body& body, const std::string& tensor) {
  for (Stmt& s : body) {
    if (Loop* loop = as_loop(s))
      std::erase_if(loop->prefetched,
                    [&](const PrefetchedElement& e) { return e.tensor == tensor; });
    if (Body* inner = nested_body(s)) forget_prefetched(*inner, tensor);
  }
}

}  // namespace

Refusal repeat(LoopProgram& p, const std::string& tensor, std::int64_t axis) {
  for (const KnownStride& zero : repeatable(p, p.strides)) {
    if (zero.tensor != tensor || zero.axis != axis) continue;
    for (KnownStride& k : p.strides)
      if (k.tensor == tensor && k.axis == axis) k = zero;
    forget_prefetched(p.body, tensor);  // one element is the whole row
    return std::nullopt;
  }
  return fmt::format("axis {} of {} is not one that a call may repeat and that is adjacent so far",
                     axis, tensor);
}

}  // namespace mote
