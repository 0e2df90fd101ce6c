// SPDX-License-Identifier: Apache-2.0
// Shape inference: own axes are grouped into canonical ones as a call would group them, canonical
// extents are solved for the sizes, and outputs get the groups' own axes back.
#include "mote/runtime/infer.h"

#include <algorithm>
#include <memory>
#include <mutex>

#include "command/check_call.h"
#include "mote/runtime/status.h"
#include "registry/refuse_empty.h"
#include "registry/size_program.h"
#include "tensor/described.h"
#include "tensor/runs.h"
#include "tensor/view.h"

namespace mote {
namespace {

using Shape = AxisList;

/// The programs of all axes of the op's tensors.
struct SizeRules {
  explicit SizeRules(const mote_op_definition& op) {
    const auto add = [&](const mote_op_tensor* tensors, std::int32_t count) {
      for (std::int32_t k = 0; k < count; ++k) {
        axes.emplace_back();
        for (int axis = 0; axis < tensors[k].rank; ++axis)
          axes.back().emplace_back(tensors[k], axis, names);
      }
    };
    add(op.inputs, op.input_count);
    add(op.outputs, op.output_count);
  }

  SizeNames names;
  std::vector<std::vector<SizeProgram>> axes;  ///< the axes of the inputs, then of the outputs
};

/// Broadcasts `shape` to `joint`: aligned at their ends, an extent of 1 that may repeat takes the
/// other's.
void join(Shape& joint, const Shape& shape, bool repeats, const mote_op_definition& op,
          const CallOperand& o, bool& joint_repeats) {
  const auto mismatch = [&] {
    refuse(op, "axes of " + text_of(o) + " do not fit " + to_string(joint));
  };
  if (joint.size() != shape.size() && !(repeats && joint_repeats)) {
    const bool shorter = shape.size() < joint.size();
    if (shorter ? !repeats : !joint_repeats) mismatch();
  }
  Shape result;
  const int rank = std::max(joint.size(), shape.size());
  for (int axis = 0; axis < rank; ++axis) {
    const int a = axis - (rank - joint.size());
    const int b = axis - (rank - shape.size());
    const std::int64_t x = a < 0 ? 1 : joint[a];
    const std::int64_t y = b < 0 ? 1 : shape[b];
    const bool fits = x == y || (repeats && y == 1) || (joint_repeats && x == 1);
    if (!fits) mismatch();
    result.push_back(x == y ? x : repeats && y == 1 ? x : y);
  }
  joint = result;
  joint_repeats = joint_repeats && repeats;
}

std::int64_t product(const mote_op_definition& op, const Shape& shape) {
  std::int64_t result = 1;
  for (const std::int64_t extent : shape)
    if (__builtin_mul_overflow(result, extent, &result))
      refuse(op, "the axes " + to_string(shape) + " overflow");
  return result;
}

/// The own axes of tensors that stand for one size.
struct SizeGroup {
  const char* size;
  Shape axes;
  bool repeats;
};

class Inference {
 public:
  Inference(const Command& command, const CallTensors& inputs, const SizeRules& rules)
      : op_(command.definition()),
        operands_(inputs.operands),
        slots_(inputs.slots),
        rules_(rules),
        runs_(operands_.size()),
        sizes_(rules.names.sizes.size()) {
    for (const std::string& name : rules.names.params) params_.push_back(param(command, name));
    if (command.axis() && operands_.empty())
      refuse(op_, "it works along no axis that could be chosen, got axis " +
                      std::to_string(*command.axis()));
    find_runs(op_, command.axis(), operands_, runs_);
    group();
    solve();
    check();
  }

  Shape output(int k) const {
    const mote_op_tensor& m = op_.outputs[k];
    Shape shape;
    for (int axis = 0; axis < m.rank; ++axis) {
      if (const SizeGroup* group = group_of(m.axes[axis])) {
        for (const std::int64_t extent : group->axes) shape.push_back(extent);
        continue;
      }
      const std::vector<SizeProgram>& programs = rules_.axes[at(op_.input_count + k)];
      const std::optional<LinearForm> form = value(programs[at(axis)]);
      const std::string what = "axis " + std::to_string(axis) + " of " + m.name;
      if (!form || form->size >= 0)
        refuse(op_, what + " does not follow from the inputs: " + m.axes[axis]);
      if (form->offset < 0)
        refuse(op_, what + " would be " + std::to_string(form->offset) + " = " + m.axes[axis]);
      shape.push_back(form->offset);
    }
    return shape;
  }

