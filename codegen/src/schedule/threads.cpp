// SPDX-License-Identifier: Apache-2.0
#include "schedule/threads.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ir/dependence.h"
#include "passes/conditions.h"
#include "schedule/iterations.h"
#include "schedule/paths.h"

namespace mote {
namespace {

/// The number of iterations of an innermost loop that one thread takes together.
constexpr std::int64_t kChunk = 4096;

Expr rounds_of(const Loop& loop) {
  const Expr extent = loop.end - loop.begin;
  return mentions_loop(extent) || extent.has_load() ? Expr(1) : extent;
}

/// Returns the number of iterations of the innermost loops below, along one branch of the tree.
Expr work_in(const Body& body) {
  const Loop* chosen = nullptr;
  for (const Stmt& s : body) {
    const Loop* loop = as_loop(s);
    if (loop != nullptr && loop->kind != LoopKind::unrolled &&
        (chosen == nullptr || !holds_loop(chosen->body)))
      chosen = loop;
  }
  return chosen == nullptr ? Expr(1) : rounds_of(*chosen) * work_in(chosen->body);
}

/// Splits the loop into one over parts of its range that holds one over the iterations of a part.
std::string split(LoopProgram& p, Stmt& s) {
  Loop& loop = *as_loop(s);
  const Symbol start(SymbolKind::loop, fresh_name(p, loop.variable.name() + "_start"));
  Loop outer{start, loop.begin, loop.end, Expr(kChunk), {}, {}};
  loop.begin = Expr(start);
  loop.end = min(Expr(start) + Expr(kChunk), outer.end);
  std::string step = fmt::format("split {} by {}", loop.variable.name(), kChunk);
  outer.body.push_back(s);
  s = {std::move(outer)};
  return step;
}

/// Marks the chain of loops from `first` down whose iterations threads may share.
void share_chain(Version& v, const Path& first) {
  LoopProgram& p = v.program;
  const auto shared = shared_loops(p, at(p, first));
  if (!shared) return;
  Expr work = 1;
  std::vector<std::string> names;
  for (const Loop* loop : shared->loops) {
    work = work * rounds_of(*loop);
    names.push_back(loop->variable.name());
  }
  Path path = first;
  path.resize(first.size() + names.size() - 1, 0);
  Loop& last = *as_loop(at(p, path));
  work = work * work_in(last.body);
  if (!holds_loop(last.body) && last.step == Expr(1) && shared->own.empty()) {
    v.steps.push_back(split(p, at(p, path)));
    names.back() = as_loop(at(p, path))->variable.name();
  }
  for (TensorDecl& t : p.tensors)
    if (shared->own.contains(t.name) && t.scope.empty()) t.scope = names.back();
  Loop& outermost = *as_loop(at(p, first));
  mark_threads(outermost, names.size());
  outermost.work = work;
  v.steps.push_back(fmt::format("threads {}", fmt::join(names, ", ")));
}

/// Marks the outermost loops of the body.
void mark_outermost(Version& v, const Body& body, const Path& above) {
  for (std::size_t k = 0; k < body.size(); ++k) {
    Path path = above;
    path.push_back(k);
    if (as_loop(body[k]) != nullptr) {
      share_chain(v, path);
    } else if (const auto* branch = std::get_if<If>(&body[k].kind)) {
      mark_outermost(v, Body(branch->body), path);
    }
  }
}

}  // namespace

void share_among_threads(Version& v) { mark_outermost(v, Body(v.program.body), {}); }

}  // namespace mote
