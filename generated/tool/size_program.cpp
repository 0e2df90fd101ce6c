// SPDX-License-Identifier: Apache-2.0
// Writes a polynomial in postfix order, the terms that are added before those that are subtracted,
// so that differences of large sizes do not overflow where the sum does not.
#include "size_program.h"

#include <fmt/format.h>

#include "mote/base/error.h"
#include "mote/uops/expr.h"

namespace mote {
namespace {

class Writer {
 public:
  void sum(const Expr& e) {
    bool first = true;
    for (const bool negative : {false, true})
      for (const Term& term : e.terms()) {
        if ((term.coefficient < 0) != negative) continue;
        product(term);
        if (!first) step("ADD");
        first = false;
      }
    if (first) number(0);
  }
  std::string text() { return text_ + "{MOTE_SIZE_END, NULL, 0}"; }

 private:
  void step(const char* code) { text_ += fmt::format("{{MOTE_SIZE_{}, NULL, 0}}, ", code); }
  void number(std::int64_t value) {
    text_ += fmt::format("{{MOTE_SIZE_NUMBER, NULL, INT64_C({})}}, ", value);
  }

  void product(const Term& term) {
    const bool counts = term.coefficient != 1 || term.atoms.empty();
    if (counts) number(term.coefficient);
    for (std::size_t k = 0; k < term.atoms.size(); ++k) {
      atom(term.atoms[k]);
      if (counts || k > 0) step("MULTIPLY");
    }
  }
  void atom(const Atom& a) {
    switch (a.kind) {
      case Atom::Kind::symbol:
        return symbol(*a.symbol);
      case Atom::Kind::div:
        return operation(a, "DIVIDE");
      case Atom::Kind::mod:
        return operation(a, "MOD");
      case Atom::Kind::min:
        return operation(a, "MIN");
      case Atom::Kind::max:
        return operation(a, "MAX");
      case Atom::Kind::load:
        break;
    }
    throw InternalError("an extent depends on data: " + Expr::from_atom(a).to_string());
  }
  void symbol(Symbol s) {
    if (s.kind() == SymbolKind::loop)
      throw InternalError("an extent depends on a loop: " + s.to_string());
    text_ += fmt::format("{{MOTE_SIZE_{}, \"{}\", 0}}, ",
                         s.kind() == SymbolKind::size ? "NAME" : "PARAM", s.name());
  }
  void operation(const Atom& a, const char* code) {
    for (std::size_t k = 0; k < a.args.size(); ++k) {
      sum(a.args[k]);
      if (k > 0) step(code);
    }
  }

  std::string text_;
};

}  // namespace

std::string size_program(const Expr& extent) {
  Writer writer;
  writer.sum(extent);
  return writer.text();
}

}  // namespace mote
