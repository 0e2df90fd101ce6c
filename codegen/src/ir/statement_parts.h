// SPDX-License-Identifier: Apache-2.0
// The parts of a statement that walks and rewriting visit.
#pragma once

#include <utility>
#include <variant>

#include "mote/base/overloaded.h"
#include "mote/codegen/loops.h"

namespace mote {

/// Returns the body of a loop or branch; null for others.
inline const Body* body_of(const Stmt& s) {
  if (const auto* loop = std::get_if<Loop>(&s.kind)) return &loop->body;
  if (const auto* branch = std::get_if<If>(&s.kind)) return &branch->body;
  return nullptr;
}

inline Body* body_of(Stmt& s) { return const_cast<Body*>(body_of(std::as_const(s))); }

/// Returns the value that the statement stores, folds or binds; null for loops, branches,
/// barriers and waits.
inline const Value* value_of(const Stmt& s) {
  return std::visit(Overloaded{[](const Loop&) -> const Value* { return nullptr; },
                               [](const If&) -> const Value* { return nullptr; },
                               [](const Barrier&) -> const Value* { return nullptr; },
                               [](const WaitForCopies&) -> const Value* { return nullptr; },
                               [](const auto& other) -> const Value* { return &other.value; }},
                    s.kind);
}

inline Value* value_of(Stmt& s) { return const_cast<Value*>(value_of(std::as_const(s))); }

/// Calls f on the index expressions of a statement outside of its value and its body.
template <typename F>
void for_each_own_expr(const Stmt& s, const F& f) {
  std::visit(Overloaded{[&](const Loop& l) {
                          for (const Expr* e : {&l.begin, &l.end, &l.step}) f(*e);
                          for (const LoopDigit& d : l.digits)
                            for (const Expr* e : {&d.begin, &d.end, &d.step}) f(*e);
                          if (!l.digits.empty()) f(l.number);
                        },
                        [&](const If& i) {
                          for (const Condition& c : i.conditions) f(c.e);
                        },
                        [&](const Store& st) {
                          for (const Expr& e : st.index) f(e);
                        },
                        [&](const StoreReduce& st) {
                          for (const Expr& e : st.index) f(e);
                        },
                        [&](const Fold& fold) { f(fold.position); }, [](const Let&) {},
                        [](const Barrier&) {}, [](const WaitForCopies&) {}},
             s.kind);
}

/// Calls f on the nodes that contain an index expression or a load, outer first.
template <typename F>
void for_each_with_index(const Value& v, const F& f) {
  if (!v->has_index) return;
  f(v);
  if (const auto* op = std::get_if<value::Op>(&v->kind)) {
    for (const Value& a : op->args) for_each_with_index(a, f);
  } else if (const auto* guard = std::get_if<value::Guard>(&v->kind)) {
    for_each_with_index(guard->then, f);
  }
}

}  // namespace mote
