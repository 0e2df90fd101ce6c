// SPDX-License-Identifier: Apache-2.0
// Prints index expressions as a person writes them: positive terms first, parentheses only if the
// parser or a reader needs them. parse_expr reads the text back to an equal value.
#include <limits>
#include <string>

#include "expr/node.h"
#include "mote/uops/expr.h"

namespace mote {
namespace {

void print_sum(const Expr& e, std::string& out);

void print_list(const std::vector<Expr>& args, std::string& out) {
  const char* separator = "";
  for (const Expr& arg : args) {
    out += separator;
    print_sum(arg, out);
    separator = ", ";
  }
}

bool is_quotient(const Atom& atom) {
  return atom.kind == Atom::Kind::div || atom.kind == Atom::Kind::mod;
}

// Returns true for a name, a call or a constant >= 0, which never needs parentheses.
bool is_simple(const Expr& e) {
  if (const auto c = e.constant()) return *c >= 0;
  const Atom* atom = e.as_atom();
  return atom != nullptr && !is_quotient(*atom);
}

// Returns true for a product that needs no parentheses to the left of / and %.
bool is_product(const Expr& e) {
  return e.terms().size() == 1 && e.terms()[0].coefficient > 0 &&
         (e.as_atom() == nullptr || is_simple(e));
}

void print_operand(const Expr& e, bool bare, std::string& out) {
  if (!bare) out += '(';
  print_sum(e, out);
  if (!bare) out += ')';
}

void print_atom(const Atom& atom, std::string& out) {
  switch (atom.kind) {
    case Atom::Kind::symbol:
      out += atom.symbol->to_string();
      return;
    case Atom::Kind::div:
    case Atom::Kind::mod:
      print_operand(atom.args[0], is_simple(atom.args[0]) || is_product(atom.args[0]), out);
      out += atom.kind == Atom::Kind::div ? '/' : '%';
      print_operand(atom.args[1], is_simple(atom.args[1]), out);
      return;
    case Atom::Kind::min:
    case Atom::Kind::max:
      out += atom.kind == Atom::Kind::min ? "min(" : "max(";
      print_list(atom.args, out);
      out += ')';
      return;
    case Atom::Kind::load:
      out += atom.tensor + '[';
      print_list(atom.args, out);
      out += ']';
      return;
  }
}

// Prints |coefficient| · atoms. `bare`: a quotient alone may stand without parentheses.
void print_product(const Term& term, bool bare, std::string& out) {
  const std::uint64_t size = magnitude(term.coefficient);
  const bool show_coefficient = size != 1 || term.atoms.empty();
  if (show_coefficient) out += std::to_string(size);
  bare = bare && !show_coefficient && term.atoms.size() == 1;
  for (std::size_t i = 0; i < term.atoms.size(); ++i) {
    if (i > 0 || show_coefficient) out += '*';
    const bool parenthesised = !bare && is_quotient(term.atoms[i]);
    if (parenthesised) out += '(';
    print_atom(term.atoms[i], out);
    if (parenthesised) out += ')';
  }
}

// Returns the terms in the order that a person writes: added terms, subtracted terms, the constant;
// but a sum begins with a positive term if there is one: 3 - i0.
std::vector<const Term*> in_print_order(const Expr& e) {
  std::vector<const Term*> order;
  for (const bool negative : {false, true}) {
    for (const Term& term : e.terms()) {
      if (!term.atoms.empty() && (term.coefficient < 0) == negative) order.push_back(&term);
    }
  }
  const Term& last = e.terms().back();
  if (!last.atoms.empty()) return order;
  const bool leads = last.coefficient > 0 && !order.empty() && order.front()->coefficient < 0;
  order.insert(leads ? order.begin() : order.end(), &last);
  return order;
}

void print_sum(const Expr& e, std::string& out) {
  if (e.terms().empty()) {
    out += '0';
    return;
  }
  bool first = true;
  for (const Term* term : in_print_order(e)) {
    const bool negative = term->coefficient < 0;
    // The magnitude of the smallest integer cannot be written, so it keeps its sign: "+ -9…".
    const bool smallest = term->coefficient == std::numeric_limits<std::int64_t>::min();
    if (!first) out += !negative ? " + " : smallest ? " + -" : " - ";
    if (first && negative) out += '-';
    print_product(*term, !(first && negative), out);
    first = false;
  }
}

}  // namespace

std::string Expr::to_string() const {
  std::string out;
  print_sum(*this, out);
  return out;
}

}  // namespace mote
