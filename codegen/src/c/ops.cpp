// SPDX-License-Identifier: Apache-2.0
// Prints Map ops as C expressions of their arguments. They mirror apply(): reals are computed in
// double (a float is widened before arithmetic), integers by helpers that wrap.
#include <fmt/format.h>

#include <cmath>
#include <optional>

#include "c/internal.h"
#include "mote/base/error.h"
#include "mote/uops/compare.h"
#include "mote/uops/map_ops.h"

namespace mote::emit {

std::string call(std::string_view function, const Text& a, Uses& uses) {
  uses.call(std::string(function));
  return fmt::format("{}({})", function, a.text);
}
std::string call(std::string_view function, const Text& a, const Text& b, Uses& uses) {
  uses.call(std::string(function));
  return fmt::format("{}({}, {})", function, a.text, b.text);
}

namespace {

/// Returns the operator between two arguments in C, where logical_xor is != of two truths.
std::optional<Infix> infix(MapOp op) {
  return info(op == MapOp::logical_xor ? MapOp::ne : op).infix;
}

Text prefixed(std::string_view prefix, const Text& x, CType type) {
  return {std::string(prefix) + operand(x, kUnary), kUnary, type, prefix.front()};
}

Text binary_real(MapOp op, Text a, const Text& b, Uses& uses) {
  if (const std::string_view function = info(op).c.real; !function.empty())
    return {call(function, a, b, uses), kTight, CType::f64};
  const Infix in = *infix(op);
  if (in.precedence == kRelation || in.precedence == kEquality)
    return infix_text(in, a, b, CType::flag);
  if (a.type == CType::f32 && b.type == CType::f32)
    a = {"(double)" + operand(a, kUnary), kUnary, CType::f64};
  return infix_text(in, a, b, CType::f64);
}

/// Returns an integer as one side of a comparison: compilers take ~ of a byte, which C promotes,
/// for a mistake.
Text compared(const Text& x, Uses& uses) {
  if (x.type != CType::i32 || x.inverted.empty()) return x;
  return {call("mote_not", Text{x.inverted}, uses), kTight, CType::i64};
}

Text binary_integer(MapOp op, const Text& a, const Text& b, Uses& uses) {
  if (op == MapOp::logical_and || op == MapOp::logical_or)
    return infix_text(*infix(op), a, b, CType::flag);
  const Text x = as_number(a);
  const Text y = as_number(b);
  if (is_comparison_or_xor(op))
    return infix_text(*infix(op), compared(x, uses), compared(y, uses), CType::flag);
  const CForms& c = info(op).c;
  if (!c.integer.empty()) return {call(c.integer, x, y, uses), kTight, CType::i64};
  // Operators on bits get parentheses, since C ranks them below comparisons.
  const CType type = x.type == CType::i64 || y.type == CType::i64 ? CType::i64 : CType::i32;
  return {fmt::format("({} {} {})", within(x, kTight), c.symbol, within(y, kTight)), kTight, type};
}

Text unary_integer(MapOp op, const Text& x, Uses& uses) {
  const MapOpInfo& row = info(op);
  if (row.keeps_integers) return x;
  if (!row.c.integer.empty()) return {call(row.c.integer, x, uses), kTight, CType::i64};
  if (row.c.prefix.empty())
    throw InternalError(fmt::format("emit_c: Map {} of integers", row.name));
  Text out = prefixed(row.c.prefix, x,
                      row.gives_bool         ? CType::flag
                      : x.type == CType::i64 ? CType::i64
                                             : CType::i32);
  if (op == MapOp::bitwise_not) out.inverted = operand(x, kUnary);
  return out;
}

Text unary_real(MapOp op, const Text& x, Uses& uses) {
  const MapOpInfo& row = info(op);
  if (!row.c.prefix.empty()) {
    Text out = prefixed(row.c.prefix, x, x.type);
    if (out.prefix == '-' && x.constant && !std::signbit(*x.constant)) out.constant = -*x.constant;
    return out;
  }
  const CType type = row.gives_bool ? CType::truth : CType::f64;
  const Text value = row.c.real.empty() ? x : Text{call(row.c.real, x, uses), kTight, type};
  return row.c.is_reciprocal ? Text{"1.0 / " + operand(value, kUnary), kProduct, type} : value;
}

}  // namespace

Text infix_text(const Infix& in, const Text& a, const Text& b, CType type) {
  const auto next = static_cast<Precedence>(in.precedence + 1);
  const bool comparison = in.precedence == kRelation || in.precedence == kEquality;
  // Compilers warn of a comparison of comparisons, of !a != b, and of && within || without
  // parentheses.
  const Precedence left = comparison ? kSum : in.precedence == kOr ? kEquality : in.precedence;
  const Precedence right = comparison ? kSum : in.precedence == kOr ? kEquality : next;
  const bool chain = in.precedence == kOr && a.precedence == kOr;
  if (comparison && a.prefix == '!')
    return {fmt::format("({}) {} {}", a.text, in.symbol, operand(b, right)), in.precedence, type};
  const Precedence least = chain ? a.precedence : left;
  return {fmt::format("{} {} {}", within(a, least), in.symbol, operand(b, right)), in.precedence,
          type, leading_minus(a, least)};
}

Text as_number(const Text& t) {
  if (t.type == CType::byte) return {t.text + " != 0", kEquality, CType::flag};
  if (t.type != CType::truth) return t;
  return {within(t, kEquality) + " ? 1 : 0", kTernary, CType::flag, leading_minus(t, kEquality)};
}

Text binary(MapOp op, Text a, const Text& b, Uses& uses) {
  return is_real_type(a.type) ? binary_real(op, std::move(a), b, uses)
                              : binary_integer(op, a, b, uses);
}

Text unary(MapOp op, const Text& x, Uses& uses) {
  return is_real_type(x.type) ? unary_real(op, x, uses) : unary_integer(op, x, uses);
}

bool is_self_comparison(MapOp op, const Text& a, const Text& b) {
  return is_comparison_or_xor(op) && as_number(a).text == as_number(b).text;
}

SelfComparison self_comparison(MapOp op, const Text& a, Uses& uses) {
  const bool holds = op == MapOp::eq || op == MapOp::le || op == MapOp::ge;
  if (!is_real_type(a.type) || op == MapOp::lt || op == MapOp::gt)
    return {{holds ? "1" : "0", kTight, CType::flag}, false};
  const Text is_nan{call("isnan", a, uses), kTight, CType::truth};
  return {holds ? prefixed("!", is_nan, CType::flag) : is_nan, true};
}

}  // namespace mote::emit
