// SPDX-License-Identifier: Apache-2.0
// Checks what the threads of a block run together: who stores, where all wait for each other, and
// that a barrier stands between accesses of one tensor by several threads. A barrier is explicit,
// or the end of a loop whose accumulators are combined.
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "ir/dependence.h"
#include "mote/base/error.h"
#include "mote/codegen/walk.h"
#include "schedule/block_accesses.h"
#include "schedule/iterations.h"
#include "schedule/unit_strides.h"

namespace mote {
namespace {

bool shares_within_block(const Stmt& s) {
  bool found = false;
  for_each({s}, [&](const Stmt& inner) {
    const Loop* loop = as_loop(inner);
    found = found || (loop != nullptr && is_within_block(loop->kind));
  });
  return found;
}

bool has_barrier(const Body& body) {
  bool found = false;
  for_each(body, [&](const Stmt& s) {
    const Loop* loop = as_loop(s);
    found = found || std::holds_alternative<Barrier>(s.kind) ||
            (loop != nullptr && !loop->accumulators.empty() && shares_within_block(s));
  });
  return found;
}

class BlockVerifier {
 public:
  explicit BlockVerifier(const LoopProgram& p) : p_(p) {}

  /// Checks statements outside of a grid.
  void outside(const Body& body) {
    for (const Stmt& s : body) {
      const Loop* loop = as_loop(s);
      check(!std::holds_alternative<Barrier>(s.kind), s, "a barrier outside of a grid");
      check(loop == nullptr || !is_within_block(loop->kind), s,
            "threads of a block share it outside of a grid");
      if (loop != nullptr && loop->kind == LoopKind::grid)
        iteration(threads_chain(*loop).back()->body);
      else if (const Body* nested = nested_body(s))
        outside(*nested);
    }
  }

 private:
  void check(bool holds, const Stmt& s, const std::string& what) const {
    if (holds) return;
    const std::string text = to_string(s);
    throw InternalError(
        fmt::format("{}: `{}`: {}", p_.name, text.substr(0, text.find('\n')), what));
  }

  void iteration(const Body& body) const {
    BlockAccesses since;
    all_threads(body, since, true);
  }

  /// Checks statements that all threads of a block run. `is_uniform`: all of them do, or none.
  void all_threads(const Body& body, BlockAccesses& since, bool is_uniform) const {
    for (const Stmt& s : body) {
      const Loop* loop = as_loop(s);
      if (std::holds_alternative<Barrier>(s.kind)) {
        check(is_uniform, s, "only some threads of a block may reach it");
        since = {};
      } else if (const auto* branch = std::get_if<If>(&s.kind)) {
        access(s, since, accesses_of(p_, branch->conditions));
        BlockAccesses taken = since;
        all_threads(branch->body, taken, is_uniform && !loads(branch->conditions));
        since.add(taken);
      } else if (loop != nullptr && shares_within_block(s)) {
        shared_loop(s, since, is_uniform);
      } else {
        check(loop == nullptr || loop->kind == LoopKind::serial || loop->kind == LoopKind::unrolled,
              s, "it stands in an iteration of a grid");
        const BlockAccesses own = accesses_of(p_, s);
        check(own.stored.empty(), s, "all threads of a block store the same element");
        access(s, since, own);
      }
    }
  }

  void shared_loop(const Stmt& s, BlockAccesses& since, bool is_uniform) const {
    const Loop& loop = *as_loop(s);
    if (is_within_block(loop.kind)) {
      within_block(loop, loop.kind == LoopKind::warp);
      access(s, since, accesses_of(p_, s));
    } else {
      check(loop.kind == LoopKind::serial, s, "threads of a block share loops in it");
      const bool is_alike = !loop.begin.has_load() && !loop.end.has_load() && !loop.step.has_load();
      all_threads(loop.body, since, is_uniform && is_alike);
      if (has_barrier(loop.body) || !independent_iterations(p_, s))
        all_threads(loop.body, since, is_uniform && is_alike);  // the next iteration
    }
    if (loop.accumulators.empty()) return;
    check(is_uniform, s, "only some threads of a block may combine its accumulators");
    since = {};
  }

  /// Checks the iterations of a loop within a block, which one thread runs, or all of a warp.
  void within_block(const Loop& loop, bool is_of_warp) const {
    for (const Stmt& s : loop.body) {
      const Loop* inner = as_loop(s);
      check(!std::holds_alternative<Barrier>(s.kind), s,
            "only some threads of a block may reach it");
      if (inner != nullptr && inner->kind == LoopKind::block_threads && is_of_warp) {
        within_block(*inner, false);
        continue;
      }
      check(inner == nullptr || (!is_within_block(inner->kind) && inner->kind != LoopKind::grid &&
                                 inner->kind != LoopKind::threads),
            s, "it stands in a loop within a block");
      check(!is_of_warp || accesses_of(p_, s).stored.empty(), s,
            "all threads of a warp store the same element");
      check(inner == nullptr || inner->kind != LoopKind::simd || is_over_adjacent(s), s,
            "a thread moves several elements at once, which are not known to be adjacent");
    }
  }

  bool is_over_adjacent(const Stmt& simd) const {
    const auto needed = unit_strides(p_, simd);
    return needed && std::ranges::all_of(*needed, [&](const KnownStride& k) {
             return std::ranges::find(p_.strides, k) != p_.strides.end();
           });
  }

  /// Adds the accesses of a statement to those since the last barrier.
  void access(const Stmt& s, BlockAccesses& since, const BlockAccesses& own) const {
    check(!need_barrier(since, own), s,
          "no barrier stands between it and another access of what it accesses");
    since.add(own);
  }

  static bool loads(const Conditions& conditions) {
    return std::ranges::any_of(conditions, [](const Condition& c) { return c.e.has_load(); });
  }

  const LoopProgram& p_;
};

}  // namespace

void verify_blocks(const LoopProgram& p) { BlockVerifier(p).outside(p.body); }

}  // namespace mote
