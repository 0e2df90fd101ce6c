// SPDX-License-Identifier: Apache-2.0
// Implements the traversals that passes use: for_each over statements, values and index
// expressions, summaries of a body's accesses, and rewriting. In: a body; out: a summary or a new
// body. The order is always that of execution, so that results are stable.
#include "mote/codegen/walk.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "mote/base/overloaded.h"

namespace mote {
namespace {

const Body* body_of(const Stmt& s) {
  if (const auto* loop = std::get_if<Loop>(&s.kind)) return &loop->body;
  if (const auto* branch = std::get_if<If>(&s.kind)) return &branch->body;
  return nullptr;
}

Body* body_of(Stmt& s) { return const_cast<Body*>(body_of(std::as_const(s))); }

const Value* value_of(const Stmt& s) {
  return std::visit(Overloaded{[](const Loop&) -> const Value* { return nullptr; },
                               [](const If&) -> const Value* { return nullptr; },
                               [](const auto& other) -> const Value* { return &other.value; }},
                    s.kind);
}

Value* value_of(Stmt& s) { return const_cast<Value*>(value_of(std::as_const(s))); }

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

void for_each_expr_of_value(const Value& v, const std::function<void(const Expr&)>& f) {
  for_each_with_index(v, [&f](const Value& node) {
    if (const auto* index = std::get_if<value::Index>(&node->kind)) f(index->e);
    if (const auto* guard = std::get_if<value::Guard>(&node->kind)) {
      for (const Condition& c : guard->conditions) f(c.e);
    }
    if (const auto* load = std::get_if<value::Load>(&node->kind)) {
      for (const Expr& e : load->index) f(e);
    }
  });
}

void visit_reads(const Expr& e, const AccessVisitor& f) {
  for_each_load(e, [&f](const Atom& a) { f(a.tensor, a.args, false); });
}

void visit_reads(const Value& v, const AccessVisitor& f) {
  for_each_with_index(v, [&f](const Value& node) {
    if (const auto* index = std::get_if<value::Index>(&node->kind)) visit_reads(index->e, f);
    if (const auto* guard = std::get_if<value::Guard>(&node->kind)) {
      for (const Condition& c : guard->conditions) visit_reads(c.e, f);
    }
    if (const auto* load = std::get_if<value::Load>(&node->kind)) {
      for (const Expr& e : load->index) visit_reads(e, f);
      f(load->tensor, load->index, false);
    }
  });
}

void visit_store(const std::string& tensor, const std::vector<Expr>& index, const Value& v,
                 const AccessVisitor& f) {
  for (const Expr& e : index) visit_reads(e, f);
  visit_reads(v, f);
  f(tensor, index, true);
}

void add_names(const Stmt& s, std::set<std::string>& out) {
  for_each_value(s, [&out](const Value& v) {
    if (const auto* bound = std::get_if<value::Bound>(&v->kind)) out.insert(bound->name);
  });
  for_each_expr(s, [&out](const Expr& e) {
    for_each_load(e, [&out](const Atom& a) {
      if (a.args.empty()) out.insert(a.tensor);
    });
  });
}

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
  if (const auto found = done.find(v.get()); found != done.end()) return found->second;
  Value next = v;
  if (const auto* op = std::get_if<value::Op>(&v->kind)) {
    bool changed = false;
    std::vector<Value> args;
    args.reserve(op->args.size());
    for (const Value& a : op->args) {
      args.push_back(rewrite_node(a, f, indices_only, done));
      changed = changed || args.back() != a;
    }
    if (changed) next = op_value(op->op, std::move(args), op->arg_dtype, v->dtype);
  } else if (const auto* guard = std::get_if<value::Guard>(&v->kind)) {
    Value then = rewrite_node(guard->then, f, indices_only, done);
    if (then != guard->then) next = guard_value(guard->conditions, then, guard->otherwise);
  }
  next = f(next);
  done.emplace(v.get(), next);
  return next;
}

}  // namespace

void for_each_access(const Body& body, const AccessVisitor& f) {
  for (const Stmt& s : body) for_each_access(s, f);
}

void for_each_access(const Stmt& s, const AccessVisitor& f) {
  std::visit(
      Overloaded{[&](const Loop& l) {
                   for (const Expr* e : {&l.begin, &l.end, &l.step}) visit_reads(*e, f);
                   for_each_access(l.body, f);
                 },
                 [&](const If& i) {
                   for (const Condition& c : i.conditions) visit_reads(c.e, f);
                   for_each_access(i.body, f);
                 },
                 [&](const Store& st) { visit_store(st.tensor, st.index, st.value, f); },
                 [&](const StoreReduce& st) { visit_store(st.tensor, st.index, st.value, f); },
                 [&](const Fold& fold) {
                   visit_reads(fold.value, f);
                   visit_reads(fold.position, f);
                 },
                 [&](const Let& let) { visit_reads(let.value, f); }},
      s.kind);
}

std::vector<Access> accesses(const Stmt& s) {
  std::vector<Access> out;
  for_each_access(s, [&out](const std::string& tensor, const std::vector<Expr>& index, bool write) {
    out.push_back({tensor, index, write});
  });
  return out;
}

