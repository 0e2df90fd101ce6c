// SPDX-License-Identifier: Apache-2.0
// Merges the axes of a call's tensors into canonical ones by extents alone, as fit() does it with
// strides.
#include "mote/runtime/canonical.h"

#include <algorithm>

#include "command/fit.h"
#include "mote/runtime/tensor.h"
#include "tensor/runs.h"

namespace mote {
namespace {

class CanonicalCallMaker {
 public:
  CanonicalCallMaker(const Command& command, std::span<const TensorForm* const> inputs,
                     std::span<const TensorForm* const> outputs)
      : command_(command), op_(command.definition()) {
    tensors_.reserve(inputs.size() + outputs.size());
    for (std::size_t k = 0; k < inputs.size(); ++k) add(op_.inputs[k], inputs[k], false);
    for (std::size_t k = 0; k < outputs.size(); ++k) add(op_.outputs[k], outputs[k], true);
  }

  CanonicalCall run(std::span<const TensorForm* const> inputs,
                    std::span<const TensorForm* const> outputs) {
    const bool pointwise = command_.is_pointwise() && !command_.axis();
    if (!pointwise) {
      runs_.resize(operands_.size());
      find_runs(op_, command_.axis(), operands_, runs_);
    }
    CanonicalCall call;
    std::size_t next = 0;
    const auto take = [&](const TensorForm* form) {
      if (form == nullptr) return CanonicalForm{};
      const std::size_t n = next++;
      return pointwise ? of_pointwise(operands_[n]) : of_runs(n);
    };
    for (const TensorForm* form : inputs) call.inputs.push_back(take(form));
    for (const TensorForm* form : outputs) call.outputs.push_back(take(form));
    return call;
  }

 private:
  void add(const mote_op_tensor& meaning, const TensorForm* form, bool is_output) {
    if (form == nullptr) return;
    tensors_.push_back(Tensor::over(nullptr, form->dtype, form->shape));
    operands_.push_back({&meaning, &tensors_.back().dl(), is_output});
  }

  /// Appends the axes of a group, to which the tensor's axes [begin, begin + run) are aligned at
  /// the end.
  void append(CanonicalForm& form, const CallOperand& o, std::span<const std::int64_t> group,
              int begin, int run, bool repeats) const {
    const int missing = static_cast<int>(group.size()) - run;
    std::int64_t product = 1;
    for (int a = 0; a < static_cast<int>(group.size()); ++a) {
      const std::int64_t wanted = group[at(a)];
      const int own = a < missing ? kRepeated : begin + a - missing;
      const std::int64_t extent = own == kRepeated ? 1 : o.extent(own);
      if (extent != wanted && !(repeats && extent == 1))
        refuse(op_, "axes of " + text_of(o) + " do not fit " + to_string(AxisList(group)));
      form.whole.push_back(wanted);
      form.axes.push_back(own);
      product *= wanted;
    }
    form.merged.push_back(product);
  }

  /// All axes take the extents of the last output; the first canonical axis gets those that are too
  /// many.
  CanonicalForm of_pointwise(const CallOperand& o) const {
    const CallOperand& y = operands_.back();
    const int rank = op_.outputs[0].rank;
    const bool repeats = o.meaning->broadcast != 0;
    if (o.rank() > y.rank() || (o.rank() < y.rank() && !repeats))
      refuse(op_, text_of(o) + " has " + std::to_string(o.rank()) + " axes, expected " +
                      std::to_string(y.rank()));
    const std::vector<std::int64_t> shape(y.tensor->shape, y.tensor->shape + y.rank());
    const int missing = y.rank() - o.rank();
    CanonicalForm form;
    int next = 0;
    for (int k = 0; k < rank; ++k) {
      const int left = y.rank() - next;
      const int count = std::max(0, left - (rank - 1 - k));
      const int absent = std::clamp(missing - next, 0, count);
      append(form, o, std::span(shape).subspan(at(next), at(count)), next + absent - missing,
             count - absent, repeats);
      next += count;
    }
    return form;
  }

  /// Returns the extents of the longest run of that size; among equals an output's are preferred.
  std::vector<std::int64_t> joint_run(const char* size) const {
    std::vector<std::int64_t> extents;
    for (std::size_t n = operands_.size(); n-- > 0;) {
      const int k = find_axis(*operands_[n].meaning, size);
      if (k == kUnused || at(runs_[n].count[at(k)]) <= extents.size()) continue;
      extents.clear();
      const int begin = begin_of(runs_[n], k);
      for (int a = 0; a < runs_[n].count[at(k)]; ++a)
        extents.push_back(operands_[n].extent(begin + a));
    }
    return extents;
  }

  CanonicalForm of_runs(std::size_t n) const {
    const CallOperand& o = operands_[n];
    CanonicalForm form;
    for (int k = 0; k < o.meaning->rank; ++k) {
      const char* size = o.meaning->axes[k];
      const int run = runs_[n].count[at(k)];
      const int begin = begin_of(runs_[n], k);
      std::vector<std::int64_t> group;
      if (find_axis(*o.meaning, size) == k) group = joint_run(size);
      if (group.size() <= 1) {  // the axis is the tensor's own, whether it repeats or not
        group.clear();
        for (int a = 0; a < run; ++a) group.push_back(o.extent(begin + a));
      }
      append(form, o, group, begin, run, flag(o.meaning->broadcast, k));
    }
    return form;
  }

  const Command& command_;
  const mote_op_definition& op_;
  std::vector<Tensor> tensors_;
  std::vector<CallOperand> operands_;
  std::vector<Runs> runs_;
};

}  // namespace

CanonicalCall canonical_forms(const Command& command, std::span<const TensorForm* const> inputs,
                              std::span<const TensorForm* const> outputs) {
  return CanonicalCallMaker(command, inputs, outputs).run(inputs, outputs);
}

}  // namespace mote
