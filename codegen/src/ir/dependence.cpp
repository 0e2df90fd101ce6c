// SPDX-License-Identifier: Apache-2.0
// Summarises the reads and writes of statements.
#include "ir/dependence.h"

#include <algorithm>
#include <utility>

namespace mote {
namespace {

void add_loads(const Expr& e, const std::vector<const Stmt*>& path,
               std::vector<PlacedAccess>& out) {
  if (!e.has_load()) return;
  e.transform([&](const Atom& a) {
    if (a.kind == Atom::Kind::load) out.push_back({{a.tensor, a.args, false}, path});
    return Expr::from_atom(a);
  });
}

void collect(const Body& body, std::vector<const Stmt*>& path, std::vector<PlacedAccess>& out) {
  for (const Stmt& s : body) {
    if (const Body* nested = nested_body(s)) {
      for_each_expr(s, [&](const Expr& e) { add_loads(e, path, out); });
      path.push_back(&s);
      collect(*nested, path, out);
      path.pop_back();
    } else {
      for (Access& a : accesses(s)) out.push_back({std::move(a), path});
    }
  }
}

bool intersect(const std::set<std::string>& a, const std::set<std::string>& b) {
  if (a.size() > b.size()) return intersect(b, a);
  return std::any_of(a.begin(), a.end(), [&](const std::string& s) { return b.count(s) > 0; });
}

std::set<std::string> names_bound(std::span<const Stmt> body) {
  std::set<std::string> names;
  for (const Stmt& s : body) {
    if (const auto* let = std::get_if<Let>(&s.kind)) names.insert(let->name);
    for (const std::string& a : accumulators_declared({s})) names.insert(a);
  }
  return names;
}

std::set<std::string> names_used(std::span<const Stmt> body) {
  std::set<std::string> names;
  for (const Stmt& s : body) {
    for (const std::string& n : names_read(s)) names.insert(n);
    for (const std::string& a : accumulators_read({s})) names.insert(a);
  }
  return names;
}

}  // namespace

const Body* nested_body(const Stmt& s) {
  if (const auto* loop = std::get_if<Loop>(&s.kind)) return &loop->body;
  if (const auto* branch = std::get_if<If>(&s.kind)) return &branch->body;
  return nullptr;
}

Body* nested_body(Stmt& s) { return const_cast<Body*>(nested_body(std::as_const(s))); }

std::vector<PlacedAccess> placed_accesses(const Body& body) {
  std::vector<PlacedAccess> out;
  std::vector<const Stmt*> path;
  collect(body, path, out);
  return out;
}

std::set<std::string> tensors_written(std::span<const Stmt> body) {
  std::set<std::string> r;
  for (const Stmt& s : body)
    for (const Access& a : accesses(s))
      if (a.write) r.insert(a.tensor);
  return r;
}

Effects effects_of(std::span<const Stmt> body) {
  Effects e;
  for (const Stmt& s : body) {
    for (const Access& a : accesses(s)) {
      e.touched.insert(a.tensor);
      if (a.write) e.written.insert(a.tensor);
    }
  }
  e.bound = names_bound(body);
  e.used = names_used(body);
  return e;
}

Effects united(Effects a, Effects b) {
  const auto unite = [](std::set<std::string>& to, std::set<std::string>& from) {
    if (to.size() < from.size()) std::swap(to, from);
    to.merge(from);
  };
  unite(a.touched, b.touched);
  unite(a.written, b.written);
  unite(a.bound, b.bound);
  unite(a.used, b.used);
  return a;
}

bool are_independent(const Effects& a, const Effects& b) {
  return !intersect(a.written, b.touched) && !intersect(b.written, a.touched) &&
         !intersect(a.bound, b.used) && !intersect(b.bound, a.used);
}

std::vector<const Loop*> perfect_chain(const Loop& loop) {
  std::vector<const Loop*> chain = {&loop};
  while (chain.back()->body.size() == 1 && chain.back()->accumulators.empty()) {
    const Loop* next = as_loop(chain.back()->body.front());
    if (!next || !next->accumulators.empty()) break;
    chain.push_back(next);
  }
  return chain;
}

}  // namespace mote
