// SPDX-License-Identifier: Apache-2.0
// Prints index expressions and conditions with the names of derived sizes and with negative terms
// on the other side. In: an expression; out: text and its precedence.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "mote/codegen/loops.h"
#include "mote/uops/map_ops.h"

namespace mote::print {

using text::Precedence;
using enum text::Precedence;

/// Text and its precedence.
struct Text {
  std::string text;
  Precedence precedence;
};

std::string within(const Text& t, Precedence least);  ///< adds parentheses if it binds less tightly

/// Returns the text of a right operand: also keeps a leading minus apart from the operator.
std::string right_of(const Text& t, Precedence least);

/// Prints index expressions with the sizes that the source names: the name of a derived size (OH)
/// replaces its value, so that the text is that of an equal expression if names mean values. A size
/// whose name the program mentions itself means that name, and replaces nothing.
class IndexPrinter {
 public:
  explicit IndexPrinter(const LoopProgram* p);

  const std::vector<NamedSize>& derived() const { return sizes_; }
  const std::vector<NamedSize>& mentioned() const { return mentioned_; }
  Text expr(const Expr& e) const;
  /// Returns `kh >= 2`, `ih < H`, `x % s == 0`.
  std::string comparison(const Condition& c) const;
  /// Returns true if the text names a variable or a size outside of elements of tensors.
  bool names_variable(const Expr& e) const;

 private:
  Expr named(const Expr& e) const;
  Expr named(const Atom& a) const;

  std::vector<NamedSize> sizes_, mentioned_;  ///< in the order of declaration
  std::map<Symbol, Expr> values_;             ///< theirs, by name
};

}  // namespace mote::print
