// SPDX-License-Identifier: Apache-2.0
// One step of a schedule: shares the iterations of a loop, and of those directly below it, among
// threads. What an iteration fills before it reads becomes its own.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "ir/dependence.h"
#include "passes/conditions.h"
#include "schedule/iterations.h"
#include "schedule/take.h"

namespace mote {
namespace {

/// Counts the iterations of loops, from an outer one to those in it. A loop over tiles counts with
/// all iterations of its tiles, so that the loop over one of them, in it, counts as 1; so do the
/// rows of a square, which a block of rows around it has counted. A loop along a window counts as
/// if no part of the window lay outside.
class Work {
 public:
  void enter(const Loop& loop) {
    const Expr extent =
        unchanging(loop.end, Atom::Kind::min) - unchanging(loop.begin, Atom::Kind::max);
    const auto count = extent.constant();
    const auto block = mentions_loop(extent) ? most_iterations(loop) : count;
    const bool is_of_tile = (mentions_loop(extent) && !block) ||
                            (block && tiles_.contains(*block)) || loop.kind == LoopKind::transposed;
    if (!is_of_tile && !extent.has_load()) iterations_ = iterations_ * (block ? *block : extent);
    if (const auto step = loop.step.constant(); step && *step > 1) tiles_.insert(*step);
  }
  const Expr& iterations() const { return iterations_; }

 private:
  Expr iterations_ = 1;
  std::set<std::int64_t> tiles_;
};

int depth_of(const Body& body) {
  int depth = 0;
  for (const Stmt& s : body)
    if (const Body* inner = nested_body(s))
      depth = std::max(depth, depth_of(*inner) + (as_loop(s) != nullptr ? 1 : 0));
  return depth;
}

/// Appends the loops in the body that are in no other loop of it.
void add_loops_of(const Body& body, std::vector<const Loop*>& loops) {
  for (const Stmt& s : body) {
    const Loop* loop = as_loop(s);
    if (loop != nullptr && loop->kind != LoopKind::unrolled)
      loops.push_back(loop);
    else if (const Body* branch = loop == nullptr ? nested_body(s) : nullptr)
      add_loops_of(*branch, loops);
  }
}

/// Counts the iterations of the innermost loops below, along the deepest branch of the tree.
void add_work_in(const Body& body, Work& work) {
  std::vector<const Loop*> loops;
  add_loops_of(body, loops);
  const Loop* chosen = nullptr;
  for (const Loop* loop : loops)
    if (chosen == nullptr || !holds_loop(chosen->body) ||
        depth_of(loop->body) > depth_of(chosen->body))
      chosen = loop;
  if (chosen == nullptr) return;
  work.enter(*chosen);
  add_work_in(chosen->body, work);
}

bool is_in_threads(const LoopProgram& p, const Path& path) {
  for (std::size_t depth = 1; depth < path.size(); ++depth) {
    const Path above(path.begin(), path.begin() + static_cast<std::ptrdiff_t>(depth));
    const Loop* loop = as_loop(at(p, above));
    if (loop != nullptr && loop->kind == LoopKind::threads) return true;
  }
  return false;
}

bool holds_threads(const Loop& loop) {
  return loop.kind == LoopKind::threads || !first_of_threads(loop.body).empty();
}

}  // namespace

Refusal why_not_own(const LoopProgram& p, const Path& innermost,
                    const std::vector<StepTarget>& loops, const std::set<std::string>& own) {
  std::set<Symbol> inside;
  for (const StepTarget& l : loops) inside.insert(Symbol(SymbolKind::loop, l.name));
  for_each(as_loop(at(p, innermost))->body, [&](const Stmt& s) {
    if (const Loop* l = as_loop(s)) inside.insert(l->variable);
  });
  for (const TensorDecl& t : p.tensors)
    if (own.contains(t.name) && t.per && !inside.contains(*t.per))
      return fmt::format("its iterations share the temporary {}, which is local to those of {}",
                         t.name, t.per->name());
  return std::nullopt;
}

Expr unchanging(const Expr& limit, Atom::Kind kind) {
  const Atom* atom = limit.as_atom();
  if (atom == nullptr || atom->kind != kind) return limit;
  std::optional<Expr> shortest;
  for (const Expr& e : atom->args)
    if (!mentions_loop(e) && (!shortest || e.terms().size() < shortest->terms().size()))
      shortest = e;
  return shortest.value_or(limit);
}

void mark_shared(LoopProgram& p, const Path& first, const std::vector<StepTarget>& loops,
                 const std::set<std::string>& own) {
  Work work;
  std::set<Symbol> variables;
  Path path = first;
  for (std::size_t k = 0; k < loops.size(); ++k) {
    if (k > 0) path.push_back(0);
    work.enter(*as_loop(at(p, path)));
    variables.insert(as_loop(at(p, path))->variable);
  }
  add_work_in(as_loop(at(p, path))->body, work);
  for (TensorDecl& t : p.tensors)
    if (own.contains(t.name) && (!t.per || variables.contains(*t.per)))
      t.per = as_loop(at(p, path))->variable;
  Loop& outermost = *as_loop(at(p, first));
  mark_threads(outermost, loops.size());
  outermost.work = work.iterations();
}

Refusal share_among_threads(LoopProgram& p, const Path& first,
                            const std::vector<StepTarget>& loops) {
  const Stmt& s = at(p, first);
  if (is_in_threads(p, first) || holds_threads(*as_loop(s)))
    return "threads share the iterations of a loop around it, or in it, already";
  const auto shared = shared_loops(p, s);
  if (!shared) return kDependent;
  Path path = first;
  for (std::size_t k = 0; k < loops.size(); ++k) {
    const std::string& name = loops[k].name;
    if (k == shared->loops.size() || shared->loops[k]->variable.name() != name)
      return fmt::format(
          "{} is not the only statement of {}, with limits that do not change and iterations that "
          "are independent",
          name, loops[k == 0 ? 0 : k - 1].name);
    if (shared->loops[k]->kind != LoopKind::serial)
      return fmt::format("{} has a kind already; a simd loop may be split first", name);
    if (k > 0) path.push_back(0);
  }
  const std::set<std::string> own = *independent_iterations(p, at(p, path));
  if (auto why = why_not_own(p, path, loops, own)) return why;
  mark_shared(p, first, loops, own);
  return std::nullopt;
}

}  // namespace mote
