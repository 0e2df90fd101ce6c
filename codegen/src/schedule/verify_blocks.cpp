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
            std::holds_alternative<WaitForCopies>(s.kind) ||
            (loop != nullptr && loop->kind == LoopKind::ahead) ||
            (loop != nullptr && !loop->accumulators.empty() && shares_within_block(s));
  });
  return found;
}

/// The iterations after which parts of shared memory must have been accessed in a cycle.
constexpr std::size_t kMaxIterations = 16;

class BlockVerifier {
 public:
  explicit BlockVerifier(const LoopProgram& p) : p_(p) {}

  /// Checks statements outside of a grid.
  void outside(const Body& body) {
    for (const Stmt& s : body) {
      const Loop* loop = as_loop(s);
      check(!std::holds_alternative<Barrier>(s.kind), s, "a barrier outside of a grid");
      check(!std::holds_alternative<WaitForCopies>(s.kind), s, "a wait outside of a grid");
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

  /// The accesses of the threads since the last barrier, and the asynchronous copies under way.
  struct State {
    BlockAccesses since;
    std::vector<BlockAccesses> copies;
    friend bool operator==(const State&, const State&) = default;
  };

  void iteration(const Body& body) const {
    State state;
    all_threads(body, state, true);
    if (!state.copies.empty())
      throw InternalError(
          fmt::format("{}: copies are under way at the end of an iteration of a grid", p_.name));
    // A block takes several iterations, with the same memory of its own.
    const auto is_elsewhere = [](const AccessedPart& a) { return !is_of_block(a.tensor->memory); };
    std::erase_if(state.since.read, is_elsewhere);
    std::erase_if(state.since.stored, is_elsewhere);
    if (!state.since.read.empty() || !state.since.stored.empty()) all_threads(body, state, true);
  }

  /// Checks statements that all threads of a block run. `is_uniform`: all of them do, or none.
  void all_threads(const Body& body, State& state, bool is_uniform) const {
    for (const Stmt& s : body) {
      const Loop* loop = as_loop(s);
      if (std::holds_alternative<Barrier>(s.kind)) {
        check(is_uniform, s, "only some threads of a block may reach it");
        state.since = {};
      } else if (const auto* wait = std::get_if<WaitForCopies>(&s.kind)) {
        while (state.copies.size() > static_cast<std::size_t>(wait->pending)) {
          state.since.add(state.copies.front());
          state.copies.erase(state.copies.begin());
        }
      } else if (const auto* branch = std::get_if<If>(&s.kind)) {
        access(s, state, accesses_of(p_, branch->conditions));
        State taken = state;
        all_threads(branch->body, taken, is_uniform && !loads(branch->conditions));
        check(taken.copies == state.copies, s, "copies begin or end in it");
        state.since.add(taken.since);
      } else if (loop != nullptr && loop->kind == LoopKind::ahead) {
        copy(s, state);
      } else if (loop != nullptr && shares_within_block(s)) {
        shared_loop(s, state, is_uniform);
      } else {
        check(loop == nullptr || loop->kind == LoopKind::serial || loop->kind == LoopKind::unrolled,
              s, "it stands in an iteration of a grid");
        const BlockAccesses own = accesses_of(p_, s);
        check(own.stored.empty(), s, "all threads of a block store the same element");
        access(s, state, own);
      }
    }
  }

  /// Checks an asynchronous copy, which stores at any time until a thread waits for it.
  void copy(const Stmt& s, State& state) const {
    const Stmt* inner = &s;
    while (const Body* nested = as_loop(*inner) != nullptr ? nested_body(*inner) : nullptr) {
      check(nested->size() == 1, s, "it does more than copy");
      inner = &nested->front();
    }
    const auto* store = std::get_if<Store>(&inner->kind);
    const auto* guard = store == nullptr ? nullptr : std::get_if<value::Guard>(&store->value->kind);
    const bool is_copy =
        store != nullptr && find_tensor(p_, store->tensor)->memory == TensorMemory::shared &&
        std::holds_alternative<value::Load>((guard != nullptr ? guard->then : store->value)->kind);
    check(is_copy, s, "it does more than copy to shared memory");
    const BlockAccesses own = accesses_of(p_, s);
    check_access(s, state, own);
    state.since.add({own.read, {}});
    state.copies.push_back(own);
  }

  void shared_loop(const Stmt& s, State& state, bool is_uniform) const {
    const Loop& loop = *as_loop(s);
    if (is_within_block(loop.kind)) {
      within_block(loop, loop.kind == LoopKind::warp);
      access(s, state, accesses_of(p_, s));
    } else {
      check(loop.kind == LoopKind::serial, s, "threads of a block share loops in it");
      const bool is_alike = !loop.begin.has_load() && !loop.end.has_load() && !loop.step.has_load();
      iterations(s, state, is_uniform && is_alike);
    }
    if (loop.accumulators.empty()) return;
    check(is_uniform, s, "only some threads of a block may combine its accumulators");
    state.since = {};
  }

  /// Adds the parts that statements access which all threads of a block run.
  void add_parts(const Body& body, std::vector<AccessedPart>& parts) const {
    for (const Stmt& s : body) {
      const Loop* loop = as_loop(s);
      const bool is_shared = loop != nullptr && is_within_block(loop->kind);
      if (nested_body(s) != nullptr && !is_shared) {
        add_parts(*nested_body(s), parts);
        continue;
      }
      const BlockAccesses own = accesses_of(p_, s);
      parts.insert(parts.end(), own.read.begin(), own.read.end());
      parts.insert(parts.end(), own.stored.begin(), own.stored.end());
    }
  }

  /// Returns the least number of iterations after which the loop accesses the same parts again.
  std::size_t cycle_of(const Stmt& s) const {
    const Loop& loop = *as_loop(s);
    const auto parts_in = [&](int iterations) {
      Body now = loop.body;
      substitute(now, {{loop.variable, Expr(loop.variable) + iterations * loop.step}});
      std::vector<AccessedPart> parts;
      add_parts(now, parts);
      return parts;
    };
    const std::vector<AccessedPart> first = parts_in(0);
    for (int cycle = 1; cycle < static_cast<int>(kMaxIterations); ++cycle)
      if (std::ranges::equal(first, parts_in(cycle), are_the_same))
        return static_cast<std::size_t>(cycle);
    check(false, s, "parts of shared memory are not accessed in a cycle");
    return 1;
  }

  /// Checks the iterations of a loop that all threads run, one after the other, until an iteration
  /// ends as an earlier one did. Then the loop may have ended in any of these states, or in that
  /// before it.
  void iterations(const Stmt& s, State& state, bool is_uniform) const {
    const Loop& loop = *as_loop(s);
    if (!has_barrier(loop.body) && independent_iterations(p_, s)) {
      all_threads(loop.body, state, is_uniform);
      return;
    }
    const std::size_t cycle = cycle_of(s);
    std::vector<State> seen = {state};
    const auto is_seen = [&] {
      for (std::size_t k = seen.size() % cycle; k < seen.size(); k += cycle)
        if (seen[k] == state) return true;
      return false;
    };
    for (Expr at = loop.begin; true; at = at + loop.step) {
      check(seen.size() < kMaxIterations, s, "parts of shared memory are not accessed in a cycle");
      Body now = loop.body;
      substitute(now, {{loop.variable, at}});
      all_threads(now, state, is_uniform);
      if (is_seen()) break;
      seen.push_back(state);
    }
    for (const State& other : seen) {
      check(other.copies.size() == state.copies.size(), s,
            "an iteration begins more copies than it waits for");
      state.since.add(other.since);
      for (std::size_t k = 0; k < other.copies.size(); ++k) state.copies[k].add(other.copies[k]);
    }
  }

  /// Checks the iterations of a loop within a block, which one thread runs, or all of a warp.
  void within_block(const Loop& loop, bool is_of_warp) const {
    for (const Stmt& s : loop.body) {
      const Loop* inner = as_loop(s);
      check(!std::holds_alternative<Barrier>(s.kind), s,
            "only some threads of a block may reach it");
      check(!std::holds_alternative<WaitForCopies>(s.kind), s,
            "it stands in a loop within a block");
      const bool is_nest = inner != nullptr && are_counted(loop, *inner);
      if (inner != nullptr && inner->kind == LoopKind::block_threads && (is_of_warp || is_nest)) {
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

  /// Returns true for a nest of two loops that the threads of a block share together: each has a
  /// constant number of iterations, and the inner one is all that the outer one does.
  static bool are_counted(const Loop& outer, const Loop& inner) {
    const auto is_counted = [](const Loop& l) {
      return l.begin == Expr(0) && l.end.constant() && l.step == Expr(1);
    };
    return outer.kind == LoopKind::block_threads && outer.body.size() == 1 && is_counted(outer) &&
           is_counted(inner);
  }

  bool is_over_adjacent(const Stmt& simd) const {
    const auto needed = unit_strides(p_, simd);
    return needed && std::ranges::all_of(*needed, [&](const KnownStride& k) {
             return std::ranges::find(p_.strides, k) != p_.strides.end();
           });
  }

  void check_access(const Stmt& s, const State& state, const BlockAccesses& own) const {
    check(!need_barrier(state.since, own), s,
          "no barrier stands between it and another access of what it accesses");
    for (const BlockAccesses& copy : state.copies)
      check(!need_barrier(copy, own), s, "a copy to what it accesses is under way");
  }

  /// Adds the accesses of a statement to those since the last barrier.
  void access(const Stmt& s, State& state, const BlockAccesses& own) const {
    check_access(s, state, own);
    state.since.add(own);
  }

  static bool loads(const Conditions& conditions) {
    return std::ranges::any_of(conditions, [](const Condition& c) { return c.e.has_load(); });
  }

  const LoopProgram& p_;
};

}  // namespace

void verify_blocks(const LoopProgram& p) { BlockVerifier(p).outside(p.body); }

}  // namespace mote
