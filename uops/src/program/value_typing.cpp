// SPDX-License-Identifier: Apache-2.0
// Gives literals and parameters the dtype of the tensor that they meet.
#include "program/value_typing.h"

#include <fmt/format.h>

#include <algorithm>

#include "mote/uops/compare.h"

namespace mote {
namespace {

bool is_logical(MapOp op) {
  return op == MapOp::logical_and || op == MapOp::logical_or || op == MapOp::logical_xor ||
         op == MapOp::logical_not;
}

// Returns true for ops whose result has another dtype than their arguments.
bool hides_dtype(MapOp op) { return is_comparison(op) || op == MapOp::isnan || op == MapOp::isinf; }

}  // namespace

void Positions::note(const Uop& u, std::size_t at) {
  std::vector<Uop> open{u};
  while (!open.empty()) {
    const Uop next = open.back();
    open.pop_back();
    if (!locations_.try_emplace(next.id(), Location{next, at}).second) continue;
    for (const Uop& x : operands(next)) open.push_back(x);
  }
}

std::optional<std::size_t> Positions::find(const UopNode* node) const {
  const auto found = locations_.find(node);
  if (found == locations_.end()) return std::nullopt;
  return found->second.at;
}

Uop Typing::typed(std::size_t at, const Value& v) const {
  if (v.uop) return v.uop;
  text_.fail(at, "the dtype of the value is unknown, write f32(...) or another");
}

Uop Typing::typed(std::size_t at, const Value& v, DType dtype) const {
  return v.uop ? v.uop : build(at, [&] { return v.untyped(dtype); });
}

Value Typing::combine(MapOp op, std::size_t at, std::vector<Value> args) const {
  const std::size_t first = op == MapOp::where ? 1 : 0;
  if (static_cast<int>(args.size()) != arity(op))
    text_.fail(at, fmt::format("{} takes {} arguments, got {}", name(op), arity(op), args.size()));
  if (first == 1) args[0] = {typed(at, args[0], DType::boolean), nullptr};
  std::optional<DType> dtype;
  if (is_logical(op)) dtype = DType::boolean;
  for (std::size_t k = first; k < args.size() && !dtype; ++k)
    if (args[k].uop) dtype = args[k].uop.dtype();
  if (!dtype && hides_dtype(op)) typed(at, args[first]);
  int depth = 0;
  for (const Value& v : args) depth = std::max(depth, v.depth + 1);
  const auto make = [this, op, at, args = std::move(args)](DType d) {
    std::vector<Uop> uops;
    for (const Value& v : args) uops.push_back(typed(at, v, d));
    return build(at, [&] { return map(op, uops); });
  };
  if (dtype) return {make(*dtype), nullptr};
  if (depth > kMaxValueNesting)
    text_.fail(at, fmt::format("more than {} literals without a tensor", kMaxValueNesting));
  return {Uop(), make, depth};
}

Value Typing::number(std::size_t at, Literal n) const {
  return {Uop(), [this, at, n = std::move(n)](DType dtype) {
            if (!is_real(dtype) && (!n.is_integer || dtype == DType::boolean))
              text_.fail(at, fmt::format("{} is not a value of {}", n.text, name(dtype)));
            const Number value = is_real(dtype) ? Number(n.real) : Number(n.integer);
            return build(at, [&] { return scalar(value, dtype); });
          }};
}

Value Typing::boolean(std::size_t at, bool value) const {
  return {Uop(), [this, at, value](DType dtype) {
            if (dtype != DType::boolean)
              text_.fail(at, fmt::format("{} is not a value of {}", value, name(dtype)));
            return scalar(Number(value ? 1 : 0), dtype);
          }};
}

}  // namespace mote
