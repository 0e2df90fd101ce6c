// SPDX-License-Identifier: Apache-2.0
// Finds the program of a call by dtype and present inputs, brings the tensors to its ranks, and
// substitutes them.
#include "graph/call_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <string_view>

#include "graph/element_index.h"
#include "mote/base/error.h"
#include "mote/runtime/canonical.h"
#include "mote/uops/substitute.h"

namespace mote {
namespace {

class InlinedCall {
 public:
  InlinedCall(const Command& command, std::span<const InlinedTensor> inputs,
              std::span<const TensorForm* const> outputs, std::string_view form)
      : command_(command),
        op_(command.definition()),
        inputs_(inputs),
        outputs_(outputs),
        program_(find_program(form)) {
    std::vector<const TensorForm*> forms;
    for (const InlinedTensor& x : inputs) forms.push_back(x.form);
    canonical_ = canonical_forms(command, forms, outputs);
  }

  std::vector<Uop> run() const {
    const Binding binding = mote::bind(*program_, shapes(), params());
    std::vector<Uop> values;
    for (std::size_t n = 0; n < program_->inputs.size(); ++n) {
      const std::size_t k = input_named(input_name(n));
      values.push_back(fitted(inputs_[k].value, *inputs_[k].form, canonical_.inputs[k],
                              AxisList(binding.inputs[n])));
    }
    const std::vector<Uop> computed = substitute(*program_, binding, values);
    std::vector<Uop> results(outputs_.size());
    for (std::size_t n = 0; n < computed.size(); ++n) {
      const std::size_t k = output_named(program_->outputs[n].name);
      if (k >= outputs_.size() || outputs_[k] == nullptr) continue;
      const AxisList extents(binding.outputs[n]);
      if (extents != canonical_.outputs[k].merged)
        throw Error(fmt::format("{}: {} is {}, expected {}", op_.name, op_.outputs[k].name,
                                to_string(extents), to_string(canonical_.outputs[k].merged)));
      results[k] = stored(computed[n], extents, *outputs_[k]);
    }
    for (std::size_t k = 0; k < outputs_.size(); ++k)
      if (outputs_[k] != nullptr && !results[k])
        throw Error(fmt::format("{}: the program has no output {}", op_.name, op_.outputs[k].name));
    return results;
  }

 private:
  /// Returns the dtype of the first tensor that has the instance's.
  DType dtype(const OpRecord& record) const {
    const auto is_own = [](const mote_op_tensor& t) { return std::string_view(t.dtype) == "T"; };
    for (std::size_t k = 0; k < inputs_.size(); ++k)
      if (inputs_[k].form != nullptr && is_own(op_.inputs[k])) return inputs_[k].form->dtype;
    for (std::size_t k = 0; k < outputs_.size(); ++k)
      if (outputs_[k] != nullptr && is_own(op_.outputs[k])) return outputs_[k]->dtype;
    return record.dtypes.front();
  }

  std::shared_ptr<const Program> find_program(std::string_view form) const {
    const OpRecord& record = find_op(op_.name);
    Instance instance{dtype(record), 0};
    for (std::size_t k = 0; k < record.inputs.size(); ++k) {
      const std::size_t own = input_named(record.inputs[k].name);
      if (own < inputs_.size() && inputs_[own].form != nullptr) instance.input_mask |= mask_bit(k);
    }
    if (!has_instance(record, instance))
      throw Error(
          fmt::format("{} has no program in {} for these inputs", op_.name, name(instance.dtype)));
    return instantiate(record, instance, form);
  }

  const std::string& input_name(std::size_t n) const {
    return std::get<uop::Input>(program_->inputs[n].node().kind).name;
  }
  std::size_t input_named(std::string_view name) const {
    return static_cast<std::size_t>(
        std::find_if(op_.inputs, op_.inputs + op_.input_count,
                     [&](const mote_op_tensor& t) { return t.name == name; }) -
        op_.inputs);
  }
  std::size_t output_named(std::string_view name) const {
    return static_cast<std::size_t>(
        std::find_if(op_.outputs, op_.outputs + op_.output_count,
                     [&](const mote_op_tensor& t) { return t.name == name; }) -
        op_.outputs);
  }

  std::vector<std::vector<std::int64_t>> shapes() const {
    std::vector<std::vector<std::int64_t>> result;
    for (std::size_t n = 0; n < program_->inputs.size(); ++n) {
      const AxisList& merged = canonical_.inputs.at(input_named(input_name(n))).merged;
      result.emplace_back(merged.begin(), merged.end());
    }
    return result;
  }
  std::map<std::string, Number> params() const {
    std::map<std::string, Number> result;
    for (const mote_param& p : command_.params())
      if (find_param(*program_, p.name))
        result.emplace(p.name, p.is_real != 0 ? Number(p.real) : Number(p.integer));
    return result;
  }

  /// Returns the tensor at its canonical rank, repeated to the full extents of the program's input.
  static Uop fitted(const Uop& x, const TensorForm& form, const CanonicalForm& canonical,
                    const AxisList& full) {
    if (!x) return x;
    const ElementIndex in_merged = repeated_index(canonical.merged, loop_index(full.size()));
    const ElementIndex in_whole = reshaped_index(canonical.whole, canonical.merged, in_merged);
    ElementIndex index(static_cast<std::size_t>(form.rank()));
    for (std::size_t k = 0; k < canonical.axes.size(); ++k) {
      const int own = canonical.axes[k];
      if (own != kRepeated && form.shape[own] != 1)
        index[static_cast<std::size_t>(own)] = in_whole[k];
    }
    return element_at(x, full, index);
  }

  static Uop stored(const Uop& y, const AxisList& extents, const TensorForm& form) {
    return cast(
        element_at(y, form.shape, reshaped_index(extents, form.shape, loop_index(form.rank()))),
        form.dtype);
  }

  const Command& command_;
  const mote_op_definition& op_;
  std::span<const InlinedTensor> inputs_;
  std::span<const TensorForm* const> outputs_;
  std::shared_ptr<const Program> program_;
  CanonicalCall canonical_;
};

}  // namespace

std::vector<Uop> call_values(const Command& command, std::span<const InlinedTensor> inputs,
                             std::span<const TensorForm* const> outputs, std::string_view form) {
  return InlinedCall(command, inputs, outputs, form).run();
}

}  // namespace mote
