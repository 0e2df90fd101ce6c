// SPDX-License-Identifier: Apache-2.0
// Implements the traversals that passes use: for_each over statements, values and index
// expressions, and summaries of a body's accesses. The order is always that of execution, so that
// results are stable.
#include "mote/codegen/walk.h"

#include <algorithm>
#include <utility>

#include "ir/statement_parts.h"
#include "mote/base/overloaded.h"

namespace mote {
namespace {

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
    if (const auto* named = std::get_if<value::Named>(&v->kind)) out.insert(named->name);
  });
  for_each_expr(s, [&out](const Expr& e) {
    for_each_load(e, [&out](const Atom& a) {
      if (a.args.empty()) out.insert(a.tensor);
    });
  });
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
                 [&](const Let& let) { visit_reads(let.value, f); }, [](const Barrier&) {},
                 [](const WaitForCopies&) {}},
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
  for_each_own_expr(s, f);
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

}  // namespace mote
