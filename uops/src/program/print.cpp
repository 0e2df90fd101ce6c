// SPDX-License-Identifier: Apache-2.0
// Prints a program. Values used more than once, and lines that grow too long, become statements of
// their own; nodes that the builders insert by themselves (repeated axes, kept axes, means) are
// written as a person would write them. parse_program reads an equal program back.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <unordered_map>

#include "graph/node.h"
#include "mote/base/text_cursor.h"
#include "mote/uops/program.h"
#include "program/language.h"
#include "program/view.h"

namespace mote {
namespace {

constexpr std::size_t kLongest = 88;  // columns of an expression, without "output y = "

constexpr int kUnary = text::kUnary, kPrimary = text::kTight;

struct Shown {
  std::string text;
  int level = kPrimary;
};

std::string parenthesised(const Shown& s, int least) {
  return s.level < least ? "(" + s.text + ")" : s.text;
}

std::string number_text(const Number& n, DType dtype) {
  if (dtype == DType::boolean) return n.integer() != 0 ? "true" : "false";
  if (!n.is_real()) return std::to_string(n.integer());
  return std::isnan(n.real()) ? "nan" : fmt::format("{}", n.real());
}

class Printer {
 public:
  explicit Printer(const Program& p) : p_(p) {}

  std::string run() {
    declarations();
    values();
    return std::move(text_);
  }

 private:
  // ---- declarations

  void declarations() {
    text_ += "op " + p_.name + (p_.equation.empty() ? "" : " " + quoted_text(p_.equation)) + "\n";
    for (const ParamDecl& p : p_.params) {
      taken_.insert(p.name);
      text_ += fmt::format("param {} {}", p.name, p.is_integer ? "int" : "real");
      if (p.default_value) text_ += " = " + number_text(*p.default_value, DType::f64);
      if (p.lower || p.upper)
        text_ += fmt::format(" in {}..{}", p.lower ? std::to_string(*p.lower) : "",
                             p.upper ? std::to_string(*p.upper) : "");
      text_ += (p.meaning.empty() ? "" : " " + quoted_text(p.meaning)) + "\n";
    }
    for (const Uop& u : p_.inputs) {
      const auto& in = std::get<uop::Input>(u.node().kind);
      taken_.insert(in.name);
      shown_[u.id()] = {in.name, kPrimary};
      text_ += fmt::format("input {} {}[{}]\n", in.name, name(u.dtype()), shape(u));
    }
    for (const NamedSize& s : p_.sizes)
      text_ += fmt::format("size {} = {}\n", s.name, s.value.to_string());
    for (const Constraint& c : p_.constraints)
      text_ += fmt::format("require {} = {}\n", c.left.to_string(), c.right.to_string());
    for (const Output& o : p_.outputs) taken_.insert(o.name);
  }

  // ---- values, operands first

  void values() {
    const std::vector<Uop> roots = mote::roots(p_);
    view_ = view_program(roots);
    std::unordered_map<const UopNode*, std::string> output_names;
    for (const Output& o : p_.outputs) output_names.emplace(o.value.id(), o.name);
    for (const Uop& u : view_.order) {
      if (shown_.contains(u.id()) || is_bare(u)) continue;
      shown_[u.id()] = show(u);
      const auto output = output_names.find(u.id());
      if (view_.uses(u) > (output == output_names.end() ? 1 : 0))
        state(u, output == output_names.end() ? fresh_name() : output->second);
    }
    std::set<const UopNode*> printed;
    for (const Output& o : p_.outputs) outputs(o, printed);
  }

  // Writes "output y = …", or "output y" for a statement that already has that name.
  void outputs(const Output& o, std::set<const UopNode*>& printed) {
    const Shown value = operand(o.value, true);
    if (value.text == o.name)
      text_ += fmt::format("output {}\n", o.name);
    else
      text_ += fmt::format("output {} = {}\n", o.name, value.text);
    if (printed.insert(o.value.id()).second) shown_[o.value.id()] = {o.name, kPrimary};
  }

  // Gives u a statement of its own.
  void state(const Uop& u, const std::string& name) {
    text_ += fmt::format("{} = {}\n", name, shown_.at(u.id()).text);
    shown_[u.id()] = {name, kPrimary};
    stated_.insert(u.id());
  }

  std::string fresh_name() {
    std::string name;
    do name = fmt::format("v{}", ++count_);
    while (taken_.contains(name));
    return name;
  }

  // Returns the text of u; its longest operands get statements until it is short enough.
  Shown show(const Uop& u) {
    Shown s = compose(u);
    while (s.text.size() > kLongest) {
      Uop longest;
      std::size_t length = 15;  // a shorter operand is not worth a statement
      for (const Use& use : view_.written(u)) {
        const auto found = shown_.find(use.u.id());
        if (found == shown_.end() || stated_.contains(use.u.id())) continue;
        if (found->second.text.size() <= length || is_input(use.u)) continue;
        longest = use.u;
        length = found->second.text.size();
      }
      if (!longest) return s;
      state(longest, fresh_name());
      s = compose(u);
    }
    return s;
  }
  static bool is_input(const Uop& u) { return std::holds_alternative<uop::Input>(u.node().kind); }

  // Returns the text of an operand. A constant or parameter has a dtype only if it is `typed`.
  Shown operand(const Uop& u, bool typed) const {
    if (!is_bare(u)) return shown_.at(u.id());
    const auto* s = std::get_if<uop::Scalar>(&u.node().kind);
    const std::string text =
        s ? number_text(s->value, u.dtype()) : "$" + std::get<uop::Param>(u.node().kind).name;
    if (typed) return {fmt::format("{}({})", name(u.dtype()), text), kPrimary};
    return {text, text[0] == '-' ? kUnary : kPrimary};
  }

