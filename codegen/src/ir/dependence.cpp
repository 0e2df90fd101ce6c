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

/// Adds the names and accumulators that the statement and its nested statements declare or read.
/// No other statement sees nested Lets.
void add_names(const Stmt& s, bool is_nested, Effects& e) {
  if (const auto* let = std::get_if<Let>(&s.kind); let && !is_nested) e.bound.insert(let->name);
  if (const Loop* loop = as_loop(s))
    for (const Accumulator& a : loop->accumulators) e.bound.insert(a.name);
  for_each_value(s, [&](const Value& v) {
    if (const auto* bound = std::get_if<value::Named>(&v->kind)) e.used.insert(bound->name);
    if (const auto* a = std::get_if<value::Accumulated>(&v->kind)) e.used.insert(a->name);
  });
  for_each_expr(s, [&](const Expr& expr) {
    for_each_load(expr, [&](const Atom& a) {
      if (a.args.empty()) e.used.insert(a.tensor);
    });
  });
  if (const Body* nested = nested_body(s))
    for (const Stmt& inner : *nested) add_names(inner, true, e);
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
    for_each_access(s, [&](const std::string& tensor, const std::vector<Expr>&, bool write) {
      if (write) r.insert(tensor);
    });
  return r;
}

Effects effects_of(std::span<const Stmt> body) {
  Effects e;
  for (const Stmt& s : body) {
    for_each_access(s, [&](const std::string& tensor, const std::vector<Expr>&, bool write) {
      e.touched.insert(tensor);
      if (write) e.written.insert(tensor);
    });
    add_names(s, false, e);
  }
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

std::vector<const Loop*> threads_chain(const Loop& first) {
  std::vector<const Loop*> chain = {&first};
  while (chain.back()->body.size() == 1) {
    const Loop* next = as_loop(chain.back()->body.front());
    if (next == nullptr || next->kind != LoopKind::threads) break;
    chain.push_back(next);
  }
  return chain;
}

std::vector<const Loop*> first_of_threads(const Body& body) {
  std::vector<const Loop*> first;
  for (const Stmt& s : body) {
    const Body* inner = nested_body(s);
    if (inner == nullptr) continue;
    const Loop* loop = as_loop(s);
    if (loop != nullptr && loop->kind == LoopKind::threads) {
      first.push_back(loop);
      inner = &threads_chain(*loop).back()->body;
    }
    const std::vector<const Loop*> below = first_of_threads(*inner);
    first.insert(first.end(), below.begin(), below.end());
  }
  return first;
}

void mark_threads(Loop& first, std::size_t n) {
  Loop* loop = &first;
  for (std::size_t k = 0; loop != nullptr; ++k) {
    if (k >= n && loop->kind != LoopKind::threads) return;
    loop->kind = k < n ? LoopKind::threads : LoopKind::serial;
    loop = loop->body.size() == 1 ? as_loop(loop->body.front()) : nullptr;
  }
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
