// SPDX-License-Identifier: Apache-2.0
// Chooses the loops of each nest that threads share: the outermost, including those under
// conditions, and those directly below them.
#include <algorithm>
#include <set>

#include "ir/dependence.h"
#include "mote/codegen/walk.h"
#include "passes/conditions.h"
#include "schedule/iterations.h"
#include "schedule/take.h"
#include "schedule/versions.h"

namespace mote {
namespace {

/// The number of iterations of an innermost loop that one thread takes together.
constexpr std::int64_t kPart = 4096;

/// The least number of iterations of an innermost loop in a part that is moved outward: threads
/// that write parts side by side share few lines of the cache.
constexpr std::int64_t kOutward = 64;

/// Returns true if threads share parts of the loop: it is innermost, and may be long.
bool is_shared_by_parts(const Loop& loop) { return !holds_loop(loop.body) && loop.step == Expr(1); }

/// Returns true if the loop is innermost and has at most the iterations of one part.
bool is_one_part(const Loop& loop) {
  const auto most = most_iterations(loop);
  return is_shared_by_parts(loop) && most && *most <= kPart;
}

/// Returns the variable of the loop whose body holds the loop.
std::string loop_around(const LoopProgram& p, const std::string& loop) {
  Path path = *find_loop(p, loop);
  path.pop_back();
  return as_loop(at(p, path))->variable.name();
}

/// Returns true if the loop has few iterations: those of a tile, along a window, or a constant
/// number. The positions of a window, whose number follows from several sizes, are many.
bool has_few(const Loop& loop) {
  const Expr extent = loop.end - loop.begin;
  if (!mentions_loop(extent)) return extent.constant().has_value();
  const Expr most = unchanging(loop.end, Atom::Kind::min) - unchanging(loop.begin, Atom::Kind::max);
  return mentions_loop(most) || most.constant() || most.as_symbol();
}

/// Returns how many loops with many iterations, one in the other, the body holds at most.
int depth_of_many(const Body& body) {
  int depth = 0;
  for (const Stmt& s : body) {
    const Body* inner = nested_body(s);
    if (inner == nullptr) continue;
    const Loop* l = as_loop(s);
    depth = std::max(depth, depth_of_many(*inner) + (l == nullptr || has_few(*l) ? 0 : 1));
  }
  return depth;
}

/// Returns true if limits of loops in the body change with the variables, and with no others.
bool has_limits_of(const Body& body, const std::set<Symbol>& variables) {
  bool found = false;
  for_each(body, [&](const Stmt& s) {
    const Loop* l = as_loop(s);
    if (l == nullptr) return;
    std::set<Symbol> changing;
    for (const Expr& e : {l->begin, l->end})
      for (const Symbol v : e.symbols())
        if (v.kind() == SymbolKind::loop) changing.insert(v);
    found = found || (!changing.empty() && std::ranges::includes(variables, changing));
  });
  return found;
}

/// Returns how many of the loops threads share. Each iteration that threads share computes the
/// limits of the loops in it anew. Where it is short, with one loop of many iterations at most, a
/// loop on which some limits do not depend is left to each thread, which computes these before it.
/// So is a last loop of one part. One of these alone is shared unless it runs in vectors.
std::size_t loops_to_share(const SharedLoops& shared) {
  std::set<Symbol> variables;
  for (std::size_t k = 0; k < shared.loops.size(); ++k) {
    const Loop& loop = *shared.loops[k];
    if (k > 0 && depth_of_many(loop.body) < 2 && has_limits_of(loop.body, variables)) return k;
    variables.insert(loop.variable);
  }
  const Loop& last = *shared.loops.back();
  const bool stays = is_one_part(last) && (shared.loops.size() > 1 || last.kind == LoopKind::simd);
  return shared.loops.size() - (stays ? 1 : 0);
}

/// Where iterations of the nest depend on one another, as those of a scatter do, moves a loop in
/// vectors, along which they are apart, outward, and returns the loop over its parts.
std::optional<std::string> moved_outward(Version& v, const std::string& nest,
                                         const ScheduleOptions& options) {
  std::vector<std::string> in_vectors;
  for_each(as_loop(at(v.program, *find_loop(v.program, nest)))->body, [&](const Stmt& s) {
    const Loop* l = as_loop(s);
    if (l != nullptr && l->kind == LoopKind::simd) in_vectors.push_back(l->variable.name());
  });
  for (const std::string& loop : in_vectors)
    if (!take(v, {StepKind::outward, {{loop, kOutward}}}, options))
      return loop_around(v.program, nest);
  return std::nullopt;
}

/// Returns the variables of the loops in the body that are in no other loop of it.
std::vector<std::string> loops_in(const Body& body) {
  std::vector<std::string> names;
  for (const Stmt& s : body) {
    if (const Loop* loop = as_loop(s))
      names.push_back(loop->variable.name());
    else if (const Body* branch = nested_body(s))
      std::ranges::move(loops_in(*branch), std::back_inserter(names));
  }
  return names;
}

/// Returns true if an iteration of the loop is short: it holds nothing but a loop of one part.
bool is_short(const Loop& loop) {
  const Loop* inner = loop.body.size() == 1 ? as_loop(loop.body.front()) : nullptr;
  return inner != nullptr && is_one_part(*inner);
}

/// Shares the nest's outermost loops among threads; returns false if their iterations may depend on
/// one another. In a block, a last loop of short iterations is left to each thread, which then
/// computes addresses before it, not for each iteration anew.
bool share_nest(Version& v, std::string first, bool in_block, const ScheduleOptions& options) {
  LoopProgram& p = v.program;
  auto shared = shared_loops(p, at(p, *find_loop(p, first)));
  if (!shared) {
    const auto parts = moved_outward(v, first, options);
    if (!parts) return false;
    first = *parts;
    shared = shared_loops(p, at(p, *find_loop(p, first)));
  }
  if (!shared) return false;
  const Path path = *find_loop(p, first);
  const std::size_t all = shared->loops.size();
  shared->loops.resize(loops_to_share(*shared));
  const auto is_unrolled = [](const Loop* l) { return l->kind == LoopKind::unrolled; };
  shared->loops.erase(std::ranges::find_if(shared->loops, is_unrolled), shared->loops.end());
  if (in_block && shared->loops.size() > 2 && is_short(*shared->loops.back()))
    shared->loops.pop_back();
  if (shared->loops.empty()) return true;
  const Loop& innermost = *shared->loops.back();
  Step threads{StepKind::threads, {}};
  for (const Loop* loop : shared->loops) threads.targets.push_back({loop->variable.name()});
  const std::string last = threads.targets.back().name;
  const auto own = shared->loops.size() == all
                       ? shared->own
                       : *independent_iterations(p, at(p, *find_loop(p, last)));
  if (why_not_own(p, *find_loop(p, last), threads.targets, own)) return false;
  if (is_shared_by_parts(innermost) && own.empty() &&
      !take(v, {StepKind::split, {{last, kPart}}}, options))
    threads.targets.back().name = loop_around(p, last);
  mark_shared(p, path, threads.targets, own);
  v.steps.push_back({std::move(threads), ""});
  return true;
}

/// Where blocks of sums are added up one after the other, shares the outermost loops in the loop
/// over the blocks: each has work for all threads.
void share_in_blocks(Version& v, const std::string& loop, bool in_block,
                     const ScheduleOptions& options) {
  const auto has_kind = [&] {
    return as_loop(at(v.program, *find_loop(v.program, loop)))->kind != LoopKind::serial;
  };
  if (has_kind() || (in_block && share_nest(v, loop, true, options))) return;
  const Loop& l = *as_loop(at(std::as_const(v.program), *find_loop(v.program, loop)));
  const bool is_over_blocks = l.step != Expr(1);
  for (const std::string& inner : loops_in(l.body))
    share_in_blocks(v, inner, in_block || is_over_blocks, options);
}

}  // namespace

void share_outermost(Version& v, const ScheduleOptions& options) {
  for (const std::string& first : names_of_loops(v.program, outermost_loops(v.program)))
    if (!share_nest(v, first, false, options)) share_in_blocks(v, first, false, options);
}

}  // namespace mote