  Shown compose(const Uop& u) const {
    if (const auto view = reduce_view(u)) {
      const bool keeps = view_.keeps(u);
      return {fmt::format("{}[{}{}]({})", view->name, fmt::join(view->axes, ", "),
                          keeps ? " keep" : "", operand(view->x, true).text)};
    }
    return std::visit([&](const auto& kind) { return compose(kind, u); }, u.node().kind);
  }
  Shown compose(const uop::Iota& k, const Uop& u) const {
    const std::string text = fmt::format("iota({} over {})", k.value.to_string(), shape(u));
    return {is_real(u.dtype()) ? fmt::format("{}({})", name(u.dtype()), text) : text};
  }
  Shown compose(const uop::Reindex& k, const Uop& u) const {
    if (kept_view(u) && view_.keeps(k.x)) return operand(k.x, true);
    std::string index;
    for (const Expr& e : k.from) index += (index.empty() ? "" : ", ") + e.to_string();
    const bool zero = identical(k.fill, constant_of(0, u.dtype(), "fill"));
    return {fmt::format("{}[{}{}over{}{}{}]", parenthesised(operand(k.x, true), kPrimary), index,
                        index.empty() ? "" : " ", u.rank() == 0 ? "" : " ", shape(u),
                        zero ? "" : " else " + number_text(k.fill, u.dtype()))};
  }
  Shown compose(const uop::Select& k, const Uop& u) const {
    const bool zero = identical(k.fill, constant_of(0, u.dtype(), "fill"));
    return {fmt::format("select[{}]({}, {}{})", k.axis, operand(k.x, true).text,
                        operand(k.index, true).text,
                        zero ? "" : " else " + number_text(k.fill, u.dtype()))};
  }
  Shown compose(const uop::Scatter& k, const Uop&) const {
    std::string index;
    for (const Expr& e : k.to) index += (index.empty() ? " " : ", ") + e.to_string();
    return {fmt::format("scatter[{}]({}, {} to{})", name(k.op), operand(k.base, true).text,
                        operand(k.x, true).text, index)};
  }
  Shown compose(const uop::SelectScatter& k, const Uop&) const {
    return {fmt::format("select_scatter[{}, {}]({}, {}, {})", k.axis, name(k.op),
                        operand(k.base, true).text, operand(k.x, true).text,
                        operand(k.index, true).text)};
  }
  Shown compose(const uop::StopGradient& k, const Uop&) const {
    return {fmt::format("stop_gradient({})", operand(k.x, true).text)};
  }
  Shown compose(const uop::Map& k, const Uop& u) const {
    const std::vector<Shown> args = arguments(k, u);
    if (k.op == MapOp::cast) return {fmt::format("{}({})", name(u.dtype()), args[0].text)};
    if (k.op == MapOp::neg) return {"-" + parenthesised(args[0], kUnary), kUnary};
    for (const InfixOperator& infix : infix_operators()) {
      if (infix.op != k.op) continue;
      const int right = infix.level + 1;
      const int left =
          infix.level == text::kRelation ? right : infix.level;  // a < b < c is invalid
      const char* space = infix.level == text::kProduct ? "" : " ";
      return {fmt::format("{}{}{}{}{}", parenthesised(args[0], left), space, infix.symbol, space,
                          parenthesised(args[1], right)),
              infix.level};
    }
    std::string list;
    for (const Shown& a : args) list += (list.empty() ? "" : ", ") + a.text;
    return {fmt::format("{}({})", name(k.op), list)};
  }
  template <typename K>
  Shown compose(const K&, const Uop& u) const {
    return operand(u, true);
  }

  // Returns the arguments of a Map, without the repetition that map() inserts by itself.
  std::vector<Shown> arguments(const uop::Map& k, const Uop& u) const {
    const std::size_t first = k.op == MapOp::where ? 1 : 0;
    const bool dtype_known =
        k.op != MapOp::cast && std::any_of(k.args.begin() + static_cast<std::ptrdiff_t>(first),
                                           k.args.end(), [](const Uop& a) { return !is_bare(a); });
    std::vector<Shown> result;
    for (const Use& use : view_.written(u))
      result.push_back(operand(use.u, result.size() == first && !dtype_known));
    return result;
  }

  // Returns "N, ci: $groups*CG, OH", with declared sizes by their names.
  std::string shape(const Uop& u) const {
    std::string text;
    const auto* in = std::get_if<uop::Input>(&u.node().kind);
    for (std::size_t k = 0; k < u.shape().size(); ++k) {
      const Expr extent = named(u.shape()[k]);
      const std::string& axis = u.node().axis_names[k];
      text += k == 0 ? "" : ", ";
      if (!axis.empty() && axis != default_axis_name(extent)) text += axis + ": ";
      text += (in && in->broadcast[k] ? "1|" : "") + extent.to_string();
    }
    return text;
  }
  Expr named(const Expr& extent) const {
    for (const NamedSize& s : p_.sizes)
      if (s.value == extent && !extent.constant() && !extent.as_symbol()) return Expr::size(s.name);
    return extent;
  }

  const Program& p_;
  std::string text_;
  std::set<std::string> taken_;
  int count_ = 0;
  ProgramView view_;
  std::unordered_map<const UopNode*, Shown> shown_;
  std::set<const UopNode*> stated_;  ///< nodes that are shown by their names
};

}  // namespace

std::string to_string(const Program& program) { return Printer(program).run(); }

}  // namespace mote
