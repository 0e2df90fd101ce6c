// SPDX-License-Identifier: Apache-2.0
// Writes an op's gradient g(gy, x, y) with other ops, as a formula: the nodes are appended, and can
// be differentiated.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "gradient/gradient_call.h"

namespace mote {

class Formula;

/// A value in a formula. Arithmetic adds nodes, with NumPy's broadcasting.
struct FormulaValue {
  Formula* formula = nullptr;
  TensorSymbol symbol = {};
};

class Formula {
 public:
  using Value = FormulaValue;
  /// `call` is of the op g, and `row` is that of which it is the gradient.
  Formula(GraphBuilder& builder, const GradientCall& call, const GradientRow& row);

  /// Returns the gradient of the op's first output.
  Value gy();
  /// Returns input k of the op; its value must be one that g reads.
  Value x(std::size_t k = 0);
  Value y();
  bool has(std::size_t k) const;
  Value number(double value);
  /// Returns the value of a parameter, or its default.
  double param(std::string_view name) const;
  Value op(const std::string& command, std::initializer_list<Value> inputs);
  /// Gives the gradient of input k of the op.
  void set(std::size_t k, Value gradient);

  /// Sums along the axis that the op reduces or normalises, which stays with the extent 1: the
  /// second of its canonical axes, or the one that the command names.
  Value sum(Value v);
  Value mean(Value v);
  /// Gives a result of the reduction the axis of extent 1 that it lacks.
  Value keep(Value reduced);
  /// Repeats a value along that axis.
  Value spread(Value kept);
  std::int64_t extent() const;  ///< of that axis
  /// Returns " axis=1", for commands that work along that axis.
  std::string axis_text() const;
  /// Sums over all axes but the canonical axis k.
  Value sum_to_axis(Value v, int k);
  /// Gives a vector along the canonical axis k the axes that follow it.
  Value along_axis(Value v, int k);
  std::int64_t element_count() const;  ///< of x
  /// Returns gx of the loss of that name applied to log_softmax(x).
  Value through_log_softmax(const std::string& loss);

  /// The outputs of g, as far as they were given.
  const std::vector<TensorSymbol>& outputs() const { return outputs_; }

 private:
  TensorSymbol slot(GradientRow::Kind kind, std::size_t of) const;
  TensorSymbol whole() const;
  int canonical_rank() const;
  int axis() const;

  GraphBuilder& builder_;
  const GradientCall& call_;
  const GradientRow& row_;
  std::vector<TensorSymbol> outputs_;
};

FormulaValue operator+(FormulaValue a, FormulaValue b);
FormulaValue operator-(FormulaValue a, FormulaValue b);
FormulaValue operator*(FormulaValue a, FormulaValue b);
FormulaValue operator/(FormulaValue a, FormulaValue b);
FormulaValue operator-(FormulaValue a);
FormulaValue operator*(double a, FormulaValue b);
FormulaValue operator+(double a, FormulaValue b);
FormulaValue operator-(double a, FormulaValue b);

}  // namespace mote
