// SPDX-License-Identifier: Apache-2.0
// Map ops as C expressions of their arguments. Mirrors apply(): reals in double (a float is widened
// before arithmetic), integers through helpers that wrap.
#include <fmt/format.h>

#include <optional>

#include "c/internal.h"
#include "mote/base/error.h"
#include "mote/uops/compare.h"

namespace mote::emit {

std::string call(std::string_view function, const Text& a) {
  return fmt::format("{}({})", function, a.text);
}
std::string call(std::string_view function, const Text& a, const Text& b) {
  return fmt::format("{}({}, {})", function, a.text, b.text);
}

namespace {

struct Infix {
  const char* symbol;
  Precedence precedence;
};
std::optional<Infix> infix(MapOp op) {
  switch (op) {
    case MapOp::add:
      return Infix{" + ", kSum};
    case MapOp::sub:
      return Infix{" - ", kSum};
    case MapOp::mul:
      return Infix{" * ", kProduct};
    case MapOp::div:
      return Infix{" / ", kProduct};
    case MapOp::lt:
      return Infix{" < ", kRelation};
    case MapOp::le:
      return Infix{" <= ", kRelation};
    case MapOp::gt:
      return Infix{" > ", kRelation};
    case MapOp::ge:
      return Infix{" >= ", kRelation};
    case MapOp::eq:
      return Infix{" == ", kEquality};
    case MapOp::ne:
    case MapOp::logical_xor:
      return Infix{" != ", kEquality};
    case MapOp::logical_and:
      return Infix{" && ", kAnd};
    case MapOp::logical_or:
      return Infix{" || ", kOr};
    default:
      return std::nullopt;
  }
}

Text infix_text(const Infix& in, const Text& a, const Text& b, CType type) {
  const auto next = static_cast<Precedence>(in.precedence + 1);
  const bool comparison = in.precedence == kRelation || in.precedence == kEquality;
  // Compilers warn of a comparison of comparisons, of !a != b, and of && within || without
  // parentheses.
  const Precedence left = comparison ? kSum : in.precedence == kOr ? kEquality : in.precedence;
  const Precedence right = comparison ? kSum : in.precedence == kOr ? kEquality : next;
  const bool chain = in.precedence == kOr && a.precedence == kOr;
  if (comparison && a.precedence == kUnary && a.text.starts_with('!'))
    return {"(" + a.text + ")" + in.symbol + operand(b, right), in.precedence, type};
  return {(chain ? a.text : within(a, left)) + in.symbol + operand(b, right), in.precedence, type};
}

/// A comparison of a value with itself, which compilers warn of.
Text self_comparison(MapOp op, const Text& a, bool real) {
  const bool holds = op == MapOp::eq || op == MapOp::le || op == MapOp::ge;
  if (!real || op == MapOp::lt || op == MapOp::gt) return {holds ? "1" : "0", kTight, CType::flag};
  if (holds) return {"!" + call("isnan", a), kUnary, CType::flag};
  return {call("isnan", a), kTight, CType::truth};
}

Text binary_real(MapOp op, Text a, const Text& b) {
  if (is_comparison_or_xor(op) && a.text == b.text) return self_comparison(op, a, true);
  switch (op) {
    case MapOp::pow:
      return {call("pow", a, b), kTight, CType::f64};
    case MapOp::mod:
      return {call("mote_real_mod", a, b), kTight, CType::f64};
    case MapOp::min:
      return {call("mote_min", a, b), kTight, CType::f64};
    case MapOp::max:
      return {call("mote_max", a, b), kTight, CType::f64};
    default:
      break;
  }
  const Infix in = *infix(op);
  if (in.precedence == kRelation || in.precedence == kEquality)
    return infix_text(in, a, b, CType::flag);
  if (a.type == CType::f32 && b.type == CType::f32)
    a = {"(double)" + operand(a, kUnary), kUnary, CType::f64};
  return infix_text(in, a, b, CType::f64);
}

/// Where it is compared: compilers take ~ of a byte, which C promotes, for a mistake.
Text compared(const Text& x) {
  if (x.type != CType::i32 || !x.text.starts_with('~')) return x;
  return {call("mote_not", Text{x.text.substr(1)}), kTight, CType::i64};
}

Text binary_integer(MapOp op, const Text& a, const Text& b) {
  if (op == MapOp::logical_and || op == MapOp::logical_or)
    return infix_text(*infix(op), a, b, CType::flag);
  const bool compares = is_comparison_or_xor(op);
  const Text x = compares ? compared(as_number(a)) : as_number(a);
  const Text y = compares ? compared(as_number(b)) : as_number(b);
  const auto helper = [&](const char* function) {
    return Text{call(function, x, y), kTight, CType::i64};
  };
  if (compares && x.text == y.text) return self_comparison(op, x, false);
  switch (op) {
    case MapOp::add:
      return helper("mote_add");
    case MapOp::sub:
      return helper("mote_sub");
    case MapOp::mul:
      return helper("mote_mul");
    case MapOp::div:
      return helper("mote_div");
    case MapOp::mod:
      return helper("mote_mod");
    case MapOp::pow:
      return helper("mote_pow");
    case MapOp::min:
      return helper("mote_imin");
    case MapOp::max:
      return helper("mote_imax");
    case MapOp::shift_left:
      return helper("mote_shift_left");
    case MapOp::shift_right:
      return helper("mote_shift_right");
    case MapOp::philox:
      return helper("mote_philox");
    case MapOp::bitwise_and:
    case MapOp::bitwise_or:
    case MapOp::bitwise_xor: {  // in parentheses: below comparisons C ranks them oddly
      const char* symbol = op == MapOp::bitwise_and  ? " & "
                           : op == MapOp::bitwise_or ? " | "
                                                     : " ^ ";
      const CType type = x.type == CType::i64 || y.type == CType::i64 ? CType::i64 : CType::i32;
      return {"(" + within(x, kTight) + symbol + within(y, kTight) + ")", kTight, type};
    }
    default:
      return infix_text(*infix(op), x, y, CType::flag);
  }
}

Text unary_integer(MapOp op, const Text& x) {
  switch (op) {
    case MapOp::neg:
      return {call("mote_neg", x), kTight, CType::i64};
    case MapOp::abs:
      return {call("mote_abs", x), kTight, CType::i64};
    case MapOp::sign:
      return {call("mote_sign", x), kTight, CType::i64};
    case MapOp::bitwise_not:
      return {"~" + operand(x, kUnary), kUnary, x.type == CType::i64 ? CType::i64 : CType::i32};
    case MapOp::logical_not:
      return {"!" + within(x, kUnary), kUnary, CType::flag};
    case MapOp::floor:
    case MapOp::ceil:
    case MapOp::round:
    case MapOp::trunc:
      return x;
    default:
      throw InternalError(fmt::format("emit_c: Map {} of integers", name(op)));
  }
}

Text unary_real(MapOp op, const Text& x) {
  switch (op) {
    case MapOp::neg:
      return {"-" + operand(x, kUnary), kUnary, x.type};
    case MapOp::abs:
      return {call("fabs", x), kTight, CType::f64};
    case MapOp::sign:
      return {call("mote_real_sign", x), kTight, CType::f64};
    case MapOp::recip:
      return {"1.0 / " + operand(x, kUnary), kProduct, CType::f64};
    case MapOp::rsqrt:
      return {"1.0 / " + call("sqrt", x), kProduct, CType::f64};
    case MapOp::round:
      return {call("nearbyint", x), kTight, CType::f64};
    case MapOp::next_up:
    case MapOp::next_down:
    case MapOp::lowest_bit:
      return {call(fmt::format("mote_{}", name(op)), x), kTight, CType::f64};
    case MapOp::isnan:
    case MapOp::isinf:
      return {call(name(op), x), kTight, CType::truth};
    default:  // the rest have the names that <math.h> gives them
      return {call(name(op), x), kTight, CType::f64};
  }
}

}  // namespace

Text as_number(const Text& t) {
  if (t.type != CType::truth) return t;
  if (t.text.ends_with(']')) return {t.text + " != 0", kEquality, CType::flag};
  return {within(t, kEquality) + " ? 1 : 0", kTernary, CType::flag};
}

Text binary(MapOp op, Text a, const Text& b) {
  return is_real_type(a.type) ? binary_real(op, std::move(a), b) : binary_integer(op, a, b);
}

Text unary(MapOp op, const Text& x) {
  return is_real_type(x.type) ? unary_real(op, x) : unary_integer(op, x);
}

}  // namespace mote::emit
