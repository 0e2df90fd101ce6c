// SPDX-License-Identifier: Apache-2.0
// Prints values by precedence, with as few parentheses and dtypes as the parser needs. In: a value
// and the dtype that is known where it stands; out: text that the parser reads back to that value.
#include "ir/print_value.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ir/text_words.h"
#include "mote/base/characters.h"
#include "mote/base/overloaded.h"

namespace mote::print {
namespace {

bool is_arithmetic_of_indices(MapOp op) {
  return op == MapOp::neg || op == MapOp::add || op == MapOp::sub || op == MapOp::mul ||
         op == MapOp::div || op == MapOp::min || op == MapOp::max;
}

/// Returns true for text such as 7 and -3, which is a number of an index expression too.
bool is_whole(const std::string& number) {
  return number.size() < 20 && is_digit(number.back()) &&
         number.find_first_not_of("-0123456789") == std::string::npos;
}

}  // namespace

std::string number_text(const Number& n) {
  if (!n.is_real()) return fmt::format("{}", n.integer());
  return std::isnan(n.real()) ? "nan" : fmt::format("{}", n.real());
}

ValuePrinter::ValuePrinter(const LoopProgram* p) : index_(p), p_(p) {
  if (p != nullptr) real_ = real_dtype_of(p->tensors);
}

std::string ValuePrinter::list(const std::vector<Expr>& exprs) const {
  std::string out;
  for (const Expr& e : exprs) out += (out.empty() ? "" : ", ") + expr(e).text;
  return out;
}

std::string ValuePrinter::element(const std::string& tensor, const std::vector<Expr>& index) const {
  return fmt::format("{}[{}]", tensor, list(index));
}

Text ValuePrinter::conditions(const Conditions& c) const {
  std::string out;
  for (const Condition& one : c) out += (out.empty() ? "" : " && ") + index_.comparison(one);
  return {out, c.size() > 1 ? kAnd : kRelation};
}

bool ValuePrinter::is_integer_param(const std::string& name, DType dtype) const {
  if (p_ == nullptr || !p_->source) return !is_real(dtype);
  const std::optional<int> k = find_param(*p_->source, name);
  return k && p_->source->params[static_cast<std::size_t>(*k)].is_integer;
}

/// Returns true if the text is also that of an index expression.
bool ValuePrinter::reads_as_index(const Value& v) const {
  return std::visit(
      Overloaded{[](const value::Constant& c) { return is_whole(number_text(c.number)); },
                 [](const value::Index&) { return true; },
                 [&](const value::Param& p) { return is_integer_param(p.name, v->dtype); },
                 [&](const value::Load&) { return !is_real(v->dtype); },
                 [&](const value::Op& op) {
                   return is_arithmetic_of_indices(op.op) &&
                          std::ranges::all_of(op.args,
                                              [&](const Value& a) { return reads_as_index(a); });
                 },
                 [](const auto&) { return false; }},
      v->kind);
}

/// Returns true if a variable or a size stands in an index expression of the value, outside of
/// elements of tensors. Without one, the text is that of other values.
bool ValuePrinter::names_variable(const Value& v) const {
  if (const auto* index = std::get_if<value::Index>(&v->kind))
    return index_.names_variable(index->e);
  const auto* op = std::get_if<value::Op>(&v->kind);
  return op != nullptr &&
         std::ranges::any_of(op->args, [&](const Value& a) { return names_variable(a); });
}

Told ValuePrinter::told(const Value& v) const {
  return std::visit(
      Overloaded{[](const value::Constant&) { return Told{}; },
                 [](const value::Index&) { return Told::weakly(DType::i64); },
                 [&](const value::Param& p) {
                   return Told::weakly(is_integer_param(p.name, v->dtype) ? DType::i64 : real_);
                 },
                 [&](const value::Op& op) {
                   std::vector<Told> args;
                   for (const Value& a : op.args) args.push_back(told(a));
                   return told_by(op.op, args, v->dtype);
                 },
                 [&](const value::Guard& g) { return told(g.then); },
                 [&](const auto&) { return Told::strongly(v->dtype); }},
      v->kind);
}

/// Returns the text of a constant or a parameter, with its dtype if another one is known.
Text ValuePrinter::leaf(const Value& v, Text text, std::optional<DType> known) const {
  if (p_ == nullptr || known == v->dtype) return text;
  return {fmt::format("{}({})", name(v->dtype), text.text), kTight};
}

Text ValuePrinter::index_leaf(const value::Index& i, const Value& v, std::optional<DType> known,
                              bool marks) const {
  if (p_ == nullptr) return expr(i.e);
  const std::string text = expr(i.e).text;
  if (v->dtype != known.value_or(DType::i64))
    return {fmt::format("{}({}, {})", words::kIndex, text, name(v->dtype)), kTight};
  if (marks || !index_.names_variable(i.e))
    return {fmt::format("{}({})", words::kIndex, text), kTight};
  return expr(i.e);
}

/// Returns the texts of the arguments. If nothing tells their dtype, the first one says it.
std::vector<Text> ValuePrinter::arguments(const value::Op& op, std::optional<DType> known,
                                          bool marks) const {
  std::vector<Told> tell;
  for (const Value& a : op.args) tell.push_back(told(a));
  std::optional<DType> of_args = known_of_arguments(op.op, known, tell);
  std::vector<Text> out;
  for (std::size_t k = 0; k < op.args.size(); ++k) {
    if (op.op == MapOp::where && k == 0) {
      out.push_back(value(op.args[k], DType::boolean, false));
      continue;
    }
    out.push_back(value(op.args[k], of_args, marks));
    if (!of_args) of_args = op.arg_dtype;
  }
  return out;
}

Text ValuePrinter::operation(const value::Op& op, const Value& v, std::optional<DType> known,
                             bool marks) const {
  marks = marks || (p_ != nullptr && reads_as_index(v) && names_variable(v));
  if (op.op == MapOp::cast && p_ != nullptr) {
    // f32(2) is a constant of f32, f32(i64(2)) a cast of one of i64.
    const Value& of = op.args.front();
    if (std::holds_alternative<value::Constant>(of->kind) ||
        std::holds_alternative<value::Param>(of->kind))
      return {fmt::format("{}({}({}))", name(v->dtype), name(of->dtype),
                          value(of, of->dtype, false).text),
              kTight};
  }
  const std::vector<Text> args = arguments(op, known, marks);
  if (op.op == MapOp::neg) {
    const char first = args[0].text.front();
    const bool is_number =
        is_digit(first) || std::holds_alternative<value::Constant>(op.args[0]->kind);
    return {"-" + (is_number && args[0].precedence >= kUnary ? "(" + args[0].text + ")"
                                                             : right_of(args[0], kUnary)),
            kUnary};
  }
  if (op.op == MapOp::logical_not) return {"!" + within(args[0], kUnary), kUnary};
  if (const std::optional<Infix>& in = info(op.op).infix) {
    const auto next = static_cast<Precedence>(in->precedence + 1);
    const bool chains = in->precedence != kRelation && in->precedence != kEquality;
    const char* space = in->precedence == kProduct ? "" : " ";
    return {fmt::format("{}{}{}{}{}", within(args[0], chains ? in->precedence : next), space,
                        in->symbol, space, right_of(args[1], next)),
            in->precedence};
  }
  std::string list;
  for (const Text& a : args) list += (list.empty() ? "" : ", ") + a.text;
  const std::string_view function = op.op == MapOp::cast ? name(v->dtype) : name(op.op);
  return {fmt::format("{}({})", function, list), kTight};
}

Text ValuePrinter::value(const Value& v, std::optional<DType> known, bool marks) const {
  return std::visit(
      Overloaded{[&](const value::Constant& c) {
                   const std::string text = number_text(c.number);
                   return leaf(v, {text, text.starts_with('-') ? kUnary : kTight}, known);
                 },
                 [&](const value::Index& i) { return index_leaf(i, v, known, marks); },
                 [&](const value::Param& p) {
                   const std::optional<DType> here = known ? known : told(v).known();
                   return leaf(v, {"$" + p.name, kTight}, here);
                 },
                 [&](const value::Load& l) -> Text {
                   return {element(l.tensor, l.index), kTight};
                 },
                 [&](const value::Op& op) { return operation(op, v, known, marks); },
                 [&](const value::Guard& g) -> Text {
                   return {fmt::format("({} ? {} : {})", conditions(g.conditions).text,
                                       value(g.then, known, false).text, number_text(g.otherwise)),
                           kTight};
                 },
                 [](const value::Accumulated& a) -> Text {
                   return {a.name, kTight};
                 },
                 [](const value::Named& b) -> Text {
                   return {b.name, kTight};
                 }},
      v->kind);
}

}  // namespace mote::print
