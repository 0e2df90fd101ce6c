// SPDX-License-Identifier: Apache-2.0
// Prints index expressions and conditions as C. Plain / and % are used if the facts prove that
// nothing is negative, otherwise helpers; a derived size is printed by its name.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "c/internal.h"
#include "ir/sides.h"
#include "mote/base/error.h"

namespace mote::emit {

std::string within(const Text& t, Precedence least) {
  return t.precedence < least ? "(" + t.text + ")" : t.text;
}

char leading_minus(const Text& t, Precedence least) {
  return t.prefix == '-' && t.precedence >= least ? '-' : '\0';
}

std::string operand(const Text& t, Precedence least) {
  return t.prefix == '-' ? "(" + t.text + ")" : within(t, least);
}

std::string integer_text(std::int64_t v) {
  if (v == std::numeric_limits<std::int64_t>::min()) return "INT64_MIN";
  if (v == std::numeric_limits<std::int64_t>::max()) return "INT64_MAX";
  if (v == std::numeric_limits<std::int32_t>::min()) return "INT32_MIN";
  if (v == std::numeric_limits<std::int32_t>::max()) return "INT32_MAX";
  if (std::abs(v) < std::numeric_limits<std::int32_t>::max()) return fmt::format("{}", v);
  return v < 0 ? fmt::format("-INT64_C({})", -v) : fmt::format("INT64_C({})", v);
}

std::string real_text(double v) {
  if (std::isnan(v)) return "NAN";
  if (std::isinf(v)) return v < 0 ? "-INFINITY" : "INFINITY";
  const std::string text = fmt::format("{}", v);
  return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
}

std::string literal(const Number& n) {
  return n.is_real() ? real_text(n.real()) : integer_text(n.integer());
}

namespace {

Text signed_literal(std::string text, bool has_minus, CType type) {
  return {std::move(text), has_minus ? kUnary : kTight, type, has_minus ? '-' : '\0'};
}

}  // namespace

Text integer_literal(std::int64_t v, CType type) {
  const bool is_named = v == std::numeric_limits<std::int64_t>::min() ||
                        v == std::numeric_limits<std::int32_t>::min();
  return signed_literal(integer_text(v), v < 0 && !is_named, type);
}

Text real_literal(double v, CType type) {
  return signed_literal(real_text(v), std::signbit(v) && !std::isnan(v), type);
}

namespace {

/// Returns true for a lone / or %, which gets parentheses before a factor.
bool stands_alone(const Expr& e) {
  const Atom* a = e.as_atom();
  return a != nullptr && (a->kind == Atom::Kind::div || a->kind == Atom::Kind::mod);
}

Expr expr_of(const Term& t) {
  Expr e = t.coefficient;
  for (const Atom& a : t.atoms) e = e * Expr::from_atom(a);
  return e;
}

bool varies(const Expr& e) {
  return e.has_load() ||
         std::ranges::any_of(e.symbols(), [](Symbol s) { return s.kind() == SymbolKind::loop; });
}

/// Returns the position of the only opaque atom of a size's value, if it stands alone with factor 1
/// or -1.
std::optional<std::size_t> opaque_term(const Expr& value) {
  std::optional<std::size_t> found;
  for (std::size_t k = 0; k < value.terms().size(); ++k) {
    const Term& t = value.terms()[k];
    for (const Atom& a : t.atoms) {
      if (a.kind == Atom::Kind::symbol) continue;
      if (found || t.atoms.size() > 1 || std::abs(t.coefficient) != 1) return std::nullopt;
      found = k;
    }
  }
  return found;
}

bool is_sum_of_sizes(const Expr& value) {
  return std::ranges::all_of(value.terms(), [](const Term& t) {
    return std::ranges::all_of(t.atoms, [](const Atom& a) { return a.kind == Atom::Kind::symbol; });
  });
}

bool contains(const Expr& e, const Expr& value) {
  const auto terms = e.terms();
  return std::ranges::all_of(value.terms(), [&terms](const Term& t) {
    return std::ranges::find(terms, t) != terms.end();
  });
}

}  // namespace

Printer::Printer(const LoopProgram& p, const Names& names, Target target)
    : p_(p), names_(names), target_(target) {
  for (const NamedSize& s : p.source->sizes) sizes_.push_back(s);
  size_limit_ = sizes_.size();
}

Expr Printer::named(const Expr& e) const {
  Expr out = e;
  for (std::size_t k = 0; k < size_limit_; ++k) {
    const Expr& value = sizes_[k].value;
    if (value.as_symbol() || value.constant()) continue;
    const Expr size = Expr::size(sizes_[k].name);
    if (const auto position = opaque_term(value)) {
      const Term& term = value.terms()[*position];
      Expr replaced = 0;
      for (const Term& t : out.terms()) {
        Expr product = t.coefficient;
        for (const Atom& a : t.atoms)
          product = product * (a == term.atoms[0]
                                   ? Expr(term.coefficient) * (size - (value - expr_of(term)))
                                   : Expr::from_atom(a));
        replaced = replaced + product;
      }
      // One term more is shorter, and faster, than the quotient that it replaces.
      if (replaced.terms().size() <= out.terms().size() + 1) out = replaced;
    } else if (is_sum_of_sizes(value) && contains(out, value)) {
      out = out - value + size;
    }
  }
  return out;
}

const Expr& Printer::printed(const Expr& e) const {
  if (sizes_.empty()) return e;
  auto found = named_memo_.find(e);
  if (found == named_memo_.end()) found = named_memo_.emplace(e, named(e)).first;
  return found->second;
}

Text Printer::expr(const Expr& e, const Facts& facts) const { return sum(printed(e), facts); }

bool Printer::is_polynomial(const Expr& e) const {
  return std::ranges::all_of(printed(e).terms(), [&](const Term& t) {
    return std::ranges::all_of(t.atoms, [&](const Atom& a) {
      return a.kind == Atom::Kind::symbol ||
             (a.kind == Atom::Kind::load && find_tensor(p_, a.tensor) == nullptr);
    });
  });
}

Text Printer::sum(const Expr& e, const Facts& facts) const {
  if (const auto c = e.constant()) {
    return integer_literal(*c, CType::i64);
  }
  if (e.terms().size() == 1 && e.terms()[0].coefficient > 0) return product(e.terms()[0], facts);
  std::string out;
  char first = '\0';
  for (const bool negative : {false, true}) {
    for (const Term& t : e.terms()) {
      if ((t.coefficient < 0) != negative) continue;
      Term absolute = t;
      if (negative) absolute.coefficient = -absolute.coefficient;
      const std::string text = within(product(absolute, facts), kProduct);
      if (!out.empty()) {
        out += (negative ? " - " : " + ") + text;
      } else {
        if (negative) first = '-';
        out = negative ? "-" + text : text;
      }
    }
  }
  return {out, kSum, CType::i64, first};
}

Text Printer::product(const Term& t, const Facts& facts) const {
  if (t.atoms.empty()) return {integer_text(t.coefficient)};
  if (t.coefficient == 1 && t.atoms.size() == 1) return atom(t.atoms[0], facts);
  std::string out = t.coefficient == 1 ? "" : integer_text(t.coefficient);
  for (const Atom& a : t.atoms) {
    if (!out.empty()) out += " * ";
    out += within(atom(a, facts), kUnary);
  }
  return {out, kProduct};
}

Text Printer::atom(const Atom& a, const Facts& facts) const {
  switch (a.kind) {
    case Atom::Kind::symbol:
      return {read(names_.symbol(*a.symbol))};
    case Atom::Kind::div:
    case Atom::Kind::mod:
      return quotient(a, facts);
    case Atom::Kind::load:
      return load(a, facts);
    default:
      break;
  }
  const char* function = a.kind == Atom::Kind::min ? "mote_imin" : "mote_imax";
  Text out = expr(a.args[0], facts);
  for (std::size_t k = 1; k < a.args.size(); ++k)
    out = {call(function, out, expr(a.args[k], facts), uses_)};
  return {out.text};
}

Text Printer::quotient(const Atom& a, const Facts& facts) const {
  const bool is_div = a.kind == Atom::Kind::div;
  const Text left = expr(a.args[0], facts);
  const Text right = expr(a.args[1], facts);
  const auto divisor = a.args[1].as_symbol();
  const bool is_by_param = divisor && divisor->kind() == SymbolKind::param;
  const bool is_in_range = facts.prove_nonneg(a.args[0]) && facts.prove_positive(a.args[1]);
  if (is_by_param && divides_rarely_ && p_.native && target_ == Target::c) {
    if (!is_div) return {call("mote_param_mod", left, right, uses_)};
    if (!is_in_range) return {call("mote_param_div", left, right, uses_)};
  }
  if (is_in_range)
    return {within(left, kProduct) + (is_div ? " / " : " % ") + within(right, kUnary), kProduct};
  return {call(is_div ? "mote_floor_div" : "mote_floor_mod", left, right, uses_)};
}

Text Printer::load(const Atom& a, const Facts& facts) const {
  const TensorDecl* t = find_tensor(p_, a.tensor);
  if (t == nullptr) return {read(names_.local(a.tensor))};
  const std::string text = element(*t, a.args, facts);
  if (t->role == TensorRole::temporary || t->dtype == DType::i64) return {text};
  if (t->dtype == DType::boolean) return {"(int64_t)(" + text + " != 0)", kUnary};
  return {"(int64_t)" + text, kUnary};
}

std::optional<Text> Printer::strided(const TensorDecl& t, std::size_t axis, const Expr& index,
                                     const Facts& facts) const {
  for (const std::vector<KnownStride>* known : {&p_.strides, &assumed_}) {
    for (const KnownStride& k : *known) {
      if (k.tensor != t.name || k.axis != static_cast<int>(axis)) continue;
      if (k.stride == 1) return expr(index, facts);
      if (k.stride == 0) return std::nullopt;
    }
  }
  const Text part = expr(index, facts);
  const std::string stride = p_.native ? named_stride(t.name, axis)
                                       : fmt::format("{}[{}]", read(names_.strides(t.name)), axis);
  if (index == Expr(1)) return Text{stride};
  const Precedence least = stands_alone(index) ? kUnary : kProduct;
  return Text{within(part, least) + " * " + stride, kProduct, CType::i64,
              leading_minus(part, least)};
}

bool Printer::is_known(const KnownStride& stride) const {
  return std::ranges::find(p_.strides, stride) != p_.strides.end() ||
         std::ranges::find(assumed_, stride) != assumed_.end();
}

/// Returns true if the elements along the last axis of a temporary are adjacent, as far as the text
/// knows.
bool Printer::is_row_major(const TensorDecl& t) const {
  return !t.ordered_like || is_known({t.name, static_cast<int>(t.shape.size()) - 1, 1}) ||
         is_known({t.ordered_like->tensor, t.ordered_like->last, 1});
}

std::string Printer::element(const TensorDecl& t, const std::vector<Expr>& index,
                             const Facts& facts) const {
  if (is_local(t)) return read(names_.tensor(t.name));
  for (const Held& h : held_)
    if (h.tensor == t.name && h.index == index) return h.variable;
  if (t.memory == TensorMemory::shared || t.memory == TensorMemory::local) {
    std::string out = read(names_.tensor(t.name));
    for (std::size_t k = t.memory == TensorMemory::local ? kThreadAxes : 0; k < index.size(); ++k)
      out += fmt::format("[{}]", expr(index[k], facts).text);
    return out;
  }
  return fmt::format("{}[{}]", read(names_.tensor(t.name)), offset(t, index, facts));
}

std::string Printer::offset(const TensorDecl& t, const std::vector<Expr>& index,
                            const Facts& facts) const {
  Text offset{""};
  const bool in_rows = t.role == TensorRole::temporary && is_row_major(t);
  for (std::size_t k = 0; k < index.size(); ++k) {
    const bool is_strided = !in_rows && t.role == TensorRole::temporary && k + 2 >= index.size();
    const bool outside = t.role != TensorRole::temporary || is_strided;
    if (is_strided && k + 2 == index.size() && !offset.text.empty())
      offset = {within(offset, kProduct) + " * " +
                    within(expr(t.shape[k] * t.shape[k + 1], facts), kUnary),
                kProduct};
    if (!outside && !offset.text.empty())
      offset = {within(offset, kProduct) + " * " + within(expr(t.shape[k], facts), kUnary),
                kProduct};
    if (index[k] == Expr(0)) continue;
    const auto moved = outside ? strided(t, k, index[k], facts) : expr(index[k], facts);
    if (!moved) continue;
    const Text& part = *moved;
    offset = offset.text.empty() ? part
                                 : Text{offset.text + " + " + operand(part, kProduct), kSum,
                                        CType::i64, offset.prefix};
  }
  return offset.text.empty() ? "0" : offset.text;
}

// Negative terms are moved to the other side; the side that varies is printed on the left.
std::string Printer::comparison(const Condition& c, const Facts& facts) const {
  const bool zero = c.kind == Condition::Kind::zero;
  auto [left, right, strict] = sides_of({c.kind, named(c.e)});
  const bool flip = !varies(left) && (varies(right) || left.constant());
  if (flip) std::swap(left, right);
  const char* sign = zero ? "==" : flip ? (strict ? "<" : "<=") : (strict ? ">" : ">=");
  return fmt::format("{} {} {}", sum(left, facts).text, sign, sum(right, facts).text);
}

Text Printer::conditions(const Conditions& c, Facts& facts) const {
  std::string out;
  for (const Condition& one : c) {
    out += (out.empty() ? "" : " && ") + comparison(one, facts);
    if (one.kind == Condition::Kind::zero)
      facts.assume_zero(one.e);
    else
      facts.assume_nonneg(one.e);
  }
  return {out, c.size() > 1 ? kAnd : kRelation, CType::flag};
}

std::string Printer::shape_text(const Expr& e) const {
  std::string text = named(e).to_string();
  std::erase(text, '$');
  return text;
}

}  // namespace mote::emit
