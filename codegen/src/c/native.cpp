// SPDX-License-Identifier: Apache-2.0
// Map ops in float, for schedules: what a program in f32 computes natively. A real that comes from
// parameters and indices alone stays a double until it meets an element.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string_view>

#include "c/internal.h"

namespace mote::emit {
namespace {

/// A real constant, as real_text() writes it.
bool is_number(const std::string& text) {
  const bool opens = !text.empty() && (text[0] == '-' || (text[0] >= '0' && text[0] <= '9'));
  return opens && text.find_first_not_of("0123456789.e+-") == std::string::npos;
}

}  // namespace

std::string float_text(float v) {
  if (std::isnan(v)) return "NAN";
  if (std::isinf(v)) return v < 0 ? "-INFINITY" : "INFINITY";
  const std::string text = fmt::format("{}", v);
  return text + (text.find_first_of(".e") == std::string::npos ? ".0f" : "f");
}

Text as_float(const Text& t) {
  if (t.type == CType::f32) return t;
  if (is_number(t.text) && t.type == CType::f64) {
    const std::string text = float_text(static_cast<float>(std::strtod(t.text.c_str(), nullptr)));
    return {text, text.starts_with('-') ? kUnary : kTight, CType::f32};
  }
  return {"(float)" + operand(t, kUnary), kUnary, CType::f32};
}

std::string narrow(const Text& x, DType dtype) {
  return fmt::format("mote_float_to_{}({})", name(dtype), as_float(x).text);
}

Text widened(const std::string& element, DType dtype) {
  return {fmt::format("mote_float_from_{}({})", name(dtype), element), kTight, CType::f32};
}

Text float_unary(MapOp op, const Text& x) {
  const auto function = [&](std::string_view name) {
    return Text{call(name, x), kTight, CType::f32};
  };
  switch (op) {
    case MapOp::neg:
      return {"-" + operand(x, kUnary), kUnary, CType::f32};
    case MapOp::abs:
      return function("fabsf");
    case MapOp::sign:
      return function("mote_signf");
    case MapOp::recip:
      return {"1.0f / " + operand(x, kUnary), kProduct, CType::f32};
    case MapOp::rsqrt:
      return {"1.0f / " + call("sqrtf", x), kProduct, CType::f32};
    case MapOp::round:
      return function("nearbyintf");
    case MapOp::exp:
    case MapOp::expm1:
    case MapOp::log:
    case MapOp::log1p:
    case MapOp::tanh:
    case MapOp::erf:
      return function(fmt::format("mote_{}f", name(op)));
    case MapOp::next_up:  // these are about doubles
    case MapOp::next_down:
    case MapOp::lowest_bit:
    case MapOp::isnan:
    case MapOp::isinf:
    case MapOp::logical_not:
      return unary(op, x);
    default:
      return function(fmt::format("{}f", name(op)));
  }
}

Text float_binary(MapOp op, const Text& a, const Text& b) {
  const auto function = [&](std::string_view name) {
    return Text{fmt::format("{}({}, {})", name, a.text, b.text), kTight, CType::f32};
  };
  const auto infix = [&](const char* sign, Precedence precedence) {
    const auto next = static_cast<Precedence>(precedence + 1);
    return Text{within(a, precedence) + sign + operand(b, next), precedence, CType::f32};
  };
  switch (op) {
    case MapOp::add:
      return infix(" + ", kSum);
    case MapOp::sub:
      return infix(" - ", kSum);
    case MapOp::mul:
      return infix(" * ", kProduct);
    case MapOp::div:
      return infix(" / ", kProduct);
    case MapOp::pow:
      return function("powf");
    case MapOp::mod:
      return function("mote_modf");
    case MapOp::min:
      return function("mote_minf");
    case MapOp::max:
      return function("mote_maxf");
    default:
      return binary(op, a, b);
  }
}

Text native_binary(MapOp op, const Text& a, const Text& b) {
  const bool real = is_real_type(a.type) && is_real_type(b.type);
  if (!real || (a.type != CType::f32 && b.type != CType::f32)) return binary(op, a, b);
  return float_binary(op, as_float(a), as_float(b));
}

}  // namespace mote::emit
