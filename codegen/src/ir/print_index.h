// SPDX-License-Identifier: Apache-2.0
// Index expressions and conditions as the printer shows them: with the names of derived sizes and
// with negative terms on the other side. In: an expression; out: text and how tightly it binds.
#pragma once

#include <string>
#include <vector>

#include "mote/codegen/loops.h"
#include "mote/uops/map_ops.h"

namespace mote::print {

using text::Precedence;
using enum text::Precedence;

/// Text and how tightly it binds.
struct Text {
  std::string text;
  Precedence precedence;
};

std::string within(const Text& t, Precedence least);  ///< in parentheses if it binds less tightly

/// A right operand: also keeps a leading minus apart from the operator.
std::string right_of(const Text& t, Precedence least);

/// Prints index expressions with the sizes that the source names: where the value of a derived size
/// (OH) stands, its name stands.
class IndexPrinter {
 public:
  explicit IndexPrinter(const Program* source);

  const std::vector<NamedSize>& derived() const { return sizes_; }
  Text expr(const Expr& e) const;
  /// `kh >= 2`, `ih < H`, `x % s == 0`
  std::string comparison(const Condition& c) const;

 private:
  Expr named(const Expr& e) const;
  Expr named(const Atom& a) const;

  std::vector<NamedSize> sizes_;  ///< in the order of declaration
};

}  // namespace mote::print
