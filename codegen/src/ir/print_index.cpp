// SPDX-License-Identifier: Apache-2.0
// Prints names of derived sizes and readable comparisons. In: an index expression or condition;
// out: text with an equal meaning. A derived size is recognised by its value, so that passes never
// see names.
#include "ir/print_index.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>
#include <span>
#include <utility>

#include "mote/codegen/walk.h"

namespace mote::print {
namespace {

Precedence precedence_of(const Expr& e) {
  const auto terms = e.terms();
  if (terms.empty()) return kTight;
  if (terms.size() > 1) return kSum;
  const Term& t = terms.front();
  if (t.coefficient < 0) return t.atoms.empty() ? kUnary : kSum;
  if (t.atoms.empty()) return kTight;
  if (t.coefficient != 1 || t.atoms.size() > 1) return kProduct;
  const Atom::Kind kind = t.atoms.front().kind;
  return kind == Atom::Kind::div || kind == Atom::Kind::mod ? kProduct : kTight;
}

Expr expr_of(const Term& t) {
  Expr e = t.coefficient;
  for (const Atom& a : t.atoms) e = e * Expr::from_atom(a);
  return e;
}

std::string written(const Expr& left, std::string_view sign, const Expr& right) {
  return fmt::format("{} {} {}", left.to_string(), sign, right.to_string());
}

bool varies(const Expr& e) {
  for (Symbol s : e.symbols()) {
    if (s.kind() == SymbolKind::loop) return true;
  }
  return e.has_load();
}

/// Returns true if e = value + rest with the terms of value as they are. A value that is just a sum
/// of sizes must match with its constant; OH = (H - KH)/s + 1 is found in OH - 1 too.
bool contains(const Expr& e, const Expr& value) {
  bool opaque = false;
  for (const Term& t : value.terms()) {
    for (const Atom& a : t.atoms) opaque = opaque || a.kind != Atom::Kind::symbol;
  }
  const auto terms = e.terms();
  for (const Term& t : value.terms()) {
    if (opaque && t.atoms.empty()) continue;
    if (std::find(terms.begin(), terms.end(), t) == terms.end()) return false;
  }
  return true;
}

/// Returns true if a variable or a size stands in e outside of elements of tensors.
bool mentions_variable(const Expr& e) {
  for (const Term& t : e.terms()) {
    for (const Atom& a : t.atoms) {
      if (a.kind == Atom::Kind::load) continue;
      if (a.kind == Atom::Kind::symbol ? a.symbol->kind() != SymbolKind::param
                                       : std::ranges::any_of(a.args, mentions_variable))
        return true;
    }
  }
  return false;
}

/// Returns true if a term has a coefficient that cannot be negated.
bool has_least_integer(const Expr& e) {
  return std::ranges::any_of(e.terms(), [](const Term& t) {
    return t.coefficient == std::numeric_limits<std::int64_t>::min();
  });
}

/// Returns all symbols that expressions of the program mention.
std::set<Symbol> symbols_of(const LoopProgram& p) {
  std::set<Symbol> all;
  const auto add = [&](const Expr& e) { all.insert(e.symbols().begin(), e.symbols().end()); };
  for (const TensorDecl& t : p.tensors) std::ranges::for_each(t.shape, add);
  for (const Condition& c : p.demands) add(c.e);
  for_each(p.body, [&](const Stmt& s) {
    for_each_expr(s, add);
    const auto* loop = std::get_if<Loop>(&s.kind);
    if (loop == nullptr) return;
    add(loop->work);
    for (const PrefetchedElement& e : loop->prefetched) std::ranges::for_each(e.index, add);
  });
  return all;
}

}  // namespace

std::string within(const Text& t, Precedence least) {
  return t.precedence < least ? "(" + t.text + ")" : t.text;
}

std::string right_of(const Text& t, Precedence least) {
  return t.text.starts_with('-') ? "(" + t.text + ")" : within(t, least);
}

IndexPrinter::IndexPrinter(const LoopProgram* p) {
  if (p == nullptr || p->source == nullptr || p->source->sizes.empty()) return;
  const std::set<Symbol> symbols = symbols_of(*p);
  for (const NamedSize& s : p->source->sizes) {
    const Symbol name(SymbolKind::size, s.name);
    if (symbols.contains(name)) {
      mentioned_.push_back(s);
    } else if (!s.value.as_symbol() && !s.value.constant()) {
      sizes_.push_back(s);
      values_.emplace(name, s.value);
    }
  }
}

/// Returns e with the values of derived sizes replaced by their names, if that can be read back.
Expr IndexPrinter::named(const Expr& e) const {
  if (sizes_.empty()) return e;
  Expr rest = e;
  for (const NamedSize& s : sizes_) {
    if (contains(rest, s.value)) rest = rest - s.value + Expr::size(s.name);
  }
  Expr out = 0;
  for (const Term& t : rest.terms()) {
    Expr product = t.coefficient;
    for (const Atom& a : t.atoms) product = product * named(a);
    out = out + product;
  }
  return out.substitute(values_) == e ? out : e;
}

Expr IndexPrinter::named(const Atom& a) const {
  if (a.kind == Atom::Kind::symbol) return Expr::from_atom(a);
  std::vector<Expr> args;
  for (const Expr& arg : a.args) args.push_back(named(arg));
  switch (a.kind) {
    case Atom::Kind::div:
      return args[0] / args[1];
    case Atom::Kind::mod:
      return args[0] % args[1];
    case Atom::Kind::load:
      return load(a.tensor, std::move(args));
    default:
      break;
  }
  Expr out = args[0];
  for (const Expr& arg : std::span(args).subspan(1)) {
    out = a.kind == Atom::Kind::min ? min(out, arg) : max(out, arg);
  }
  return out;
}

Text IndexPrinter::expr(const Expr& e) const {
  const Expr n = named(e);
  return {n.to_string(), precedence_of(n)};
}

bool IndexPrinter::names_variable(const Expr& e) const { return mentions_variable(named(e)); }

/// Prints more - less + c >= 0 with the loop variables on the left: `more >= less - c` or `less <=
/// more + c`, as a strict comparison if that has the smaller constant. An equality has the positive
/// terms on the left, so that the text says which sign e has.
std::string IndexPrinter::comparison(const Condition& condition) const {
  const Expr e = named(condition.e);
  if (has_least_integer(e))
    return written(e, condition.kind == Condition::Kind::zero ? "==" : ">=", 0);
  Expr more = 0;
  Expr less = 0;
  std::int64_t c = 0;
  for (const Term& t : e.terms()) {
    if (t.atoms.empty()) {
      c = t.coefficient;
    } else {
      (t.coefficient > 0 ? more : less) = t.coefficient > 0 ? more + expr_of(t) : less - expr_of(t);
    }
  }
  const bool flip = more == Expr(0) || (!varies(more) && varies(less));
  if (condition.kind == Condition::Kind::zero) {
    return flip ? written(more + c, "==", less) : written(more, "==", less - c);
  }
  if (flip) {
    const bool strict = c < 0 && more != Expr(0);
    return strict ? written(less, "<", more + c + 1) : written(less, "<=", more + c);
  }
  if (less == Expr(0)) return written(more, ">=", -c);
  if (c == -1) return written(more, ">", less);
  return c < 0 ? written(more, ">=", less - c) : written(more + c, ">=", less);
}

}  // namespace mote::print
