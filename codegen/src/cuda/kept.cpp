// SPDX-License-Identifier: Apache-2.0
// Replaces names and accumulators by values read from tensors.
#include "kept.h"

#include "ir/dependence.h"
#include "mote/codegen/walk.h"

namespace mote::cuda {

DType dtype_of(const Accumulator& a) {
  const bool is_arg = a.op == ReduceOp::argmax || a.op == ReduceOp::argmin;
  return is_arg ? DType::i64 : a.dtype;
}

void read_from_tensor(Body& body, const std::string& name, const std::string& tensor,
                      const std::vector<Expr>& index) {
  rewrite_values(body, [&](const Value& v) {
    const auto* bound = std::get_if<value::Named>(&v->kind);
    const auto* accumulated = std::get_if<value::Accumulated>(&v->kind);
    const bool is_read = (bound != nullptr && bound->name == name) ||
                         (accumulated != nullptr && accumulated->name == name);
    return is_read ? load_value(tensor, index, v->dtype) : v;
  });
  rewrite_exprs(body, [&](const Expr& e) {
    if (!e.has_load()) return e;
    return e.transform([&](const Atom& a) {
      return a.kind == Atom::Kind::load && a.tensor == name ? load(tensor, index) : rebuild(a);
    });
  });
}

namespace {

void move_stores(Body& body, const std::string& tensor, const std::string& to,
                 const std::function<std::vector<Expr>(const std::vector<Expr>&)>& at) {
  const auto move = [&](auto* store) {
    if (store == nullptr || store->tensor != tensor) return;
    store->tensor = to;
    store->index = at(store->index);
  };
  for (Stmt& s : body) {
    move(std::get_if<Store>(&s.kind));
    move(std::get_if<StoreReduce>(&s.kind));
    if (Body* nested = nested_body(s)) move_stores(*nested, tensor, to, at);
  }
}

}  // namespace

void move_tensor(Body& body, const std::string& tensor, const std::string& to,
                 const std::function<std::vector<Expr>(const std::vector<Expr>&)>& at) {
  rewrite_values(body, [&](const Value& v) {
    const auto* l = std::get_if<value::Load>(&v->kind);
    return l != nullptr && l->tensor == tensor ? load_value(to, at(l->index), v->dtype) : v;
  });
  rewrite_exprs(body, [&](const Expr& e) {
    if (!e.has_load()) return e;
    return e.transform([&](const Atom& a) {
      return a.kind == Atom::Kind::load && a.tensor == tensor ? load(to, at(a.args)) : rebuild(a);
    });
  });
  move_stores(body, tensor, to, at);
}

}  // namespace mote::cuda
