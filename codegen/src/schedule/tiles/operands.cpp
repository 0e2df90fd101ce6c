// SPDX-License-Identifier: Apache-2.0
#include "schedule/tiles/operands.h"

#include <fmt/format.h>

#include <algorithm>

#include "mote/codegen/walk.h"
#include "passes/conditions.h"

namespace mote {
namespace {

bool reads(const Value& v, const std::set<std::string>& own) {
  bool found = false;
  for_each_value(v, [&](const Value& node) {
    if (const auto* x = std::get_if<value::Named>(&node->kind)) found |= own.contains(x->name);
    if (const auto* x = std::get_if<value::Accumulated>(&node->kind))
      found |= own.contains(x->name);
    if (const auto* x = std::get_if<value::Load>(&node->kind)) found |= own.contains(x->tensor);
  });
  (void)rewrite_exprs(v, [&](const Expr& e) {
    for_each_load(e, [&](const Atom& a) { found |= own.contains(a.tensor); });
    return e;
  });
  return found;
}

bool has_vector_form(MapOp op) {
  return op == MapOp::add || op == MapOp::sub || op == MapOp::mul || op == MapOp::div ||
         op == MapOp::neg;
}

bool has_vectors(DType dtype) { return is_real(dtype) || dtype == DType::i32; }

class Splitter {
 public:
  Splitter(Symbol vector, Symbol rows) : vector_(vector), rows_(rows) {}

  /// Returns the term with its operands as names; null if it cannot be split.
  Value split(const Value& v) {
    const bool along_vector = mentions(v, vector_);
    const bool along_rows = mentions(v, rows_);
    if (!along_vector && !along_rows) return v;
    if (!along_vector || !along_rows) return name(v, along_vector ? Side::vector : Side::rows);
    const auto* op = std::get_if<value::Op>(&v->kind);
    if (op == nullptr || !has_vector_form(op->op) || !has_vectors(v->dtype)) return nullptr;
    std::vector<Value> args;
    for (const Value& a : op->args) {
      Value arg = split(a);
      if (arg == nullptr) return nullptr;
      args.push_back(std::move(arg));
    }
    return op_value(op->op, std::move(args), op->arg_dtype, v->dtype);
  }

  /// Returns true if an operand of the side is a factor of the term.
  bool has_factor(const Value& term, Side side) const {
    if (const auto* b = std::get_if<value::Named>(&term->kind))
      for (std::size_t k = 0; k < operands.size(); ++k)
        if (b->name == operand_name(k)) return operands[k].side == side;
    const auto* op = std::get_if<value::Op>(&term->kind);
    return op != nullptr && op->op == MapOp::mul &&
           std::ranges::any_of(op->args, [&](const Value& a) { return has_factor(a, side); });
  }

  std::vector<SharedOperand> operands;

 private:
  Value name(const Value& v, Side side) {
    const auto same = [&](const SharedOperand& o) { return equal(o.value, v); };
    const auto found = std::ranges::find_if(operands, same);
    const auto k = static_cast<std::size_t>(found - operands.begin());
    if (found == operands.end()) operands.push_back({v, side});
    return named_value(operand_name(k), v->dtype);
  }

  Symbol vector_, rows_;
};

}  // namespace

std::string operand_name(std::size_t k) { return fmt::format("operand {}", k); }

std::optional<SharedOperands> shared_operands(const ReductionNest& nest, Symbol vector, Symbol rows,
                                              const std::set<std::string>& own) {
  SharedOperands shared;
  for (const Condition& c : nest.conditions) {
    const bool along_vector = c.e.mentions(vector);
    const bool along_rows = c.e.mentions(rows);
    if (along_vector && along_rows) return std::nullopt;
    (along_vector ? shared.vector_conditions
     : along_rows ? shared.row_conditions
                  : shared.other_conditions)
        .push_back(c);
  }
  Splitter splitter(vector, rows);
  for (const Fold& fold : nest.folds) {
    const bool is_sum = has_vectors(fold.value->dtype) && fold.op == ReduceOp::sum;
    if (!is_sum || reads(fold.value, own)) return std::nullopt;
    Value term = splitter.split(fold.value);
    if (term == nullptr) return std::nullopt;
    if (!shared.vector_conditions.empty() && !splitter.has_factor(term, Side::vector))
      return std::nullopt;
    if (!shared.row_conditions.empty() && !splitter.has_factor(term, Side::rows))
      return std::nullopt;
    shared.terms.push_back(std::move(term));
  }
  shared.operands = std::move(splitter.operands);
  for (const Side side : {Side::vector, Side::rows})
    if (std::ranges::none_of(shared.operands,
                             [&](const SharedOperand& o) { return o.side == side; }))
      return std::nullopt;
  return shared;
}

}  // namespace mote
