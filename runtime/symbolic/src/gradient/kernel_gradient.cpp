// SPDX-License-Identifier: Apache-2.0
// The gradient of a command by the op that the registry names: its tensors as they are, or, where
// that op cannot take their axes, at its canonical ranks.
#include <algorithm>

#include "fail.h"
#include "gradient/gradient_call.h"
#include "tensor/runs.h"

namespace mote {
namespace {

using Kind = GradientRow::Kind;

/// True if a command of that op works along an axis: the rules of run().
bool takes_axis(const mote_op_definition& op) {
  if (op.input_count == 0) return false;
  const mote_op_tensor& first = op.inputs[0];
  return (first.rank == 3 && first.batch == 0b101U) || (first.rank == 2 && first.batch == 0b01U);
}

/// The tensors of a call at the op's canonical ranks: the axes that stand for one size are merged.
struct CanonicalShapes {
  std::vector<MadeShape> inputs;
  std::vector<MadeShape> outputs;
};

AxisGroups canonical_groups(const CallOperand& operand, const Runs& runs) {
  AxisGroups groups;
  for (int k = 0; k < operand.meaning->rank; ++k)
    groups.push_back(begin_of(runs, k), runs.count[at(k)]);
  return groups;
}

class KernelGradient {
 public:
  KernelGradient(GraphBuilder& builder, const GradientCall& call, TensorMask mask)
      : builder_(builder),
        call_(call),
        mask_(mask),
        op_(call.command->definition()),
        row_(*builder.ops().facts(*call.command).row) {}

  std::vector<TensorSymbol> run() {
    const std::optional<int> axis = own_axis();
    const Command& command = builder_.command_like(row_.row->gradient, *call_.command, axis);
    if (!axis || takes_axis(command.definition())) {
      const std::vector<TensorSymbol> inputs = tensors(nullptr);
      if (const std::vector<TensorForm>* const forms = try_infer(command, inputs))
        return direct(command, inputs, *forms);
    }
    return canonical();
  }

 private:
  /// Returns the command's axis, counted from the front.
  std::optional<int> own_axis() const {
    std::optional<int> axis = call_.command->axis();
    if (!axis || *axis >= 0) return axis;
    for (const TensorSymbol input : call_.inputs)
      if (input) return *axis + builder_.shape(input).size();
    return axis;
  }

  std::optional<DType> dtype() const {
    for (const std::size_t k : row_.outputs)
      if (call_.inputs[k]) return builder_.dtype(call_.inputs[k]);
    return std::nullopt;
  }

  /// Returns null if the op does not take these tensors.
  const std::vector<TensorForm>* try_infer(const Command& command,
                                           std::span<const TensorSymbol> inputs) const {
    const std::vector<TensorForm>* inferred = nullptr;
    try {
      inferred = &builder_.infer_forms(command, inputs, dtype());
    } catch (const StatusError&) {
      return nullptr;
    }
    const std::vector<TensorForm>& forms = *inferred;
    // Axes that the gradient has and the input has not are leading ones, which are summed.
    for (std::size_t k = 0; k < row_.outputs.size(); ++k) {
      const TensorSymbol input = call_.inputs[row_.outputs[k]];
      if (!input || !is_in(call_.wanted, row_.outputs[k])) continue;
      const AxisList& own = builder_.shape(input);
      const int extra = forms[k].shape.size() - own.size();
      for (int axis = 0; axis < own.size(); ++axis)
        if (extra < 0 || (own[axis] != 1 && own[axis] != forms[k].shape[axis + extra]))
          return nullptr;
    }
    return inferred;
  }

  const std::vector<TensorForm>& output_forms() {
    if (output_forms_.empty())
      output_forms_ = builder_.infer_forms(*call_.command, call_.inputs, dtype());
    return output_forms_;
  }
  TensorForm output_form(std::size_t k) {
    return call_.outputs[k] ? builder_.form(call_.outputs[k]) : output_forms()[k];
  }

  /// Returns the gradient op's inputs, at the canonical shapes if there are some.
  std::vector<TensorSymbol> tensors(const CanonicalShapes* shapes) {
    std::vector<TensorSymbol> inputs(row_.inputs.size());
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      if (!is_in(mask_, k)) continue;
      const auto [kind, of, reads] = row_.inputs[k];
      const bool is_input = kind == Kind::input;
      TensorSymbol x = is_input               ? call_.inputs[of]
                       : kind == Kind::output ? call_.outputs[of]
                                              : call_.gradients[of];
      // A gradient that does not come is 0; where only the shape matters, the value need not stay.
      const bool is_zero = !x || !reads || (is_input && is_for_other_factor(of));
      if (!is_zero && shapes == nullptr) {
        inputs[k] = kind == Kind::gradient && !is_generated() ? without_repeats(x) : x;
        continue;
      }
      TensorForm form = x ? builder_.form(x) : output_form(of);
      const TensorSymbol like = x || is_input ? x : call_.outputs[of];
      MadeShape shape = like ? builder_.like(like) : MadeShape{form.shape};
      if (shapes != nullptr) {
        shape = is_input ? shapes->inputs[of] : shapes->outputs[of];
        const DLDevice device = form.device;
        form = {form.dtype, shape.shape};
        form.device = device;
      }
      inputs[k] = is_zero ? builder_.filled(0, form, shape) : builder_.reshaped(x, shape);
    }
    return inputs;
  }

