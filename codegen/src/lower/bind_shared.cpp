// SPDX-License-Identifier: Apache-2.0
// Shares values in a body: they form a graph, whose nodes that are referenced twice become Lets.
#include "lower/bind_shared.h"

#include <algorithm>

#include "ir/statement_parts.h"

namespace mote {
namespace {

bool starts_with(const Conditions& whole, const Conditions& prefix) {
  return prefix.size() <= whole.size() && std::equal(prefix.begin(), prefix.end(), whole.begin());
}

bool is_worth_a_name(const ValueNode& v) {
  return std::holds_alternative<value::Op>(v.kind) || std::holds_alternative<value::Guard>(v.kind);
}

Number zero(DType dtype) { return is_real(dtype) ? Number(0.0) : Number(std::int64_t{0}); }

class Binder {
 public:
  Binder(const SharedValues& shared, const std::function<std::string(const std::string&)>& fresh)
      : shared_(shared), fresh_(fresh) {}

  Body run(Body body) {
    for (Stmt& s : body)
      if (const Value* v = value_of(s)) count_references(*v);
    for (Stmt& s : body) {
      if (Value* v = value_of(s)) *v = bound(*v);
      out_.push_back(std::move(s));
    }
    return std::move(out_);
  }

 private:
  void count_references(const Value& v) {
    if (++references_[v.get()] > 1) return;
    if (const auto* op = std::get_if<value::Op>(&v->kind))
      for (const Value& a : op->args) count_references(a);
    if (const auto* guard = std::get_if<value::Guard>(&v->kind)) count_references(guard->then);
  }

  /// Returns the value with shared parts replaced by names; their Lets go to out_ first.
  Value bound(const Value& v) {
    if (!is_worth_a_name(*v)) return v;
    if (const auto known = replaced_.find(v.get()); known != replaced_.end()) return known->second;
    Value result = with_bound_operands(v);
    const Conditions* guards = shared_.guards_of(v);
    if (references_.at(v.get()) > 1 && guards) {
      const std::string name = fresh_("v");
      out_.push_back({Let{name, guard_value(*guards, result, zero(v->dtype))}});
      result = named_value(name, v->dtype);
    }
    kept_alive_.push_back(v);
    return replaced_[v.get()] = result;
  }

  Value with_bound_operands(const Value& v) {
    if (const auto* op = std::get_if<value::Op>(&v->kind)) {
      std::vector<Value> args;
      args.reserve(op->args.size());
      for (const Value& a : op->args) args.push_back(bound(a));
      return args == op->args ? v : op_value(op->op, std::move(args), op->arg_dtype, v->dtype);
    }
    const auto& guard = std::get<value::Guard>(v->kind);
    const Value then = bound(guard.then);
    return then == guard.then ? v : guard_value(guard.conditions, then, guard.otherwise);
  }

  const SharedValues& shared_;
  const std::function<std::string(const std::string&)>& fresh_;
  std::unordered_map<const ValueNode*, int> references_;
  std::unordered_map<const ValueNode*, Value> replaced_;
  std::vector<Value> kept_alive_;
  Body out_;
};

}  // namespace

Value SharedValues::find(const Uop& u, const std::vector<Expr>& index,
                         const Conditions& guards) const {
  const auto found = entries_.find(u.id());
  if (found == entries_.end()) return nullptr;
  for (const Entry& e : found->second)
    if (e.index == index && starts_with(guards, e.guards)) return e.value;
  return nullptr;
}

void SharedValues::add(const Uop& u, const std::vector<Expr>& index, const Conditions& guards,
                       const Value& v) {
  entries_[u.id()].push_back({index, guards, v});
  guards_.emplace(v.get(), guards);
}

const Conditions* SharedValues::guards_of(const Value& v) const {
  const auto found = guards_.find(v.get());
  return found == guards_.end() ? nullptr : &found->second;
}

Body bind_shared(Body body, const SharedValues& shared,
                 const std::function<std::string(const std::string& hint)>& fresh) {
  return Binder(shared, fresh).run(std::move(body));
}

}  // namespace mote
