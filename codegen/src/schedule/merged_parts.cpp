// SPDX-License-Identifier: Apache-2.0
// Decides whether iterations over parts of a range may run together, as one over a larger part.
#include <algorithm>

#include "ir/dependence.h"
#include "ir/references.h"
#include "schedule/iterations.h"

namespace mote {
namespace {

/// Adds the loops in the body that run over the part that begins at v, and returns how often the
/// body mentions v.
int find_loops_over(const Body& body, Symbol v, const Expr& end, std::vector<const Stmt*>& found) {
  int mentions = 0;
  for_each(body, [&](const Stmt& s) {
    if (const Loop* l = as_loop(s); l != nullptr && l->begin == Expr(v) && l->end == end) {
      found.push_back(&s);
      mentions -= 2;
    }
    for_each_expr(s, [&](const Expr& e) { mentions += e.mentions(v) ? 1 : 0; });
  });
  return mentions;
}

}  // namespace

std::vector<const Loop*> mergeable_parts(const LoopProgram& p, const Stmt& parts) {
  const Loop& loop = *as_loop(parts);
  std::vector<const Stmt*> cut;
  const Expr end = min(Expr(loop.variable) + loop.step, loop.end);
  if (find_loops_over(loop.body, loop.variable, end, cut) != 0) return {};
  const auto own = independent_iterations(p, parts);
  if (!own) return {};
  std::vector<const Loop*> loops;
  for (const Stmt* s : cut) {
    const auto own_in_loop = independent_iterations(p, *s);
    for (const std::string& t : tensors_written(as_loop(*s)->body))
      if (own->contains(t) && !(own_in_loop && own_in_loop->contains(t))) return {};
    loops.push_back(as_loop(*s));
  }
  return loops;
}

}  // namespace mote