 private:
  std::int64_t param(const Command& command, const std::string& name) const {
    for (const mote_param& p : command.params())
      if (name == p.name) return p.integer;
    for (std::int32_t k = 0; k < op_.param_count; ++k)
      if (name == op_.params[k].name) return static_cast<std::int64_t>(op_.params[k].default_value);
    refuse(op_, "an axis mentions $" + name + ", which is no parameter");
  }

  const SizeGroup* group_of(const char* size) const {
    const auto found = std::ranges::find_if(
        groups_, [&](const SizeGroup& g) { return std::string_view(g.size) == size; });
    return found != groups_.end() ? &*found : nullptr;
  }

  /// Returns the own axes of operand n that stand for its canonical axis k.
  Shape run_of(std::size_t n, int k) const {
    Shape shape;
    const int begin = begin_of(runs_[n], k);
    for (int axis = 0; axis < runs_[n].count[at(k)]; ++axis)
      shape.push_back(operands_[n].extent(begin + axis));
    return shape;
  }
  static bool repeats(const mote_op_tensor& m, int axis) { return (m.broadcast >> axis & 1U) != 0; }

  /// Makes a group of each size that some input has as no axis or as several.
  void group() {
    for (std::size_t n = 0; n < operands_.size(); ++n)
      for (int k = 0; k < operands_[n].meaning->rank; ++k)
        if (runs_[n].count[at(k)] != 1 && group_of(operands_[n].meaning->axes[k]) == nullptr)
          join_all(operands_[n].meaning->axes[k]);
  }
  void join_all(const char* size) {
    SizeGroup group = {.size = size, .axes = {}, .repeats = true};
    bool first = true;
    for (std::size_t n = 0; n < operands_.size(); ++n) {
      const mote_op_tensor& m = *operands_[n].meaning;
      const int k = find_axis(m, size);
      if (k == kUnused) continue;
      if (first) {
        group.axes = run_of(n, k);
        group.repeats = repeats(m, k);
      } else {
        join(group.axes, run_of(n, k), repeats(m, k), op_, operands_[n], group.repeats);
      }
      first = false;
    }
    groups_.push_back(group);
  }

  std::int64_t extent(std::size_t n, int k) const {
    if (const SizeGroup* group = group_of(operands_[n].meaning->axes[k]))
      return product(op_, group->axes);
    return operands_[n].extent(begin_of(runs_[n], k));
  }
  const SizeProgram& program(std::size_t n, int k) const {
    return rules_.axes[at(slots_[n])][at(k)];
  }
  std::optional<LinearForm> value(const SizeProgram& program) const {
    try {
      return program.evaluate(sizes_, params_);
    } catch (const StatusError& e) {
      refuse(op_, e.what());
    }
  }

  /// Solves for sizes until no equation adds one. Axes that may repeat count only at the end: an
  /// extent of 1 says nothing about the size.
  void solve() {
    for (const bool with_repeated : {false, true})
      for (bool found = true; found;) {
        found = false;
        for (std::size_t n = 0; n < operands_.size(); ++n)
          for (int k = 0; k < operands_[n].meaning->rank; ++k)
            found = solve_axis(n, k, with_repeated) || found;
      }
  }
  bool solve_axis(std::size_t n, int k, bool with_repeated) {
    const std::int64_t got = extent(n, k);
    if (!with_repeated && got == 1 && repeats(*operands_[n].meaning, k)) return false;
    const std::optional<LinearForm> form = value(program(n, k));
    if (!form || form->size < 0 || form->scale == 0) return false;
    std::int64_t rest = 0;
    if (__builtin_sub_overflow(got, form->offset, &rest) || rest % form->scale != 0 ||
        rest / form->scale < 0)
      refuse(op_, "axis " + std::to_string(k) + " of " + operands_[n].meaning->name + " must be " +
                      program(n, k).text() + ", got " + std::to_string(got) + describe());
    sizes_[at(form->size)] = rest / form->scale;
    return true;
  }

  /// Checks that every extent equals its program's value.
  void check() const {
    for (std::size_t n = 0; n < operands_.size(); ++n)
      for (int k = 0; k < operands_[n].meaning->rank; ++k) {
        const std::optional<LinearForm> form = value(program(n, k));
        const std::int64_t got = extent(n, k);
        if (!form || form->size >= 0 || form->offset == got) continue;
        if (got == 1 && repeats(*operands_[n].meaning, k)) continue;
        refuse(op_, "axis " + std::to_string(k) + " of " + operands_[n].meaning->name +
                        " must be " + program(n, k).text() + " = " + std::to_string(form->offset) +
                        ", got " + std::to_string(got) + describe());
      }
  }
  std::string describe() const {
    std::string list;
    for (const CallOperand& o : operands_) list += (list.empty() ? " (" : ", ") + text_of(o);
    return list + ")";
  }

