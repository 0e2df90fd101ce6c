// SPDX-License-Identifier: Apache-2.0
#include "gradient/formula.h"

#include <limits>

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
Value Formula::x(std::size_t k) {
  return inputs_.empty() ? Value{this, slot(GradientRow::Kind::input, k)} : inputs_[k];
}
Value Formula::y() { return {this, slot(GradientRow::Kind::output, 0)}; }

bool Formula::has(std::size_t k) const {
  if (!inputs_.empty()) return bool(inputs_[k].symbol);
  const std::optional<std::size_t> at = row_.input_of(GradientRow::Kind::input, k);
  return at && call_.inputs[*at];
}

/// Returns a gradient that g takes: any has the dtype and the device of all.
TensorSymbol Formula::any_gradient() const {
  for (std::size_t k = 0; k < row_.inputs.size(); ++k)
    if (row_.inputs[k].kind == GradientRow::Kind::gradient && call_.inputs[k])
      return call_.inputs[k];
  throw InternalError(std::string(row_.row->gradient) + " takes no gradient");
}

Value Formula::number(double value) { return {this, builder_.number(value, any_gradient())}; }

double Formula::param(std::string_view name) const {
  for (const mote_param& p : call_.command->params())
    if (name == p.name) return p.is_real != 0 ? p.real : static_cast<double>(p.integer);
  const mote_op_definition& op = call_.command->definition();
  for (std::int32_t k = 0; k < op.param_count; ++k)
    if (name == op.params[k].name) return op.params[k].default_value;
  throw InternalError(std::string(op.name) + " has no parameter " + std::string(name));
}

bool Formula::has_param(std::string_view name) const {
  const mote_op_definition& op = call_.command->definition();
  for (std::int32_t k = 0; k < op.param_count; ++k)
    if (name == op.params[k].name) return true;
  return false;
}

Value Formula::op(const std::string& command, std::initializer_list<Value> inputs) {
  std::vector<TensorSymbol> symbols;
  for (const Value& input : inputs) symbols.push_back(input.symbol);
  return {this, builder_.op(command, symbols)};
}

Value Formula::op_like(const std::string& op, std::span<const Value> inputs) {
  const Command& command = builder_.command_like(op, *call_.command, std::nullopt);
  std::vector<TensorSymbol> symbols;
  for (const Value& input : inputs) symbols.push_back(input.symbol);
  return {this, builder_.emit(command, symbols, builder_.infer_forms(command, symbols), 1).front()};
}

void Formula::set(std::size_t k, Value gradient) {
  if (const std::optional<std::size_t> n = row_.output_of(k)) outputs_[*n] = gradient.symbol;
}

/// True if the gradient of input k is asked for.
bool Formula::is_differentiated(std::size_t k) const {
  const std::optional<std::size_t> n = row_.output_of(k);
  return n && call_.gradients[*n];
}

/// Returns a view of input k that no other node reads, in the shape that its gradient has; NaN if g
/// does not take the input, whose value then has no influence.
Value Formula::own_input(std::size_t k, bool is_optional) {
  const std::optional<std::size_t> at = row_.input_of(GradientRow::Kind::input, k);
  const std::optional<std::size_t> n = row_.output_of(k);
  TensorSymbol x = at ? call_.inputs[*at] : TensorSymbol{};
  if (!x && is_optional) return {this, {}};
  const MadeShape shape = is_differentiated(k) ? builder_.like(call_.gradients[*n])
                          : x                  ? builder_.like(x)
                                               : MadeShape{};
  if (!x) x = filled_as(std::numeric_limits<double>::quiet_NaN(), shape);
  if (builder_.shape(x) != shape.shape) return {this, builder_.broadcast(x, shape)};
  builder_.expecting(x, shape);
  AxisList same;
  for (int axis = 0; axis < builder_.shape(x).size(); ++axis) same.push_back(axis);
  return {this, builder_.graph().permute(x, same)};
}

void Formula::differentiate(WriteFormula write) {
  const mote_op_definition& op =
      builder_.command_like(row_.row->op, *call_.command, call_.command->axis()).definition();
  std::vector<Value> inputs;
  for (std::int32_t k = 0; k < op.input_count; ++k)
    inputs.push_back(own_input(static_cast<std::size_t>(k), op.inputs[k].optional != 0));
  inputs_ = std::move(inputs);
  given_.resize(static_cast<std::size_t>(op.output_count));
  const auto first_symbol = static_cast<std::uint32_t>(builder_.graph().symbol_count());
  const auto first_node = static_cast<std::uint32_t>(builder_.graph().node_count());
  write(*this);
  std::vector<TensorSymbol> of;
  std::vector<TensorSymbol> seeds;
  for (std::size_t k = 0; k < given_.size(); ++k) {
    const std::optional<std::size_t> gradient = row_.input_of(GradientRow::Kind::gradient, k);
    if (!gradient || !call_.inputs[*gradient] || !given_[k]) continue;
    of.push_back(given_[k]);
    seeds.push_back(builder_.reshaped(call_.inputs[*gradient], builder_.like(given_[k])));
  }
  std::vector<TensorSymbol> wrt(inputs_.size());
  for (std::size_t k = 0; k < wrt.size(); ++k)
    if (is_differentiated(k)) wrt[k] = inputs_[k].symbol;
  const std::vector<TensorSymbol> gradients =
      differentiate_new(builder_, first_symbol, first_node, of, seeds, wrt);
  for (std::size_t k = 0; k < wrt.size(); ++k) {
    if (!wrt[k]) continue;
    set(k, {this, gradients[k] ? gradients[k] : builder_.filled_like(0, wrt[k])});
  }
  inputs_.clear();
}

