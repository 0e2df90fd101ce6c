// SPDX-License-Identifier: Apache-2.0
// The gradient of g(gy, x) with respect to gy: the tangent J(x) c of the op f whose gradient g is.
#include "gradient/tangent.h"

#include "mote/base/error.h"

namespace mote {
namespace {

using Kind = GradientRow::Kind;

class TangentOf {
 public:
  TangentOf(GraphBuilder& builder, const GradientCall& call, const GradientRow& row)
      : builder_(builder), call_(call), row_(row) {}

  /// Returns a symbol for each output of f that g takes the gradient of.
  std::vector<TensorSymbol> run(Tangent tangent) {
    switch (tangent) {
      case Tangent::pointwise:
      case Tangent::self_adjoint:
        return {by_itself()};
      case Tangent::linear:
        return linear();
      case Tangent::bilinear:
        return {bilinear()};
      case Tangent::reduction:
        return {reduction()};
      case Tangent::picked:
        return {picked()};
      case Tangent::scattered:
        return {scattered()};
      case Tangent::formula:
      case Tangent::none:
        break;
    }
    throw InternalError(std::string(row_.row->op) + " has no rule for its tangent");
  }

 private:
  TensorSymbol change(std::size_t output) const { return call_.gradients[output]; }
  /// Returns the change of input k of f; an empty symbol if it has none.
  TensorSymbol change_of(std::size_t k) const {
    const std::optional<std::size_t> output = row_.output_of(k);
    return output ? change(*output) : TensorSymbol{};
  }
  TensorSymbol own(Kind kind, std::size_t of) const {
    const std::optional<std::size_t> k = row_.input_of(kind, of);
    return k ? call_.inputs[*k] : TensorSymbol{};
  }
  std::size_t gradient_slot() const { return *row_.input_of(Kind::gradient, row_.inputs[0].of); }

  /// Returns output k of g with another gy.
  TensorSymbol g(std::size_t output, TensorSymbol gy) {
    std::vector<TensorSymbol> inputs = call_.inputs;
    inputs[gradient_slot()] = gy;
    const std::vector<TensorForm> forms =
        builder_.infer_forms(*call_.command, inputs, builder_.dtype(gy));
    return builder_.emit(*call_.command, inputs, forms, mask_bit(output))[output];
  }

  TensorSymbol by_itself() {
    std::vector<TensorSymbol> terms;
    for (std::size_t k = 0; k < call_.gradients.size(); ++k)
      if (change(k)) terms.push_back(g(k, change(k)));
    return builder_.sum(terms);
  }

  TensorSymbol reduction() {
    const mote_op_definition& op = call_.command->definition();
    const TensorSymbol gy = call_.inputs[gradient_slot()];
    const TensorSymbol ones = builder_.filled_like(1, gy);
    std::vector<TensorSymbol> terms;
    for (std::size_t k = 0; k < call_.gradients.size(); ++k) {
      if (!change(k)) continue;
      const TensorSymbol product = builder_.op("mul", {g(k, ones), change(k)});
      // The axes that y lacks are summed, or are 1 in it.
      const mote_op_tensor& x = op.outputs[k];
      const int extra = builder_.shape(product).size() - x.rank;
      std::vector<int> axes;
      for (int axis = 0; axis < x.rank; ++axis)
        if (axis + extra >= 0 && !has_axis(op.inputs[gradient_slot()], x.axes[axis]))
          axes.push_back(axis + extra);
      terms.push_back(builder_.reshaped(builder_.sum_over(product, axes), builder_.like(gy)));
    }
    return builder_.sum(terms);
  }
  static bool has_axis(const mote_op_tensor& tensor, std::string_view size) {
    for (int k = 0; k < tensor.rank; ++k)
      if (size == tensor.axes[k]) return true;
    return false;
  }

  const Command& f() {
    const std::optional<int> axis = call_.command->axis();
    if (std::string_view(row_.row->op) == "pad_constant")  // what is added does not change
      return builder_.command_without(row_.row->op, *call_.command, axis, "value");
    return builder_.command_like(row_.row->op, *call_.command, axis);
  }
  /// Returns the outputs of f for these inputs.
  std::vector<TensorSymbol> f_of(std::span<const TensorSymbol> inputs) {
    const Command& command = f();
    std::optional<DType> dtype;
    for (const TensorSymbol change : call_.gradients)
      if (change) dtype = builder_.dtype(change);
    const std::vector<TensorForm> forms = builder_.infer_forms(command, inputs, dtype);
    return builder_.emit(command, inputs, forms, row_.row->from);
  }
  /// Returns zeros of the form of g's output for input k of f.
  TensorSymbol no_change(std::size_t k) {
    const std::size_t output = *row_.output_of(k);
    if (call_.outputs[output]) return builder_.filled_like(0, call_.outputs[output]);
    const std::vector<TensorForm> forms = builder_.infer_forms(*call_.command, call_.inputs);
    return builder_.filled(0, forms[output]);
  }