  const mote_op_definition& op_;
  std::span<const CallOperand> operands_;
  std::span<const int> slots_;
  const SizeRules& rules_;
  std::vector<Runs> runs_;
  std::vector<SizeGroup> groups_;
  std::vector<std::optional<std::int64_t>> sizes_;
  std::vector<std::int64_t> params_;
};

Shape pointwise_shape(const mote_op_definition& op, std::span<const CallOperand> operands) {
  if (operands.empty()) refuse(op, "the shape does not follow from inputs, there are none");
  Shape joint = extents_of(*operands.front().tensor);
  bool repeats = operands.front().meaning->broadcast != 0;
  for (const CallOperand& o : operands.subspan(1))
    join(joint, extents_of(*o.tensor), o.meaning->broadcast != 0, op, o, repeats);
  return joint;
}

DType dtype_of(const mote_op_definition& op, const mote_op_tensor& y, const CallTensors& inputs,
               std::optional<DType> given) {
  if (const std::optional<DType> fixed = parse_dtype(y.dtype)) return *fixed;
  const bool follows = std::ranges::any_of(inputs.operands, [](const CallOperand& o) {
    return std::string_view(o.meaning->dtype) == "T";
  });
  if (follows) return inputs.instance;
  if (!given)
    refuse(op, std::string("the dtype of ") + y.name + " does not follow from the inputs");
  return *given;
}

std::vector<TensorForm> by_rules(const Command& command, std::span<const TensorForm* const> inputs,
                                 std::optional<DType> dtype, const SizeRules& rules) {
  const mote_op_definition& op = command.definition();
  const DescribedTensors given(inputs);
  std::vector<CallOperand> operands(at(op.input_count));
  std::vector<int> slots(operands.size());
  const CallTensors call = check_inputs(command, given.list(), operands, slots);
  const DLDevice host = {kDLCPU, 0};
  const DLDevice device = call.operands.empty() ? host : call.operands.front().tensor->device;
  std::vector<TensorForm> forms;
  forms.reserve(at(op.output_count));
  std::optional<Shape> joint;
  std::optional<Inference> inference;
  if (!command.axis() && command.is_pointwise())
    joint = pointwise_shape(op, call.operands);
  else
    inference.emplace(command, call, rules);
  for (int k = 0; k < op.output_count; ++k) {
    const DType of_y = dtype_of(op, op.outputs[k], call, dtype);
    forms.emplace_back(of_y, joint ? *joint : inference->output(k));
    forms.back().device = device;
  }
  refuse_empty(command, call.input_mask, inputs, forms);
  return forms;
}

}  // namespace

InferShapes infer_by_definition(const mote_op_definition& definition) {
  struct Lazy {
    std::mutex mutex;
    std::optional<SizeRules> rules;  ///< once set, never changed
  };
  // Few ops are ever asked: the programs are read at the first call.
  return [lazy = std::make_shared<Lazy>(), op = &definition](
             const Command& command, std::span<const TensorForm* const> inputs,
             std::optional<DType> dtype) {
    {
      const std::lock_guard lock(lazy->mutex);
      try {
        if (!lazy->rules) lazy->rules.emplace(*op);
      } catch (const StatusError& e) {
        refuse(*op, e.what());
      }
    }
    return by_rules(command, inputs, dtype, *lazy->rules);
  };
}

std::vector<TensorForm> infer(const Command& command, std::span<const TensorForm* const> inputs,
                              std::optional<DType> dtype) {
  const InferShapes* own = command.registry().column(kInfer).find(command.op());
  if (own == nullptr) return infer_by_definition(command.definition())(command, inputs, dtype);
  return (*own)(command, inputs, dtype);
}

std::vector<TensorForm> infer(const Command& command, std::span<const Tensor* const> inputs,
                              std::optional<DType> dtype) {
  std::vector<TensorForm> forms(inputs.size());
  std::vector<const TensorForm*> pointers(inputs.size());
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    if (inputs[k] == nullptr) continue;
    forms[k] = inputs[k]->form();
    pointers[k] = &forms[k];
  }
  return infer(command, pointers, dtype);
}

std::vector<TensorForm> infer(const Command& command, std::initializer_list<const Tensor*> inputs,
                              std::optional<DType> dtype) {
  return infer(command, std::span(inputs.begin(), inputs.size()), dtype);
}

}  // namespace mote
