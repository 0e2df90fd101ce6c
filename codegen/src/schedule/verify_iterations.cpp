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
#include "mote/codegen/emit_cuda.h"
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

/// Returns the loops of the path that threads of a block share, outermost first.
std::vector<const Loop*> shared_by_threads(std::span<const Stmt* const> path) {
  std::vector<const Loop*> shared;
  for (const Stmt* s : path)
    if (const Loop* l = as_loop(*s); l != nullptr && is_within_block(l->kind)) shared.push_back(l);
  return shared;
}

/// Each thread has its own elements of a tensor in local memory, whose first two axes are the
/// variables of the loops that the threads share, with as many iterations as there are elements.
bool is_at_own_thread(const TensorDecl& t, const TensorReference& r) {
  const std::vector<const Loop*> shared = shared_by_threads(r.path);
  if (shared.size() != kThreadAxes || shared.size() > r.index.size() ||
      t.shape[0] * t.shape[1] != Expr(kCudaThreads))
    return false;
  for (std::size_t k = 0; k < shared.size(); ++k)
    if (shared[k]->kind != LoopKind::block_threads || r.index[k] != Expr(shared[k]->variable) ||
        shared[k]->begin != Expr(0) || shared[k]->end != t.shape[k])
      return false;
  return true;
}

/// Returns true for an access of fragments in a loop over rows of their kind and one over columns,
/// both counted from where a constant row and column is.
bool is_in_layout(const TensorReference& r) {
  const auto shared = shared_by_threads(r.path);
  if (shared.empty() || shared.front()->kind != LoopKind::fragments || r.index.size() != 2)
    return false;
  const Loop& row = *shared.front();
  const Loop* column = row.body.size() == 1 ? as_loop(row.body.front()) : nullptr;
  if (column == nullptr || r.index[1] != Expr(column->variable)) return false;
  std::set<Symbol> inside;
  for (const Stmt* s : r.path)
    if (const Loop* l = as_loop(*s); l != nullptr && (l == &row || !inside.empty()))
      inside.insert(l->variable);
  const Expr from = r.index[0] - Expr(row.variable);
  return !from.has_load() &&
         std::ranges::none_of(from.symbols(), [&](Symbol s) { return inside.contains(s); });
}

/// Memory of a block, or of one of its threads, belongs to an iteration of a grid, and is constant.
void verify_memory_of_block(const LoopProgram& p, const TensorDecl& t) {
  const auto is_constant = [](const Expr& extent) { return extent.constant().has_value(); };
  bool is_per_grid = false;
  for_each(p.body, [&](const Stmt& s) {
    const Loop* l = as_loop(s);
    is_per_grid =
        is_per_grid || (l != nullptr && l->kind == LoopKind::grid && t.per == l->variable);
  });
  if (t.role != TensorRole::temporary || !is_per_grid || !std::ranges::all_of(t.shape, is_constant))
    fail(p, fmt::format("{} is memory of a block, and has no constant shape in an iteration of a "
                        "grid",
                        t.name));
  for (const TensorReference& r : references(p.body, t.name)) {
    const auto shared = shared_by_threads(r.path);
    if (t.memory == TensorMemory::local && !is_at_own_thread(t, r))
      fail(p, fmt::format("{} is in each thread, and a thread accesses another one's elements",
                          t.name));
    if (t.memory == TensorMemory::fragments && !is_in_layout(r))
      fail(p,
           fmt::format("{} is in fragments, and is not accessed by a row and a column of loops of "
                       "their kind",
                       t.name));
  }
}

/// A tensor in the place of another one needs no more memory, and the other one is read only before
/// it is stored.
void verify_in_place_of(const LoopProgram& p, const TensorDecl& t) {
  const TensorDecl* first = find_tensor(p, t.in_place_of);
  const auto bytes = [&](const TensorDecl& d) {
    std::int64_t all = d.is_for_tensor_cores && is_narrow(d.dtype) ? 2
                       : is_real(d.dtype)                          ? native_bytes(d.dtype)
                       : d.dtype == DType::boolean                 ? 1
                                                                   : d.integer_bits / 8;
    for (const Expr& extent : d.shape) all *= *extent.constant();
    return all;
  };
  if (first == nullptr || first->memory != TensorMemory::shared ||
      t.memory != TensorMemory::shared || first->per != t.per || bytes(t) > bytes(*first))
    fail(p, fmt::format("{} in place of {} needs as much of the same shared memory", t.name,
                        t.in_place_of));
  const auto own = references(p.body, t.name);
  const auto may_precede = [](const TensorReference& one, const TensorReference& other) {
    const std::size_t depth = shared_depth(one.path, other.path);
    const bool is_once = std::ranges::all_of(std::span(one.path).first(depth), [](const Stmt* s) {
      return as_loop(*s) == nullptr || as_loop(*s)->kind == LoopKind::grid;
    });
    return one.order <= other.order || !is_once;
  };
  for (const TensorReference& r : references(p.body, first->name))
    if (std::ranges::any_of(own, [&](const TensorReference& o) { return may_precede(o, r); }))
      fail(p, fmt::format("{} is accessed after {}, which takes its place", first->name, t.name));
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
  for (const TensorDecl& t : p.tensors) {
    if (t.memory == TensorMemory::registers) verify_registers(p, t);
    if (is_of_block(t.memory)) verify_memory_of_block(p, t);
    if (!t.in_place_of.empty()) verify_in_place_of(p, t);
  }
  for (const TensorDecl& t : p.tensors) {
    if (!t.per) continue;
    for (const TensorReference& r : references(p.body, t.name))
      if (!variables_of(r.path).contains(*t.per))
        fail(p, fmt::format("{} lives in iterations of {} and is touched outside", t.name,
                            t.per->name()));
  }
}

}  // namespace mote
