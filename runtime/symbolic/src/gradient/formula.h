// SPDX-License-Identifier: Apache-2.0
// Writes an op's gradient g(gy, x, y) with other ops, as a formula: the nodes are appended, and can
// be differentiated.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
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
  /// Returns input k of the op; its value must be one that g reads, but in differentiate().
  Value x(std::size_t k = 0);
  Value y();
  bool has(std::size_t k) const;
  Value number(double value);
  Value number_like(double value, Value like) {
    return {this, builder_.number(value, like.symbol)};
  }
  /// Returns the value of a parameter, or its default.
  double param(std::string_view name) const;
  bool has_param(std::string_view name) const;  ///< of the op, whether given or not
  Value op(const std::string& command, std::initializer_list<Value> inputs);
  /// Returns what the op of that name gives with the parameters of the formula's op.
  Value op_like(const std::string& op, std::span<const Value> inputs);
  /// Gives the gradient of input k of the op.
  void set(std::size_t k, Value gradient);

  /// Gives the gradients of all inputs: those of the op itself, which `write` writes with other
  /// ops: it calls give() for each output that it knows.
  void differentiate(WriteFormula write);
  /// Gives output k of the op.
  void give(std::size_t k, Value output);

  DType dtype(Value v) const { return builder_.dtype(v.symbol); }
  /// Returns the shape of v. What depends on it holds only for it, and so does the gradient.
  const AxisList& shape(Value v) const {
    reads_shapes_ = true;
    return builder_.shape(v.symbol);
  }
  Value reshaped(Value v, const AxisList& shape);
  /// Returns the elements begin, begin + step, … along an axis, which may count from the end.
  Value slice(Value v, int axis, std::int64_t begin, std::int64_t count, std::int64_t step = 1);
  /// Returns row k of the first axis.
  Value row(Value v, std::int64_t k);
  /// Swaps the last two axes.
  Value transposed(Value v);
  /// Returns the values next to each other along an axis.
  Value joined(std::span<const Value> values, int axis);
  Value filled(double value, const AxisList& shape);

  /// Sums along the axis that the op reduces or normalises, which stays with the extent 1: the
  /// second of its canonical axes, or the one that the command names.
  Value sum(Value v);
  Value mean(Value v);
  /// Gives a result of the reduction the axis of extent 1 that it lacks.
  Value keep(Value reduced);
  /// Repeats a value along that axis.
  Value spread(Value kept);
  std::int64_t extent() const;  ///< of that axis
  int axis() const;
  /// The number of axes that the op's definition gives to x; those before them are a batch.
  int canonical_rank() const;
  /// Returns " axis=1", for commands that work along that axis.
  std::string axis_text() const;
  /// Sums over all axes but the canonical axis k.
  Value sum_to_axis(Value v, int k);
  /// Gives a vector along the canonical axis k the axes that follow it.
  Value along_axis(Value v, int k);
  std::int64_t element_count() const;  ///< of x
  Value sum_all(Value v);
  /// Returns gx of the loss of that name applied to log_softmax(x).
  Value through_log_softmax(const std::string& loss);

  /// The outputs of g, as far as they were given.
  const std::vector<TensorSymbol>& outputs() const { return outputs_; }
  /// Notes that symbols hold only for the shapes of the call's tensors, if the formula has read
  /// some.
  void note_shapes_read(std::span<const TensorSymbol> symbols);

 private:
  TensorSymbol slot(GradientRow::Kind kind, std::size_t of) const;
  TensorSymbol whole() const;
  TensorSymbol filled_as(double value, const MadeShape& shape);
  TensorSymbol any_gradient() const;
  Value own_input(std::size_t k, bool is_optional);
  bool is_differentiated(std::size_t k) const;

  GraphBuilder& builder_;
  const GradientCall& call_;
  const GradientRow& row_;
  std::vector<TensorSymbol> outputs_;
  std::vector<Value> inputs_;        ///< in differentiate(): symbols that nothing else reads
  std::vector<TensorSymbol> given_;  ///< the outputs that give() got
  mutable bool reads_shapes_ = false;
};

/// The formula of an op that `write` writes with other ops.
template <WriteFormula write>
void by_other_ops(Formula& f) {
  f.differentiate(write);
}

/// Returns the shape of what lacks the last axis.
AxisList shape_without_last(const AxisList& shape);

FormulaValue operator+(FormulaValue a, FormulaValue b);
FormulaValue operator-(FormulaValue a, FormulaValue b);
FormulaValue operator*(FormulaValue a, FormulaValue b);
FormulaValue operator/(FormulaValue a, FormulaValue b);
FormulaValue operator-(FormulaValue a);
FormulaValue operator*(double a, FormulaValue b);
FormulaValue operator+(double a, FormulaValue b);
FormulaValue operator-(double a, FormulaValue b);

}  // namespace mote