void Formula::give(std::size_t k, Value output) { given_[k] = output.symbol; }

Value Formula::reshaped(Value v, const AxisList& shape) {
  return {this, builder_.reshaped(v.symbol, shape)};
}

Value Formula::slice(Value v, int axis, std::int64_t begin, std::int64_t count, std::int64_t step) {
  if (axis < 0) axis += builder_.shape(v.symbol).size();
  return {this, builder_.graph().slice(v.symbol, axis, begin, count, step)};
}

Value Formula::row(Value v, std::int64_t k) {
  return {this, builder_.graph().select(v.symbol, 0, k)};
}

Value Formula::transposed(Value v) {
  const int rank = builder_.shape(v.symbol).size();
  AxisList order;
  for (int axis = 0; axis < rank - 2; ++axis) order.push_back(axis);
  order.push_back(rank - 1);
  order.push_back(rank - 2);
  return {this, builder_.graph().permute(v.symbol, order)};
}

Value Formula::joined(std::span<const Value> values, int axis) {
  const TensorForm form = builder_.form(values.front().symbol);
  AxisList whole = form.shape;
  whole[axis] = 0;
  for (const Value& value : values) whole[axis] += shape(value)[axis];
  TensorForm all(form.dtype, whole);
  all.device = form.device;
  const TensorSymbol tensor = builder_.graph().tensor(all);
  std::int64_t begin = 0;
  for (const Value& value : values) {
    const std::int64_t count = shape(value)[axis];
    builder_.into(builder_.graph().slice(tensor, axis, begin, count), value.symbol);
    begin += count;
  }
  return {this, tensor};
}

Value Formula::filled(double value, const AxisList& shape) {
  return {this, filled_as(value, MadeShape{shape})};
}

TensorSymbol Formula::filled_as(double value, const MadeShape& shape) {
  const TensorSymbol like = any_gradient();
  TensorForm form(builder_.dtype(like), shape.shape);
  form.device = builder_.form(like).device;
  return builder_.filled(value, form, shape);
}

void Formula::note_shapes_read(std::span<const TensorSymbol> symbols) {
  for (const TensorSymbol symbol : symbols)
    for (const TensorSymbol input : call_.inputs)
      if (reads_shapes_ && symbol && input) builder_.holding(symbol, input);
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

std::int64_t Formula::extent() const {
  reads_shapes_ = true;
  return builder_.shape(whole())[axis()];
}
std::string Formula::axis_text() const { return " axis=" + std::to_string(axis()); }
std::int64_t Formula::element_count() const {
  reads_shapes_ = true;
  return mote::element_count(builder_.form(whole()));
}

Value Formula::keep(Value reduced) {
  AxisGroups shape;
  const int rank = builder_.shape(reduced.symbol).size();
  for (int k = 0; k <= rank; ++k) {
    if (k == axis()) shape.push_back(k, 0);
    if (k < rank) shape.push_back(k, 1);
  }
  return {this, builder_.reshaped(reduced.symbol, builder_.made_of(reduced.symbol, shape))};
}

Value Formula::spread(Value kept) {
  return {this, builder_.broadcast(kept.symbol, builder_.like(whole()))};
}

Value Formula::sum(Value v) {
  const int axis = this->axis();
  return keep({this, builder_.sum_over(v.symbol, std::span(&axis, 1))});
}

Value Formula::sum_all(Value v) {
  std::vector<int> axes;
  for (int axis = 0; axis < builder_.shape(v.symbol).size(); ++axis) axes.push_back(axis);
  return {this, builder_.sum_over(v.symbol, axes)};
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
  AxisGroups shape = each_axis(builder_.shape(v.symbol).size());
  for (int axis = k + 1; axis < canonical_rank(); ++axis) shape.push_back(0, 0);
  return {this, builder_.reshaped(v.symbol, builder_.made_of(v.symbol, shape))};
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

AxisList shape_without_last(const AxisList& shape) {
  AxisList kept;
  for (int axis = 0; axis + 1 < shape.size(); ++axis) kept.push_back(shape[axis]);
  return kept;
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
