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

/// Returns the variable of the loop whose body holds the loop.
std::string loop_around(const LoopProgram& p, const std::string& loop) {
  Path path = *find_loop(p, loop);
  path.pop_back();
  return as_loop(at(p, path))->variable.name();
}

/// Returns how many loops with many iterations, one in the other, the body holds at most. Windows,
/// tiles and loops of a constant number of iterations have few.
int depth_of_many(const Body& body) {
  int depth = 0;
  for (const Stmt& s : body) {
    const Body* inner = nested_body(s);
    if (inner == nullptr) continue;
    const Loop* l = as_loop(s);
    const bool has_few =
        l == nullptr || (l->end - l->begin).constant() || mentions_loop(l->end - l->begin);
    depth = std::max(depth, depth_of_many(*inner) + (has_few ? 0 : 1));
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
std::size_t loops_to_share(const SharedLoops& shared) {
  std::set<Symbol> variables;
  for (std::size_t k = 0; k < shared.loops.size(); ++k) {
    const Loop& loop = *shared.loops[k];
    if (k > 0 && depth_of_many(loop.body) < 2 && has_limits_of(loop.body, variables)) return k;
    variables.insert(loop.variable);
  }
  return shared.loops.size();
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

}  // namespace

void share_outermost(Version& v, const ScheduleOptions& options) {
  for (std::string first : names_of_loops(v.program, outermost_loops(v.program))) {
    LoopProgram& p = v.program;
    if (!shared_loops(p, at(p, *find_loop(p, first)))) {
      const auto parts = moved_outward(v, first, options);
      if (!parts) continue;
      first = *parts;
    }
    const Path path = *find_loop(p, first);
    auto shared = shared_loops(p, at(p, path));
    if (!shared) continue;
    shared->loops.resize(loops_to_share(*shared));
    const Loop& innermost = *shared->loops.back();
    Step threads{StepKind::threads, {}};
    for (const Loop* loop : shared->loops) threads.targets.push_back({loop->variable.name()});
    const std::string last = threads.targets.back().name;
    const auto own = *independent_iterations(p, at(p, *find_loop(p, last)));
    if (is_shared_by_parts(innermost) && own.empty() &&
        !take(v, {StepKind::split, {{last, kPart}}}, options))
      threads.targets.back().name = loop_around(p, last);
    mark_shared(p, path, threads.targets, own);
    v.steps.push_back({std::move(threads), ""});
  }
}

}  // namespace mote