  std::vector<TensorSymbol> linear() {
    const Command& command = f();
    std::vector<TensorSymbol> inputs(static_cast<std::size_t>(command.definition().input_count));
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      inputs[k] = own(Kind::input, k);
      if (row_.output_of(k)) inputs[k] = change_of(k) ? change_of(k) : no_change(k);
    }
    return f_of(inputs);
  }

  TensorSymbol bilinear() {
    std::vector<TensorSymbol> terms;
    const std::size_t count = static_cast<std::size_t>(f().definition().input_count);
    TensorSymbol added = count > 2 ? change_of(2) : TensorSymbol{};
    const auto add = [&](TensorSymbol a, TensorSymbol b) {
      std::vector<TensorSymbol> inputs = {a, b};
      if (count > 2) inputs.push_back(std::exchange(added, TensorSymbol{}));
      terms.push_back(f_of(inputs).front());
    };
    if (change_of(0)) add(change_of(0), own(Kind::input, 1));
    if (change_of(1)) add(own(Kind::input, 0), change_of(1));
    if (added) add(no_change(0), own(Kind::input, 1));
    return builder_.sum(terms);
  }

  /// A max pool gives elements of x, whose positions max_pool2d_with_indices tells.
  TensorSymbol picked() {
    const std::size_t gy_slot = gradient_slot();
    TensorSymbol indices = own(Kind::output, 1);
    if (!indices) {
      const Command& command =
          builder_.command_like("max_pool2d_with_indices", *call_.command, call_.command->axis());
      const std::vector<TensorSymbol> x = {own(Kind::input, 0)};
      indices = builder_.emit(command, x, builder_.infer_forms(command, x), 3)[1];
    }
    const TensorSymbol change = call_.gradients[0];
    const std::int64_t count = element_count(builder_.form(change));
    const std::int64_t results = element_count(builder_.form(indices));
    const AxisList shape = builder_.shape(call_.inputs[gy_slot]);
    const TensorSymbol picked =
        builder_.reshaped(builder_.op("gather", {builder_.reshaped(change, {1, count, 1}),
                                                 builder_.reshaped(indices, {results})}),
                          builder_.like(call_.inputs[gy_slot]));
    // Whether a window is empty depends on the shape of x.
    builder_.holding(picked, own(Kind::input, 0));
    if (!has_empty_window(builder_.shape(own(Kind::input, 0)), shape)) return picked;
    // There the index is -1, which stands for the last element.
    const TensorSymbol is_empty = builder_.op("less", {indices, builder_.number(0, indices)});
    return builder_.op("where", {is_empty, builder_.number(0, picked), picked});
  }

  std::int64_t param(const std::string& name) const {
    for (const mote_param& param : call_.command->params())
      if (name == param.name) return param.integer;
    const mote_op_definition& op = call_.command->definition();
    for (std::int32_t k = 0; k < op.param_count; ++k)
      if (name == op.params[k].name) return static_cast<std::int64_t>(op.params[k].default_value);
    throw InternalError(name + " is no parameter of " + op.name);
  }

  /// True if a window of the pool lies in the padding whole.
  bool has_empty_window(const AxisList& x, const AxisList& y) const {
    for (int axis = 0; axis < 2; ++axis) {
      const std::string of = std::to_string(axis);
      const std::int64_t kernel = param("kernel" + of), stride = param("stride" + of);
      const std::int64_t dilation = param("dilation" + of), pad = param("pads" + of);
      const std::int64_t extent = x[x.size() - 2 + axis];
      for (std::int64_t window = 0; window < y[y.size() - 2 + axis]; ++window) {
        const std::int64_t begin = window * stride - pad;
        const std::int64_t skipped = begin < 0 ? (-begin + dilation - 1) / dilation : 0;
        if (skipped >= kernel || begin + skipped * dilation >= extent) return true;
      }
    }
    return false;
  }

  /// A place of y is a product, or the greatest or least, of the element of x and of updates.
  TensorSymbol scattered() {
    const TensorSymbol ones = builder_.filled_like(1, call_.inputs[gradient_slot()]);
    const auto scaled = [&](std::size_t k) {
      const std::size_t output = *row_.output_of(k);
      return builder_.op("mul", {g(output, ones), change(output)});
    };
    TensorSymbol sum = change_of(0) ? scaled(0) : builder_.filled_like(0, ones);
    if (!change_of(2)) return sum;
    const std::string op = row_.row->op;
    const std::string add = op.substr(0, op.rfind('_')) + "_add";
    return builder_.op(add, {sum, own(Kind::input, 1), scaled(2)});
  }

  GraphBuilder& builder_;
  const GradientCall& call_;
  const GradientRow& row_;
};

}  // namespace

std::vector<TensorSymbol> tangents(GraphBuilder& builder, const GradientCall& call,
                                   const GradientRow& row, Tangent tangent) {
  return TangentOf(builder, call, row).run(tangent);
}

}  // namespace mote
