// SPDX-License-Identifier: Apache-2.0
#include "gradient/formula.h"

#include "mote/base/error.h"

namespace mote {

using Value = Formula::Value;

Formula::Formula(GraphBuilder& builder, const GradientCall& call, const GradientRow& row)
    : builder_(builder), call_(call), row_(row), outputs_(call.outputs.size()) {}

TensorSymbol Formula::slot(GradientRow::Kind kind, std::size_t of) const {
  const std::optional<std::size_t> k = row_.input_of(kind, of);
  if (!k || !call_.inputs[*k])
    throw InternalError(std::string(row_.row->gradient) +
                        ": a formula reads a tensor that is not there");
  return call_.inputs[*k];
}

Value Formula::gy() { return {this, slot(GradientRow::Kind::gradient, 0)}; }
Value Formula::x(std::size_t k) { return {this, slot(GradientRow::Kind::input, k)}; }
Value Formula::y() { return {this, slot(GradientRow::Kind::output, 0)}; }

bool Formula::has(std::size_t k) const {
  const std::optional<std::size_t> at = row_.input_of(GradientRow::Kind::input, k);
  return at && call_.inputs[*at];
}

Value Formula::number(double value) { return {this, builder_.number(value, gy().symbol)}; }

double Formula::param(std::string_view name) const {
  for (const mote_param& p : call_.command->params())
    if (name == p.name) return p.is_real != 0 ? p.real : static_cast<double>(p.integer);
  const mote_op_definition& op = call_.command->definition();
  for (std::int32_t k = 0; k < op.param_count; ++k)
    if (name == op.params[k].name) return op.params[k].default_value;
  throw InternalError(std::string(op.name) + " has no parameter " + std::string(name));
}

Value Formula::op(const std::string& command, std::initializer_list<Value> inputs) {
  std::vector<TensorSymbol> symbols;
  for (const Value& input : inputs) symbols.push_back(input.symbol);
  return {this, builder_.op(command, symbols)};
}

void Formula::set(std::size_t k, Value gradient) {
  if (const std::optional<std::size_t> n = row_.output_of(k)) outputs_[*n] = gradient.symbol;
}

/// Returns x, or y where g takes only that.
TensorSymbol Formula::whole() const {
  return slot(row_.input_of(GradientRow::Kind::input, 0) ? GradientRow::Kind::input
                                                         : GradientRow::Kind::output,
              0);
}

int Formula::canonical_rank() const {
  const auto input = row_.input_of(GradientRow::Kind::input, 0);
  const auto output = row_.input_of(GradientRow::Kind::output, 0);
  return call_.command->definition().inputs[input ? *input : *output].rank;
}

/// Returns the axis that the op reduces or normalises. Axes beyond the canonical ones are leading.
int Formula::axis() const {
  const int rank = builder_.shape(whole()).size();
  if (const std::optional<int> axis = call_.command->axis())
    return *axis < 0 ? *axis + rank : *axis;
  return rank - (canonical_rank() - 1);
}

std::int64_t Formula::extent() const { return builder_.shape(whole())[axis()]; }
std::string Formula::axis_text() const { return " axis=" + std::to_string(axis()); }
std::int64_t Formula::element_count() const { return mote::element_count(builder_.form(whole())); }

Value Formula::keep(Value reduced) {
  AxisList shape;
  const AxisList own = builder_.shape(reduced.symbol);
  for (int k = 0; k <= own.size(); ++k) {
    if (k == axis()) shape.push_back(1);
    if (k < own.size()) shape.push_back(own[k]);
  }
  return {this, builder_.reshaped(reduced.symbol, shape)};
}

Value Formula::spread(Value kept) {
  return {this, builder_.graph().broadcast_to(kept.symbol, builder_.shape(whole()))};
}

Value Formula::sum(Value v) {
  const int axis = this->axis();
  return keep({this, builder_.sum_over(v.symbol, std::span(&axis, 1))});
}

Value Formula::mean(Value v) { return (1 / static_cast<double>(extent())) * sum(v); }

Value Formula::sum_to_axis(Value v, int k) {
  const int rank = builder_.shape(v.symbol).size();
  std::vector<int> axes;
  for (int axis = 0; axis < rank; ++axis)
    if (axis != k + rank - canonical_rank()) axes.push_back(axis);
  return {this, builder_.sum_over(v.symbol, axes)};
}

Value Formula::along_axis(Value v, int k) {
  AxisList shape = builder_.shape(v.symbol);
  for (int axis = k + 1; axis < canonical_rank(); ++axis) shape.push_back(1);
  return {this, builder_.reshaped(v.symbol, shape)};
}

Value Formula::through_log_softmax(const std::string& loss) {
  const Value logs = op("log_softmax" + axis_text(), {x()});
  const std::string gradient = loss + ".grad";
  const Command& command = builder_.command_like(gradient, *call_.command, std::nullopt);
  // The loss's gradient takes what this one takes, and the logarithms in place of x.
  std::vector<TensorSymbol> inputs = call_.inputs;
  inputs[*row_.input_of(GradientRow::Kind::input, 0)] = logs.symbol;
  const std::vector<TensorForm> forms = builder_.infer_forms(command, inputs);
  const Value of_logs{this, builder_.emit(command, inputs, forms, 1).front()};
  return op("log_softmax.grad" + axis_text(), {of_logs, x()});
}

Value operator+(Value a, Value b) { return a.formula->op("add", {a, b}); }
Value operator-(Value a, Value b) { return a.formula->op("sub", {a, b}); }
Value operator*(Value a, Value b) { return a.formula->op("mul", {a, b}); }
Value operator/(Value a, Value b) { return a.formula->op("div", {a, b}); }
Value operator-(Value a) { return a.formula->op("neg", {a}); }
Value operator*(double a, Value b) { return b.formula->number(a) * b; }
Value operator+(double a, Value b) { return b.formula->number(a) + b; }
Value operator-(double a, Value b) { return b.formula->number(a) - b; }

}  // namespace mote
