// SPDX-License-Identifier: Apache-2.0
// Checks what a schedule has made of loops: iterations that run together are independent, tensors
// in registers are whole vectors, and temporaries of an iteration stay in it.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>

#include "ir/dependence.h"
#include "ir/references.h"
#include "ir/transposed.h"
#include "mote/base/error.h"
#include "schedule/iterations.h"

namespace mote {
namespace {

[[noreturn]] void fail(const LoopProgram& p, const std::string& what) {
  throw InternalError(fmt::format("{}: {}", p.name, what));
}

void verify_loop(const LoopProgram& p, const Stmt& s) {
  const Loop& loop = *as_loop(s);
  const std::string& v = loop.variable.name();
  const auto own = independent_iterations(p, s);
  if (!own) fail(p, fmt::format("the iterations of loop {} are not independent", v));
  const bool is_shared = loop.kind == LoopKind::threads || loop.kind == LoopKind::grid;
  if (is_shared && (!loop.accumulators.empty() || !outer_folds(loop).empty()))
    fail(p, fmt::format("loop {} of threads folds into an accumulator", v));
  if (loop.kind == LoopKind::simd && holds_loop(loop.body))
    fail(p, fmt::format("simd loop {} holds a loop", v));
  for (const std::string& t : *own) {
    const std::optional<Symbol> per = find_tensor(p, t)->per;
    const bool inside =
        per && std::ranges::all_of(references(p.body, t), [&](const TensorReference& r) {
          const auto here = std::ranges::find(r.path, &s);
          const std::span<const Stmt* const> within(here, r.path.end());
          return variables_of(within).contains(*per);
        });
    if (!inside) fail(p, fmt::format("the iterations of loop {} share the temporary {}", v, t));
  }
}

/// A tensor in registers has rows of whole vectors, which only simd loops in unrolled ones touch; a
/// branch between the two leaves rows out.
void verify_registers(const LoopProgram& p, const TensorDecl& t) {
  const auto fits = [&](const Expr& extent) { return extent.constant().value_or(0) > 0; };
  const int lanes = p.vector_bytes / native_bytes(t.dtype);
  const bool has_vectors = is_real(t.dtype) || t.integer_bits == 32;
  if (t.role != TensorRole::temporary || !has_vectors || lanes == 0 || t.shape.size() != 2 ||
      !std::ranges::all_of(t.shape, fits) || *t.shape[1].constant() % lanes != 0)
    fail(p, fmt::format("{} in registers has no rows of whole vectors", t.name));
  for (const TensorReference& r : references(p.body, t.name)) {
    const auto from_inside = [&](std::size_t k) {
      return k > r.path.size() ? nullptr : r.path[r.path.size() - k];
    };
    const bool has_branch =
        from_inside(2) != nullptr && std::holds_alternative<If>(from_inside(2)->kind);
    const Stmt* around = from_inside(has_branch ? 3 : 2);
    const Loop* lane = around == nullptr ? nullptr : as_loop(*from_inside(1));
    const Loop* row = around == nullptr ? nullptr : as_loop(*around);
    const bool in_tile = lane != nullptr && row != nullptr && lane->kind == LoopKind::simd &&
                         row->kind == LoopKind::unrolled && row->end == t.shape[0] &&
                         lane->begin == Expr(0) && lane->end == t.shape[1] &&
                         r.index == std::vector<Expr>{row->variable, lane->variable};
    if (!in_tile)
      fail(p,
           fmt::format("{} in registers is accessed outside of the loops over its rows and lanes",
                       t.name));
  }
}

}  // namespace

void verify_iterations(const LoopProgram& p) {
  for_each(p.body, [&](const Stmt& s) {
    const Loop* loop = as_loop(s);
    if (loop == nullptr) return;
    if (loop->kind != LoopKind::serial && loop->kind != LoopKind::unrolled) verify_loop(p, s);
    if (loop->kind == LoopKind::transposed && !transposed_square(p, *loop))
      fail(p, fmt::format("transposed loop {} does not copy a square", loop->variable.name()));
    if (loop->kind == LoopKind::unrolled &&
        (loop->begin != Expr(0) || !loop->end.constant() || loop->step != Expr(1)))
      fail(p, fmt::format("unrolled loop {} has no constant limits from 0", loop->variable.name()));
  });
  for (const TensorDecl& t : p.tensors)
    if (t.memory == TensorMemory::registers) verify_registers(p, t);
  for (const TensorDecl& t : p.tensors) {
    if (!t.per) continue;
    for (const TensorReference& r : references(p.body, t.name))
      if (!variables_of(r.path).contains(*t.per))
        fail(p, fmt::format("{} lives in iterations of {} and is touched outside", t.name,
                            t.per->name()));
  }
}

}  // namespace mote
