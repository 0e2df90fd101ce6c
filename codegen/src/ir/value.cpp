// SPDX-License-Identifier: Apache-2.0
// Constructs values and compares their structure. In: parts; out: immutable shared nodes.
// guard_value keeps the invariant that conditions hold no duplicates.
#include <algorithm>
#include <utility>

#include "mote/codegen/loops.h"

namespace mote {
namespace {

bool has_index(const decltype(ValueNode::kind)& kind) {
  if (const auto* op = std::get_if<value::Op>(&kind))
    return std::any_of(op->args.begin(), op->args.end(),
                       [](const Value& a) { return a->has_index; });
  return std::holds_alternative<value::Index>(kind) || std::holds_alternative<value::Load>(kind) ||
         std::holds_alternative<value::Guard>(kind);
}

Value make(decltype(ValueNode::kind) kind, DType dtype) {
  const bool index = has_index(kind);
  return std::make_shared<const ValueNode>(ValueNode{std::move(kind), dtype, index});
}

struct SameKind {
  const ValueNode& other;

  template <typename T>
  const T& peer() const {
    return std::get<T>(other.kind);
  }
  bool operator()(const value::Constant& a) const {
    return identical(a.number, peer<value::Constant>().number);
  }
  bool operator()(const value::Index& a) const { return a.e == peer<value::Index>().e; }
  bool operator()(const value::Param& a) const { return a.name == peer<value::Param>().name; }
  bool operator()(const value::Load& a) const {
    const auto& b = peer<value::Load>();
    return a.tensor == b.tensor && a.index == b.index;
  }
  bool operator()(const value::Op& a) const {
    const auto& b = peer<value::Op>();
    return a.op == b.op && a.arg_dtype == b.arg_dtype &&
           std::equal(a.args.begin(), a.args.end(), b.args.begin(), b.args.end(),
                      [](const Value& x, const Value& y) { return equal(x, y); });
  }
  bool operator()(const value::Guard& a) const {
    const auto& b = peer<value::Guard>();
    return a.conditions == b.conditions && identical(a.otherwise, b.otherwise) &&
           equal(a.then, b.then);
  }
  bool operator()(const value::Accumulated& a) const {
    return a.name == peer<value::Accumulated>().name;
  }
  bool operator()(const value::Named& a) const { return a.name == peer<value::Named>().name; }
};

}  // namespace

Value constant(Number number, DType dtype) { return make(value::Constant{number}, dtype); }

Value index_value(const Expr& e, DType dtype) { return make(value::Index{e}, dtype); }

Value param_value(std::string_view name, DType dtype) {
  return make(value::Param{std::string(name)}, dtype);
}

Value load_value(std::string_view tensor, std::vector<Expr> index, DType dtype) {
  return make(value::Load{std::string(tensor), std::move(index)}, dtype);
}

Value op_value(MapOp op, std::vector<Value> args, DType arg_dtype, DType dtype) {
  return make(value::Op{op, std::move(args), arg_dtype}, dtype);
}

Value guard_value(Conditions conditions, Value then, Number otherwise) {
  if (conditions.empty()) return then;
  Conditions distinct;
  for (Condition& c : conditions) {
    if (std::find(distinct.begin(), distinct.end(), c) == distinct.end()) {
      distinct.push_back(std::move(c));
    }
  }
  const DType dtype = then->dtype;
  return make(value::Guard{std::move(distinct), std::move(then), otherwise}, dtype);
}

Value accumulated_value(std::string_view name, DType dtype) {
  return make(value::Accumulated{std::string(name)}, dtype);
}

Value named_value(std::string_view name, DType dtype) {
  return make(value::Named{std::string(name)}, dtype);
}

bool equal(const Value& a, const Value& b) {
  if (a == b) return true;
  if (!a || !b || a->dtype != b->dtype || a->kind.index() != b->kind.index()) return false;
  return std::visit(SameKind{*b}, a->kind);
}

}  // namespace mote