  bool is_generated() const { return row_.kernels != nullptr && !row_.kernels->empty(); }
  /// Returns a copy where elements share memory, as those of a sum's gradient do: kernels of
  /// backends seldom take them, and there is no other one.
  TensorSymbol without_repeats(TensorSymbol x) const {
    const TensorForm& form = builder_.form(x);
    for (int axis = 0; axis < form.shape.size(); ++axis)
      if (form.shape[axis] > 1 && form.strides[axis] == 0) {
        TensorForm dense(form.dtype, form.shape);
        dense.device = form.device;
        return builder_.graph().convert(x, dense);
      }
    return x;
  }

  /// True for a factor of a product if only the factor's own gradient is asked for: it is the other
  /// factor times gy.
  bool is_for_other_factor(std::size_t k) const {
    const OpRule* rule = rule_of(op_.name);
    return rule != nullptr && rule->tangent == Tangent::bilinear && k < 2 &&
           !is_in(call_.wanted, 1 - k);
  }

  std::vector<TensorSymbol> direct(const Command& command, std::span<const TensorSymbol> inputs,
                                   std::span<const TensorForm> forms) {
    std::vector<TensorSymbol> targets;
    if (std::ranges::any_of(call_.targets, &TensorSymbol::operator bool))
      targets.resize(row_.outputs.size());
    for (std::size_t k = 0; k < targets.size(); ++k) {
      const std::size_t of = row_.outputs[k];
      if (is_wanted(of) && call_.targets[of] && builder_.shape(call_.inputs[of]) == forms[k].shape)
        targets[k] = call_.targets[of];
    }
    const std::vector<TensorSymbol> outputs =
        builder_.emit(command, inputs, forms, wanted_outputs(), targets);
    std::vector<TensorSymbol> gradients(call_.inputs.size());
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      const std::size_t of = row_.outputs[k];
      if (is_wanted(of) && outputs[k])
        gradients[of] =
            builder_.sum_to(outputs[k], builder_.like(call_.inputs[of]), call_.targets[of]);
    }
    return gradients;
  }

  CanonicalShapes canonical_shapes() {
    std::vector<Tensor> tensors;
    std::vector<CallOperand> operands;
    tensors.reserve(call_.inputs.size() + call_.outputs.size());
    const auto add = [&](const mote_op_tensor& meaning, const TensorForm& form, bool is_output) {
      tensors.push_back(Tensor::over(nullptr, form.dtype, form.shape));
      operands.push_back({&meaning, &tensors.back().dl(), is_output});
    };
    for (std::size_t k = 0; k < call_.inputs.size(); ++k)
      if (call_.inputs[k]) add(op_.inputs[k], builder_.form(call_.inputs[k]), false);
    for (std::size_t k = 0; k < call_.outputs.size(); ++k)
      add(op_.outputs[k], output_form(k), true);
    std::vector<Runs> runs(operands.size());
    find_runs(op_, call_.command->axis(), operands, runs);
    CanonicalShapes shapes;
    std::size_t next = 0;
    const auto take = [&](TensorSymbol of) {
      const AxisGroups groups = canonical_groups(operands[next], runs[next]);
      const AxisList shape = groups.of(tensors[next].shape());
      ++next;
      return of ? builder_.made_of(of, groups) : MadeShape{shape};
    };
    for (const TensorSymbol input : call_.inputs)
      shapes.inputs.push_back(input ? take(input) : MadeShape{});
    for (const TensorSymbol output : call_.outputs) shapes.outputs.push_back(take(output));
    return shapes;
  }

  std::vector<TensorSymbol> canonical() {
    const CanonicalShapes shapes = canonical_shapes();
    const Command& command =
        builder_.command_like(row_.row->gradient, *call_.command, std::nullopt);
    const std::vector<TensorSymbol> inputs = tensors(&shapes);
    const std::vector<TensorForm> forms = builder_.infer_forms(command, inputs, dtype());
    std::vector<TensorSymbol> targets(row_.outputs.size());
    for (std::size_t k = 0; k < targets.size(); ++k) {
      const std::size_t of = row_.outputs[k];
      if (is_wanted(of) && call_.targets[of] && shapes.inputs[of].shape == forms[k].shape)
        targets[k] = builder_.try_reshape(call_.targets[of], shapes.inputs[of]);
    }
    const std::vector<TensorSymbol> outputs =
        builder_.emit(command, inputs, forms, wanted_outputs(), targets);
    std::vector<TensorSymbol> gradients(call_.inputs.size());
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      const std::size_t of = row_.outputs[k];
      if (!is_wanted(of) || !outputs[k]) continue;
      const TensorSymbol summed = builder_.sum_to(outputs[k], shapes.inputs[of]);
      gradients[of] =
          targets[k] ? call_.targets[of]
                     : builder_.into(call_.targets[of],
                                     builder_.reshaped(summed, builder_.like(call_.inputs[of])));
    }
    return gradients;
  }

  bool is_wanted(std::size_t k) const { return is_in(call_.wanted, k) && call_.inputs[k]; }
  TensorMask wanted_outputs() const {
    TensorMask mask = 0;
    for (std::size_t k = 0; k < row_.outputs.size(); ++k)
      if (is_wanted(row_.outputs[k])) mask |= mask_bit(k);
    return mask;
  }

  GraphBuilder& builder_;
  const GradientCall& call_;
  TensorMask mask_;
  const mote_op_definition& op_;
  const GradientRow& row_;
  std::vector<TensorForm> output_forms_;
};

}  // namespace

std::vector<TensorSymbol> kernel_gradient(GraphBuilder& builder, const GradientCall& call,
                                          TensorMask mask) {
  return KernelGradient(builder, call, mask).run();
}

}  // namespace mote