std::vector<Access> accesses(const Body& body) {
  std::vector<Access> out;
  for_each_access(body,
                  [&out](const std::string& tensor, const std::vector<Expr>& index, bool write) {
                    out.push_back({tensor, index, write});
                  });
  return out;
}

std::set<std::string> accumulators_declared(const Body& body) {
  std::set<std::string> out;
  for_each(body, [&out](const Stmt& s) {
    if (const auto* loop = std::get_if<Loop>(&s.kind)) {
      for (const Accumulator& a : loop->accumulators) out.insert(a.name);
    }
  });
  return out;
}

std::set<std::string> accumulators_read(const Body& body) {
  std::set<std::string> out;
  for_each(body, [&out](const Stmt& s) {
    for_each_value(s, [&out](const Value& v) {
      if (const auto* acc = std::get_if<value::Accumulated>(&v->kind)) out.insert(acc->name);
    });
  });
  return out;
}

std::set<std::string> names_read(const Body& body) {
  std::set<std::string> out;
  for_each(body, [&out](const Stmt& s) { add_names(s, out); });
  return out;
}

std::set<std::string> names_read(const Stmt& s) {
  std::set<std::string> out;
  add_names(s, out);
  if (const Body* inner = body_of(s)) out.merge(names_read(*inner));
  return out;
}

void for_each(const Body& body, const std::function<void(const Stmt&)>& f) {
  for (const Stmt& s : body) {
    f(s);
    if (const Body* inner = body_of(s)) for_each(*inner, f);
  }
}

void for_each_value(const Value& v, const std::function<void(const Value&)>& f) {
  f(v);
  if (const auto* op = std::get_if<value::Op>(&v->kind)) {
    for (const Value& a : op->args) for_each_value(a, f);
  } else if (const auto* guard = std::get_if<value::Guard>(&v->kind)) {
    for_each_value(guard->then, f);
  }
}

void for_each_value(const Stmt& s, const std::function<void(const Value&)>& f) {
  if (const Value* v = value_of(s)) for_each_value(*v, f);
}

void for_each_expr(const Stmt& s, const std::function<void(const Expr&)>& f) {
  std::visit(Overloaded{[&](const Loop& l) {
                          for (const Expr* e : {&l.begin, &l.end, &l.step}) f(*e);
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
                        [&](const Fold& fold) { f(fold.position); }, [](const Let&) {}},
             s.kind);
  if (const Value* v = value_of(s)) for_each_expr_of_value(*v, f);
}

void for_each_load(const Expr& e, const std::function<void(const Atom&)>& f) {
  if (!e.has_load()) return;
  for (const Term& t : e.terms()) {
    for (const Atom& a : t.atoms) {
      if (a.kind == Atom::Kind::load) f(a);
      for (const Expr& arg : a.args) for_each_load(arg, f);
    }
  }
}

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

void rewrite_loads(Stmt& s, const std::string& tensor,
                   const std::function<Value(const value::Load&, DType)>& f) {
  Value* v = value_of(s);
  if (!v) return;
  const auto is_load = [&](const Value& node) {
    const auto* l = std::get_if<value::Load>(&node->kind);
    return l && l->tensor == tensor;
  };
  bool found = false;
  for_each_with_index(*v, [&](const Value& node) { found = found || is_load(node); });
  if (!found) return;
  const auto rewritten = [&](const Value& node) {
    return is_load(node) ? f(std::get<value::Load>(node->kind), node->dtype) : node;
  };
  std::unordered_map<const ValueNode*, Value> done;
  *v = rewrite_node(*v, rewritten, true, done);
}

void rewrite_values(Body& body, const std::function<Value(const Value&)>& f) {
  for (Stmt& s : body) {
    if (Value* v = value_of(s)) *v = rewrite(*v, f);
    if (Body* inner = body_of(s)) rewrite_values(*inner, f);
  }
}

namespace {

/// Rewrites the index expressions of a statement outside of its value and its body.
void rewrite_own_exprs(Stmt& s, const std::function<Expr(const Expr&)>& f) {
  std::visit(Overloaded{[&](Loop& l) {
                          for (Expr* e : {&l.begin, &l.end, &l.step}) *e = f(*e);
                        },
                        [&](If& i) { i.conditions = map_conditions(i.conditions, f); },
                        [&](Store& st) { st.index = map_exprs(st.index, f); },
                        [&](StoreReduce& st) { st.index = map_exprs(st.index, f); },
                        [&](Fold& fold) { fold.position = f(fold.position); }, [](Let&) {}},
             s.kind);
}

}  // namespace

void rewrite_exprs(Body& body, const std::function<Expr(const Expr&)>& f) {
  for (Stmt& s : body) {
    rewrite_own_exprs(s, f);
    if (Value* v = value_of(s)) *v = rewrite_exprs(*v, f);
    if (Body* inner = body_of(s)) rewrite_exprs(*inner, f);
  }
}

namespace {

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

void substitute(Body& body, const std::map<Symbol, Expr>& env) {
  std::unordered_map<Expr, Expr, ExprHash> done;  // one condition is in many guards
  substitute(body, env, [&](const Expr& e) {
    if (!mentions(e, env)) return e;
    const auto [found, is_new] = done.try_emplace(e);
    if (is_new) found->second = e.substitute(env);
    return found->second;
  });
}

}  // namespace mote
