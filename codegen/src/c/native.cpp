// SPDX-License-Identifier: Apache-2.0
// Prints Map ops in float, for schedules, where a program in f32 computes natively. A real that
// comes from parameters and indices alone stays a double until it meets an element.
#include <fmt/format.h>

#include <cmath>

#include "c/internal.h"
#include "mote/uops/map_ops.h"

namespace mote::emit {

std::string float_text(float v) {
  if (std::isnan(v)) return "NAN";
  if (std::isinf(v)) return v < 0 ? "-INFINITY" : "INFINITY";
  const std::string text = fmt::format("{}", v);
  return text + (text.find_first_of(".e") == std::string::npos ? ".0f" : "f");
}

Text float_literal(float v) {
  const bool has_minus = std::signbit(v) && !std::isnan(v);
  return {float_text(v), has_minus ? kUnary : kTight, CType::f32, has_minus ? '-' : '\0'};
}

Text as_float(const Text& t) {
  if (t.type == CType::f32) return t;
  if (t.constant) {
    return float_literal(static_cast<float>(*t.constant));
  }
  return {"(float)" + operand(t, kUnary), kUnary, CType::f32};
}

std::string narrow(const Text& x, DType dtype, Uses& uses) {
  return call(fmt::format("mote_float_to_{}", name(dtype)), as_float(x), uses);
}

Text widened(const std::string& element, DType dtype, Uses& uses) {
  return {call(fmt::format("mote_float_from_{}", name(dtype)), Text{element}, uses), kTight,
          CType::f32};
}

Text float_unary(MapOp op, const Text& x, Uses& uses) {
  const CForms& c = info(op).c;
  if (!c.prefix.empty() && op != MapOp::logical_not)
    return {std::string(c.prefix) + operand(x, kUnary), kUnary, CType::f32, c.prefix.front()};
  if (c.native.empty() && !c.is_reciprocal) return unary(op, x, uses);
  const Text value = c.native.empty() ? x : Text{call(c.native, x, uses), kTight, CType::f32};
  return c.is_reciprocal ? Text{"1.0f / " + operand(value, kUnary), kProduct, CType::f32} : value;
}

Text float_binary(MapOp op, const Text& a, const Text& b, Uses& uses) {
  const MapOpInfo& row = info(op);
  if (!row.c.native.empty()) return {call(row.c.native, a, b, uses), kTight, CType::f32};
  if (!row.infix || row.infix->precedence < kSum) return binary(op, a, b, uses);
  return infix_text(*row.infix, a, b, CType::f32);
}

bool is_short(const Text& t) { return t.type == CType::i32 || t.type == CType::flag; }

Text short_binary(MapOp op, const Text& a, const Text& b, Uses& uses) {
  const MapOpInfo& row = info(op);
  if (!row.infix)
    return {call(fmt::format("mote_{}_i32", row.name), a, b, uses), kTight, CType::i32};
  return infix_text(*row.infix, a, b, CType::i32);
}

Text native_binary(MapOp op, const Text& a, const Text& b, Uses& uses) {
  if ((op == MapOp::max || op == MapOp::min) && is_short(a) && is_short(b))
    return short_binary(op, a, b, uses);
  const bool real = is_real_type(a.type) && is_real_type(b.type);
  if (!real || (a.type != CType::f32 && b.type != CType::f32)) return binary(op, a, b, uses);
  return float_binary(op, as_float(a), as_float(b), uses);
}

}  // namespace mote::emit
