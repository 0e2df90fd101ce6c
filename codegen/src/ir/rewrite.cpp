// SPDX-License-Identifier: Apache-2.0
// Rewrites values and index expressions of a body. Shared nodes are rewritten once and stay shared;
// what does not change stays the same node.
#include <algorithm>
#include <unordered_map>
#include <utility>

#include "ir/statement_parts.h"
#include "mote/base/overloaded.h"
#include "mote/codegen/walk.h"

namespace mote {
namespace {

std::vector<Expr> map_exprs(const std::vector<Expr>& in,
                            const std::function<Expr(const Expr&)>& f) {
  std::vector<Expr> out;
  out.reserve(in.size());
  for (const Expr& e : in) out.push_back(f(e));
  return out;
}

Conditions map_conditions(const Conditions& in, const std::function<Expr(const Expr&)>& f) {
  Conditions out;
  for (const Condition& c : in) {
    Condition next{c.kind, f(c.e)};
    bool known = false;
    for (const Condition& other : out) known = known || other == next;
    if (!known) out.push_back(std::move(next));
  }
  return out;
}

bool mentions(const Expr& e, const std::map<Symbol, Expr>& env) {
  return std::any_of(env.begin(), env.end(),
                     [&](const auto& replaced) { return e.mentions(replaced.first); });
}

/// Returns true if an index expression of the value mentions one of the symbols.
bool mentions(const Value& v, const std::map<Symbol, Expr>& env) {
  if (!v->has_index) return false;
  const auto in = [&](const Expr& e) { return mentions(e, env); };
  if (const auto* index = std::get_if<value::Index>(&v->kind)) return in(index->e);
  if (const auto* load = std::get_if<value::Load>(&v->kind))
    return std::any_of(load->index.begin(), load->index.end(), in);
  if (const auto* op = std::get_if<value::Op>(&v->kind))
    return std::any_of(op->args.begin(), op->args.end(),
                       [&](const Value& a) { return mentions(a, env); });
  const auto* guard = std::get_if<value::Guard>(&v->kind);
  return guard && (mentions(guard->then, env) ||
                   std::any_of(guard->conditions.begin(), guard->conditions.end(),
                               [&](const Condition& c) { return in(c.e); }));
}

/// `indices_only`: f changes only nodes that contain an index expression or a load.
Value rewrite_node(const Value& v, const std::function<Value(const Value&)>& f, bool indices_only,
                   std::unordered_map<const ValueNode*, Value>& done) {
  if (indices_only && !v->has_index) return v;
  const bool is_shared = v.use_count() > 1;  // another node may have it too
  if (is_shared)
    if (const auto found = done.find(v.get()); found != done.end()) return found->second;
  Value next = v;
  if (const auto* op = std::get_if<value::Op>(&v->kind)) {
    std::vector<Value> args;  // from the first that changes on
    for (std::size_t k = 0; k < op->args.size(); ++k) {
      Value arg = rewrite_node(op->args[k], f, indices_only, done);
      if (args.empty() && arg == op->args[k]) continue;
      if (args.empty()) args = op->args;
      args[k] = std::move(arg);
    }
    if (!args.empty()) next = op_value(op->op, std::move(args), op->arg_dtype, v->dtype);
  } else if (const auto* guard = std::get_if<value::Guard>(&v->kind)) {
    Value then = rewrite_node(guard->then, f, indices_only, done);
    if (then != guard->then) next = guard_value(guard->conditions, then, guard->otherwise);
  }
  next = f(next);
  if (is_shared) done.emplace(v.get(), next);
  return next;
}

/// Rewrites the index expressions of a statement outside of its value and its body.
void rewrite_own_exprs(Stmt& s, const std::function<Expr(const Expr&)>& f) {
  std::visit(Overloaded{[&](Loop& l) {
                          for (Expr* e : {&l.begin, &l.end, &l.step, &l.number}) *e = f(*e);
                          for (LoopDigit& d : l.digits)
                            for (Expr* e : {&d.begin, &d.end, &d.step}) *e = f(*e);
                          for (PrefetchedElement& e : l.prefetched) e.index = map_exprs(e.index, f);
                        },
                        [&](If& i) { i.conditions = map_conditions(i.conditions, f); },
                        [&](Store& st) { st.index = map_exprs(st.index, f); },
                        [&](StoreReduce& st) { st.index = map_exprs(st.index, f); },
                        [&](Fold& fold) { fold.position = f(fold.position); }, [](Let&) {},
                        [](Barrier&) {}, [](WaitForCopies&) {}},
             s.kind);
}

void substitute(Body& body, const std::map<Symbol, Expr>& env,
                const std::function<Expr(const Expr&)>& replaced) {
  for (Stmt& s : body) {
    rewrite_own_exprs(s, replaced);
    if (Value* v = value_of(s); v && mentions(*v, env)) *v = rewrite_exprs(*v, replaced);
    if (Body* inner = body_of(s)) substitute(*inner, env, replaced);
  }
}

struct ExprHash {
  std::size_t operator()(const Expr& e) const { return e.hash(); }
};

}  // namespace

Value rewrite(const Value& v, const std::function<Value(const Value&)>& f) {
  std::unordered_map<const ValueNode*, Value> done;
  return rewrite_node(v, f, false, done);
}

Value rewrite_exprs(const Value& v, const std::function<Expr(const Expr&)>& f) {
  const auto rewritten = [&f](const Value& node) -> Value {
    if (const auto* index = std::get_if<value::Index>(&node->kind)) {
      Expr e = f(index->e);
      return e == index->e ? node : index_value(e, node->dtype);
    }
    if (const auto* guard = std::get_if<value::Guard>(&node->kind)) {
      Conditions conditions = map_conditions(guard->conditions, f);
      if (conditions == guard->conditions) return node;
      return guard_value(std::move(conditions), guard->then, guard->otherwise);
    }
    if (const auto* load = std::get_if<value::Load>(&node->kind)) {
      std::vector<Expr> index = map_exprs(load->index, f);
      return index == load->index ? node : load_value(load->tensor, std::move(index), node->dtype);
    }
    return node;
  };
  std::unordered_map<const ValueNode*, Value> done;
  return rewrite_node(v, rewritten, true, done);
}

void rewrite_values(Body& body, const std::function<Value(const Value&)>& f) {
  for (Stmt& s : body) {
    if (Value* v = value_of(s)) *v = rewrite(*v, f);
    if (Body* inner = body_of(s)) rewrite_values(*inner, f);
  }
}

void rewrite_exprs(Body& body, const std::function<Expr(const Expr&)>& f) {
  for (Stmt& s : body) {
    rewrite_own_exprs(s, f);
    if (Value* v = value_of(s)) *v = rewrite_exprs(*v, f);
    if (Body* inner = body_of(s)) rewrite_exprs(*inner, f);
  }
}

void substitute(Body& body, const std::map<Symbol, Expr>& env) {
  std::unordered_map<Expr, Expr, ExprHash> done;  // one condition is in many guards
  substitute(body, env, [&](const Expr& e) {
    if (!mentions(e, env)) return e;
    const auto [found, is_new] = done.try_emplace(e);
    if (is_new) found->second = e.substitute(env);
    return found->second;
  });
}

Value substitute(const Value& v, const std::map<Symbol, Expr>& env) {
  if (!mentions(v, env)) return v;
  return rewrite_exprs(v, [&](const Expr& e) { return e.substitute(env); });
}

bool mentions(const Value& v, Symbol symbol) {
  return mentions(v, std::map<Symbol, Expr>{{symbol, 0}});
}

}  // namespace mote
