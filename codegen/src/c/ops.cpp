// SPDX-License-Identifier: Apache-2.0
// Map ops as C expressions of their arguments. Mirrors apply(): reals in double (a float is widened
// before arithmetic), integers through helpers that wrap.
#include <fmt/format.h>

#include <optional>

#include "c/internal.h"
#include "mote/base/error.h"
#include "mote/uops/compare.h"
#include "mote/uops/map_ops.h"

namespace mote::emit {

std::string call(std::string_view function, const Text& a) {
  return fmt::format("{}({})", function, a.text);
}
std::string call(std::string_view function, const Text& a, const Text& b) {
  return fmt::format("{}({}, {})", function, a.text, b.text);
}

namespace {

/// The operator between two arguments in C, where logical_xor is != of two truths.
std::optional<Infix> infix(MapOp op) {
  return info(op == MapOp::logical_xor ? MapOp::ne : op).infix;
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
    return {fmt::format("({}) {} {}", a.text, in.symbol, operand(b, right)), in.precedence, type};
  return {fmt::format("{} {} {}", chain ? a.text : within(a, left), in.symbol, operand(b, right)),
          in.precedence, type};
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
  if (const std::string_view function = info(op).c.real; !function.empty())
    return {call(function, a, b), kTight, CType::f64};
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
  if (compares)
    return x.text == y.text ? self_comparison(op, x, false)
                            : infix_text(*infix(op), x, y, CType::flag);
  const CForms& c = info(op).c;
  if (!c.integer.empty()) return {call(c.integer, x, y), kTight, CType::i64};
  // Bits: in parentheses, since C ranks these operators below comparisons.
  const CType type = x.type == CType::i64 || y.type == CType::i64 ? CType::i64 : CType::i32;
  return {fmt::format("({} {} {})", within(x, kTight), c.symbol, within(y, kTight)), kTight, type};
}

Text unary_integer(MapOp op, const Text& x) {
  const MapOpInfo& row = info(op);
  if (row.keeps_integers) return x;
  if (!row.c.integer.empty()) return {call(row.c.integer, x), kTight, CType::i64};
  if (row.c.prefix.empty())
    throw InternalError(fmt::format("emit_c: Map {} of integers", row.name));
  const CType type = row.gives_bool ? CType::flag : x.type == CType::i64 ? CType::i64 : CType::i32;
  return {std::string(row.c.prefix) + operand(x, kUnary), kUnary, type};
}

Text unary_real(MapOp op, const Text& x) {
  const MapOpInfo& row = info(op);
  if (!row.c.prefix.empty())
    return {std::string(row.c.prefix) + operand(x, kUnary), kUnary, x.type};
  const CType type = row.gives_bool ? CType::truth : CType::f64;
  const Text value = row.c.real.empty() ? x : Text{call(row.c.real, x), kTight, type};
  return row.c.is_reciprocal ? Text{"1.0 / " + operand(value, kUnary), kProduct, type} : value;
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
