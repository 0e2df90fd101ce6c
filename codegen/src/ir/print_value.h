// SPDX-License-Identifier: Apache-2.0
// Prints values and conditions. Where a reader could take the text for another value, it says more:
// f32(1) for a constant whose dtype nothing else tells, index(i)*index(j) for a product of two
// index expressions, which i*j is not, index(i, f32) for one whose dtype nothing else tells.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/print_index.h"
#include "ir/told.h"
#include "mote/codegen/loops.h"

namespace mote::print {

/// Returns the text of a number: 0.1, -0, inf, nan, 7.
std::string number_text(const Number& n);

class ValuePrinter {
 public:
  /// Without a program, nothing is said more than a person needs.
  explicit ValuePrinter(const LoopProgram* p);

  const IndexPrinter& index() const { return index_; }
  Text expr(const Expr& e) const { return index_.expr(e); }
  std::string list(const std::vector<Expr>& exprs) const;
  std::string element(const std::string& tensor, const std::vector<Expr>& index) const;
  Text conditions(const Conditions& c) const;
  /// `known`: the dtype that is known where the value stands.
  Text value(const Value& v, std::optional<DType> known) const { return value(v, known, false); }
  /// Returns what the value's text tells about its dtype.
  Told told(const Value& v) const;

 private:
  Text value(const Value& v, std::optional<DType> known, bool marks) const;
  Text operation(const value::Op& op, const Value& v, std::optional<DType> known, bool marks) const;
  std::vector<Text> arguments(const value::Op& op, std::optional<DType> known, bool marks) const;
  Text leaf(const Value& v, Text text, std::optional<DType> known) const;
  Text index_leaf(const value::Index& i, const Value& v, std::optional<DType> known,
                  bool marks) const;
  bool is_integer_param(const std::string& name, DType dtype) const;
  bool reads_as_index(const Value& v) const;
  bool names_variable(const Value& v) const;

  IndexPrinter index_;
  const LoopProgram* p_;
  DType real_ = DType::f64;  ///< of parameters that are real, where nothing else tells a dtype
};

}  // namespace mote::print
