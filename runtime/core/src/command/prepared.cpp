// SPDX-License-Identifier: Apache-2.0
#include "mote/runtime/prepared.h"

#include <string>

#include "command/plan_state.h"
#include "mote/runtime/status.h"
#include "tensor/view.h"

namespace mote {
namespace {

[[noreturn, gnu::cold, gnu::noinline]] void fail_moved() {
  throw StatusError(MOTE_INVALID, "prepared command: it was moved to another one");
}

/// Copies the tensors that are present.
std::vector<Tensor> kept(std::span<const Tensor* const> inputs, std::span<Tensor* const> outputs) {
  std::vector<Tensor> tensors;
  tensors.reserve(inputs.size() + outputs.size());
  for (const Tensor* x : inputs)
    if (x != nullptr) tensors.push_back(*x);
  for (const Tensor* y : outputs)
    if (y != nullptr) tensors.push_back(*y);
  return tensors;
}

void refuse_number(const KernelPlan& plan, std::size_t inputs, std::size_t outputs) {
  if (inputs == static_cast<std::size_t>(plan.input_count()) &&
      outputs == static_cast<std::size_t>(plan.output_count()))
    return;
  fail_call(plan.command(), MOTE_INVALID,
            ("was prepared with " + std::to_string(plan.input_count()) + " inputs and " +
             std::to_string(plan.output_count()) + " outputs, got " + std::to_string(inputs) +
             " and " + std::to_string(outputs))
                .c_str());
}

/// Throws if a tensor is there that the plan leaves out.
template <typename T>
void refuse_new(const KernelPlan& plan, std::span<T* const> given, const char* what,
                const TensorForm* (KernelPlan::*form)(int) const) {
  for (std::size_t k = 0; k < given.size(); ++k)
    if (given[k] != nullptr && (plan.*form)(static_cast<int>(k)) == nullptr)
      fail_call(plan.command(), MOTE_INVALID,
                (what + std::to_string(k) + " was left out when it was prepared").c_str());
}

}  // namespace

PreparedCommand::PreparedCommand(const Command& command, std::span<const Tensor* const> inputs,
                                 std::span<Tensor* const> outputs, const RunOptions& options)
    : call_(KernelPlan::make(command, inputs, outputs, options)),
      tensors_(kept(inputs, outputs)),
      next_(tensors_.size()),
      stream_(options.stream),
      workspace_(options.workspace),
      is_plain_(stream_ == nullptr && workspace_.data() == nullptr) {
  for (std::size_t n = 0; n < tensors_.size(); ++n) next_[n] = &tensors_[n];
  point(next_);
}
PreparedCommand::PreparedCommand(const Command& command,
                                 std::initializer_list<const Tensor*> inputs,
                                 std::initializer_list<Tensor*> outputs, const RunOptions& options)
    : PreparedCommand(command, std::span(inputs.begin(), inputs.size()),
                      std::span(outputs.begin(), outputs.size()), options) {}
PreparedCommand::PreparedCommand(PreparedCommand&&) noexcept = default;
PreparedCommand& PreparedCommand::operator=(PreparedCommand&&) noexcept = default;
PreparedCommand::~PreparedCommand() = default;

/// Binds the operands to these tensors.
void PreparedCommand::point(std::span<const Tensor* const> to) {
  for (std::size_t n = 0; n < to.size(); ++n) call_.bind(static_cast<int>(n), to[n]->data());
}

/// Returns the new tensor for operand n; throws if it does not fit.
const Tensor& PreparedCommand::checked(std::size_t n, std::span<const Tensor* const> inputs,
                                       std::span<Tensor* const> outputs) const {
  const KernelPlan::State& plan = *call_.plan().state_;
  const CallOperand& o = plan.operands[n];
  const auto slot = static_cast<std::size_t>(plan.slots[n]);
  const Tensor* tensor = o.is_output ? outputs[slot] : inputs[slot];
  const auto refuse = [&](const std::string& what) {
    fail_call(plan.command, MOTE_INVALID, (o.meaning->name + what).c_str());
  };
  if (tensor == nullptr) refuse(" was there when it was prepared and is missing now");
  if (!equal_forms(tensor->dl(), *o.tensor))
    refuse(" must be as it was prepared: " + describe(tensors_[n]) + " with strides " +
           to_string(tensors_[n].strides()) + ", got " + describe(*tensor) + " with strides " +
           to_string(tensor->strides()));
  if (tensor->data() == nullptr && tensor->element_count() > 0) refuse(" has no data");
  return *tensor;
}

/// Checks that `next_` shares memory as planned.
void PreparedCommand::check_sharing() const {
  const KernelPlan::State& plan = *call_.plan().state_;
  for (std::size_t n = 0; n < next_.size(); ++n) {
    if (!plan.operands[n].is_output) continue;
    for (std::size_t m = 0; m < n; ++m) {
      const bool one =
          !plan.operands[m].is_output && call_.plan().is_in_place(plan.slots[m], plan.slots[n]);
      const bool as_before =
          one ? next_[m]->data() == next_[n]->data() : !overlap(*next_[m], *next_[n]);
      if (!as_before)
        fail_call(plan.command, MOTE_INVALID,
                  (std::string(plan.operands[m].meaning->name) + " and output " +
                   plan.operands[n].meaning->name + " share memory otherwise than prepared")
                      .c_str());
    }
  }
}

void PreparedCommand::rebind(std::span<const Tensor* const> inputs,
                             std::span<Tensor* const> outputs) {
  check_there();
  const KernelPlan& plan = call_.plan();
  refuse_number(plan, inputs.size(), outputs.size());
  refuse_new(plan, inputs, "input ", &KernelPlan::input);
  refuse_new(plan, outputs, "output ", &KernelPlan::output);
  for (std::size_t n = 0; n < next_.size(); ++n) next_[n] = &checked(n, inputs, outputs);
  check_sharing();
  point(next_);
  try {
    call_.check();
  } catch (...) {
    for (std::size_t n = 0; n < next_.size(); ++n) next_[n] = &tensors_[n];
    point(next_);
    throw;
  }
  for (std::size_t n = 0; n < next_.size(); ++n) tensors_[n] = *next_[n];
}
void PreparedCommand::rebind(std::initializer_list<const Tensor*> inputs,
                             std::initializer_list<Tensor*> outputs) {
  rebind(std::span(inputs.begin(), inputs.size()), std::span(outputs.begin(), outputs.size()));
}

void PreparedCommand::check_there() const {
  if (call_.shared_plan() == nullptr) [[unlikely]]
    fail_moved();
}

void PreparedCommand::run() {
  check_there();
  if (is_plain_) [[likely]]
    return call_.run();
  call_.run_in(stream_, workspace_);
}

void PreparedCommand::run_in(void* device_stream, std::span<std::byte> workspace) {
  check_there();
  call_.run_in(device_stream, workspace);
}

const std::shared_ptr<const KernelPlan>& PreparedCommand::plan() const {
  check_there();
  return call_.shared_plan();
}
const Command& PreparedCommand::command() const { return plan()->command(); }
const mote_kernel& PreparedCommand::kernel() const { return plan()->kernel(); }
std::size_t PreparedCommand::workspace_bytes() const { return plan()->workspace_bytes(); }
std::optional<Device> PreparedCommand::device() const { return plan()->device(); }

}  // namespace mote
