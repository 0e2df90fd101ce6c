// SPDX-License-Identifier: Apache-2.0
// Prints values as C expressions. They mirror apply(): reals are computed in double, integers in
// wrapping 64-bit. Loads keep the type of the tensor in C until arithmetic would be done in it.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>

#include "c/internal.h"
#include "ir/dependence.h"
#include "mote/base/error.h"
#include "mote/base/overloaded.h"
#include "passes/leave_out.h"

namespace mote::emit {
namespace {

CType type_of_storage(DType dtype) {
  if (is_real(dtype)) return dtype == DType::f32 ? CType::f32 : CType::f64;
  if (dtype == DType::boolean) return CType::byte;
  return dtype == DType::i64 ? CType::i64 : CType::i32;
}

Text constant_text(const Number& n) {
  const bool fits = !n.is_real() && n.integer() >= std::numeric_limits<std::int32_t>::min() &&
                    n.integer() <= std::numeric_limits<std::int32_t>::max();
  if (!n.is_real()) return integer_literal(n.integer(), fits ? CType::i32 : CType::i64);
  if (!std::isfinite(n.real())) return real_literal(n.real(), CType::f32);  // a float in C
  Text text = real_literal(n.real(), CType::f64);
  text.constant = n.real();
  return text;
}

/// Returns the type in C of an operation of two operands.
CType joined(CType a, CType b) {
  if (is_real_type(a)) return a == CType::f32 && b == CType::f32 ? CType::f32 : CType::f64;
  if (a == CType::flag && b == CType::flag) return CType::flag;
  return a == CType::i64 || b == CType::i64 ? CType::i64 : CType::i32;
}

/// Converts the operands to float if an element, a float, is among them; returns whether it did.
bool to_float(MapOp op, std::vector<Text>& args) {
  const std::span<Text> operands = std::span(args).subspan(op == MapOp::where ? 1 : 0);
  const auto is_float = [](const Text& t) { return t.type == CType::f32; };
  if (std::ranges::none_of(operands, is_float)) return false;
  for (Text& t : operands) t = as_float(t);
  return true;
}

}  // namespace

std::string storage_type(DType dtype) { return std::string(info(dtype).c_type); }

std::string local_type(DType dtype, bool native) {
  if (is_real(dtype)) return native && is_in_float(dtype) ? "float" : "double";
  return dtype == DType::boolean ? "bool" : "int64_t";
}

std::string local_type(const TensorDecl& t, bool native) {
  return t.integer_bits == 64 ? local_type(t.dtype, native)
                              : fmt::format("int{}_t", t.integer_bits);
}

std::size_t bytes_of_local(const TensorDecl& t, bool native) {
  if (is_real(t.dtype)) return native && is_in_float(t.dtype) ? sizeof(float) : sizeof(double);
  return t.dtype == DType::boolean ? sizeof(bool) : static_cast<std::size_t>(t.integer_bits / 8);
}

CType type_of_local(DType dtype, bool native) {
  if (is_real(dtype)) return native && is_in_float(dtype) ? CType::f32 : CType::f64;
  return dtype == DType::boolean ? CType::flag : CType::i64;
}

Text Printer::cast(const Value& x, DType to, const Facts& facts) const {
  const Text t = number(x, facts);
  const bool from_real = is_real_type(t.type);
  if (is_narrow(to)) {
    if (p_.native && t.type == CType::f32) return widened(narrow(t, to, uses_), to, uses_);
    const Text real = from_real ? t : Text{"(double)" + operand(t, kUnary)};
    const Text bits{call(fmt::format("mote_to_{}", name(to)), real, uses_)};
    return {call(fmt::format("mote_from_{}", name(to)), bits, uses_), kTight, CType::f64};
  }
  if (is_integer(to) && !is_wide(to)) {
    if (to == DType::i32 && !from_real && (t.type == CType::i32 || t.type == CType::flag)) return t;
    if (p_.native && t.type == CType::f32)
      return {call(fmt::format("mote_float_to_{}", name(to)), t, uses_), kTight, CType::i32};
    if (from_real) return {call(fmt::format("mote_to_{}", name(to)), t, uses_), kTight, CType::i64};
    return {fmt::format("({}){}", storage_type(to), operand(t, kUnary)), kUnary, CType::i32};
  }
  switch (to) {
    case DType::f64:
      if (p_.native && t.type == CType::f32)
        return {"(double)" + operand(t, kUnary), kUnary, CType::f64};
      return from_real ? t : Text{"(double)" + operand(t, kUnary), kUnary, CType::f64};
    case DType::f32: {
      if (t.type == CType::f32) return t;
      const bool is_short = p_.native && (t.type == CType::i32 || t.type == CType::flag);
      const char* through = from_real || is_short ? "(float)" : "(float)(double)";
      return {through + operand(t, kUnary), kUnary, CType::f32};
    }
    case DType::i64:
      return from_real ? Text{call("mote_to_i64", t, uses_), kTight, CType::i64} : t;
    default:
      return {within(t, kSum) + (from_real ? " != 0.0" : " != 0"), kEquality, CType::flag,
              leading_minus(t, kSum)};
  }
}

/// Returns `condition ? a : b`.
Text Printer::choice(const Text& condition, const Text& a, const Text& b) const {
  uses_.call("?:");
  const Text x = as_number(a);
  const Text y = as_number(b);
  const std::string test = within(condition, kEquality);
  return {fmt::format("{} ? {} : {}", test, within(x, kOr), within(y, kTernary)), kTernary,
          joined(x.type, y.type), leading_minus(condition, kEquality)};
}

/// Returns the choice between two values. In vectors, a function's arguments are read in all lanes:
/// compilers make no vectors of what C reads under a condition.
Text Printer::where(const value::Op& op, const std::vector<Text>& args) const {
  const bool is_read = in_vectors_ && (reads_elements(op.args[1]) || reads_elements(op.args[2]));
  const CType type = joined(as_number(args[1]).type, as_number(args[2]).type);
  if (!is_read || !is_real_type(type)) return choice(args[0], args[1], args[2]);
  const char* function = type == CType::f32 ? "mote_wheref" : "mote_where";
  uses_.call(function);
  return {fmt::format("{}({}, {}, {})", function, args[0].text, as_number(args[1]).text,
                      as_number(args[2]).text),
          kTight, type};
}

/// Returns the quotient as a product, where the reciprocal of the divisor was computed before.
std::optional<Text> Printer::by_reciprocal(const value::Op& op, const Facts& facts) const {
  if (op.op != MapOp::div) return std::nullopt;
  const auto found =
      std::ranges::find_if(divisors_, [&](const Divisor& d) { return equal(d.value, op.args[1]); });
  if (found == divisors_.end()) return std::nullopt;
  const Text a = as_float(value(op.args[0], facts));
  return Text{
      fmt::format("{} * {} * {}", within(a, kProduct), read(found->reciprocal), read(found->scale)),
      kProduct, CType::f32, leading_minus(a, kProduct)};
}

Text Printer::operation(const Value& v, const Facts& facts) const {
  const auto& op = std::get<value::Op>(v->kind);
  if (op.op == MapOp::cast) return cast(op.args[0], v->dtype, facts);
  if (auto product = by_reciprocal(op, facts)) return *product;
  if (const auto known = decided_by_range(op)) return {*known ? "1" : "0", kTight, CType::flag};
  const std::size_t start = uses_.mark();
  std::vector<Text> args = {value(op.args[0], facts)};
  const std::size_t behind_first = uses_.mark();
  for (std::size_t k = 1; k < op.args.size(); ++k) args.push_back(value(op.args[k], facts));
  const bool in_float = p_.native && is_in_float(op.arg_dtype) && to_float(op.op, args);
  if (op.op == MapOp::where) return where(op, args);
  const auto is_truth = [](const std::optional<IntegerRange>& range) {
    return range && range->least == 0 && range->greatest == 1;
  };
  if (op.op == MapOp::bitwise_not && is_truth(range_of(op.args[0])))  // compilers warn of ~ of it
    return {call("mote_not", as_number(args[0]), uses_), kTight, CType::i64};
  if (!p_.native || !is_in_float(op.arg_dtype))
    for (Text& t : args) t = argument(op.op, t);
  if (args.size() == 1)
    return in_float ? float_unary(op.op, args[0], uses_) : unary(op.op, args[0], uses_);
  if (is_self_comparison(op.op, args[0], args[1])) {
    uses_.erase(behind_first);
    const SelfComparison folded = self_comparison(op.op, args[0], uses_);
    if (!folded.reads_value) uses_.erase(start);
    return folded.text;
  }
  if (in_float) return float_binary(op.op, args[0], args[1], uses_);
  if (p_.native && !is_real(op.arg_dtype)) {
    if (const auto text = native_integer(op.op, args[0], args[1], range_of(v))) return *text;
  }
  return binary(op.op, args[0], args[1], uses_);
}

/// Returns an argument of an op's function: C++ has <math.h>'s functions for float too, and would
/// choose those for an element of f32.
Text Printer::argument(MapOp op, const Text& x) const {
  const MapOpInfo& row = info(op);
  const bool is_call = !row.c.real.empty() && !row.c.real.starts_with("mote_") && !row.gives_bool;
  if (target_ != Target::cuda || x.type != CType::f32 || !is_call) return x;
  return {"(double)" + operand(x, kUnary), kUnary, CType::f64};
}

bool Printer::are_known(const Conditions& conditions, const Facts& facts) {
  const auto is_wanted = [](const Symbol s) { return is_wanted_output(s); };
  return std::ranges::all_of(conditions, [&](const Condition& c) {
    const auto symbols = c.e.symbols();
    return !symbols.empty() && std::ranges::all_of(symbols, is_wanted) && facts.prove_nonneg(c.e);
  });
}

Text Printer::guard(const value::Guard& g, const Facts& facts) const {
  if (are_known(g.conditions, facts)) return value(g.then, facts);
  Facts inside = facts;
  const Text condition = conditions(g.conditions, inside);
  const Text then = value(g.then, inside);
  const Text otherwise = constant_text(g.otherwise);
  const bool in_float = p_.native && then.type == CType::f32;
  return choice(condition, then, in_float ? as_float(otherwise) : otherwise);
}

Text Printer::parameter(const value::Param& p, DType dtype) const {
  const std::string& name = read(names_.param(p.name));
  const auto k = find_param(*p_.source, p.name);
  if (!k) throw InternalError("emit_c: unknown parameter " + p.name);
  const bool integer = p_.source->params[static_cast<std::size_t>(*k)].is_integer;
  if (dtype == DType::boolean) return {"(" + name + " != 0)", kTight, CType::i64};
  if (!is_real(dtype)) return {name, kTight, CType::i64};
  return integer ? Text{"(double)" + name, kUnary, CType::f64} : Text{name, kTight, CType::f64};
}

Text Printer::element_value(const TensorDecl& t, const std::vector<Expr>& index,
                            const Facts& facts) const {
  const std::string text = element(t, index, facts);
  if (t.role == TensorRole::temporary)
    return {text, kTight, t.integer_bits == 64 ? type_of_local(t.dtype, p_.native) : CType::i32};
  if (is_narrow(t.dtype) && p_.native) return widened(text, t.dtype, uses_);
  if (is_narrow(t.dtype))
    return {call(fmt::format("mote_from_{}", name(t.dtype)), Text{text}, uses_), kTight,
            CType::f64};
  return {text, kTight, type_of_storage(t.dtype)};
}

Text Printer::value(const Value& v, const Facts& facts) const {
  return std::visit(
      Overloaded{[](const value::Constant& c) { return constant_text(c.number); },
                 [&](const value::Index& i) {
                   const auto known = constants_.find(i.e);
                   const Text t = known == constants_.end()
                                      ? expr(i.e, facts)
                                      : Text{read(known->second), kTight, CType::i64};
                   return is_real(v->dtype)
                              ? Text{"(double)" + operand(t, kUnary), kUnary, CType::f64}
                              : t;
                 },
                 [&](const value::Param& p) { return parameter(p, v->dtype); },
                 [&](const value::Load& l) {
                   const TensorDecl* t = find_tensor(p_, l.tensor);
                   if (t == nullptr) throw InternalError("emit_c: unknown tensor " + l.tensor);
                   return element_value(*t, l.index, facts);
                 },
                 [&](const value::Op& /*op*/) { return operation(v, facts); },
                 [&](const value::Guard& g) { return guard(g, facts); },
                 [&](const value::Accumulated& a) {
                   return Text{read(names_.result(a.name)), kTight, type_of_name(a.name, v->dtype)};
                 },
                 [&](const value::Named& b) {
                   return Text{read(names_.local(b.name)), kTight, type_of_name(b.name, v->dtype)};
                 }},
      v->kind);
}

Text Printer::number(const Value& v, const Facts& facts) const {
  return as_number(value(v, facts));
}

}  // namespace mote::emit
