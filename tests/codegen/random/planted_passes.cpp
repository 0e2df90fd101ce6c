// SPDX-License-Identifier: Apache-2.0
// Implements four wrong passes; each is right on many programs.
#include "planted_passes.h"

#include "mote/codegen/walk.h"

namespace mote::test {
namespace {

Body renamed(Body body, Symbol from, Symbol to) {
  rewrite_exprs(body, [&](const Expr& e) { return e.substitute({{from, Expr(to)}}); });
  return body;
}

Body* nested(Stmt& s) {
  if (auto* loop = std::get_if<Loop>(&s.kind)) return &loop->body;
  if (auto* branch = std::get_if<If>(&s.kind)) return &branch->body;
  return nullptr;
}

void drop_first_axis(Body& body, const std::string& tensor) {
  for (Stmt& s : body) {
    if (auto* store = std::get_if<Store>(&s.kind); store != nullptr && store->tensor == tensor)
      store->index.erase(store->index.begin());
    if (auto* store = std::get_if<StoreReduce>(&s.kind);
        store != nullptr && store->tensor == tensor)
      store->index.erase(store->index.begin());
    if (Body* inner = nested(s)) drop_first_axis(*inner, tensor);
  }
}

void shorten(Body& body) {
  for (Stmt& s : body) {
    if (auto* loop = std::get_if<Loop>(&s.kind); loop != nullptr && !loop->accumulators.empty())
      loop->end = loop->end - 1;
    if (Body* inner = nested(s)) shorten(*inner);
  }
}

}  // namespace

LoopProgram fuse_carelessly(LoopProgram p) {
  Body merged;
  for (Stmt& s : p.body) {
    auto* loop = std::get_if<Loop>(&s.kind);
    auto* before = merged.empty() ? nullptr : std::get_if<Loop>(&merged.back().kind);
    const bool alike = loop != nullptr && before != nullptr && loop->begin == before->begin &&
                       loop->end == before->end && loop->step == before->step &&
                       loop->accumulators.empty() && before->accumulators.empty();
    if (!alike) {
      merged.push_back(std::move(s));
      continue;
    }
    for (Stmt& inner : renamed(std::move(loop->body), loop->variable, before->variable))
      before->body.push_back(std::move(inner));
  }
  p.body = std::move(merged);
  return p;
}

LoopProgram contract_carelessly(LoopProgram p) {
  for (TensorDecl& t : p.tensors) {
    if (t.role != TensorRole::temporary || t.shape.empty()) continue;
    t.shape.erase(t.shape.begin());
    if (!t.axis_names.empty()) t.axis_names.erase(t.axis_names.begin());
    drop_first_axis(p.body, t.name);
    rewrite_values(p.body, [&](const Value& v) {
      const auto* l = std::get_if<value::Load>(&v->kind);
      if (l == nullptr || l->tensor != t.name) return v;
      return load_value(l->tensor, {l->index.begin() + 1, l->index.end()}, v->dtype);
    });
    rewrite_exprs(p.body, [&](const Expr& e) {
      return e.transform([&](const Atom& a) {
        if (a.kind != Atom::Kind::load || a.tensor != t.name) return rebuild(a);
        return load(a.tensor, {a.args.begin() + 1, a.args.end()});
      });
    });
  }
  return p;
}

LoopProgram forget_fills(LoopProgram p) {
  rewrite_values(p.body, [](const Value& v) {
    const auto* g = std::get_if<value::Guard>(&v->kind);
    if (g == nullptr) return v;
    return guard_value(g->conditions, g->then, is_real(v->dtype) ? Number(0.0) : Number(0));
  });
  return p;
}

LoopProgram drop_last_term(LoopProgram p) {
  shorten(p.body);
  return p;
}

}  // namespace mote::test
