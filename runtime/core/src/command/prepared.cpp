// SPDX-License-Identifier: Apache-2.0
// A prepared command: it keeps on the heap the state that run() keeps on the stack.
#include "mote/runtime/prepared.h"

#include <cstdint>
#include <string>
#include <vector>

#include "command/call_workspace.h"
#include "command/check_call.h"
#include "command/kernel_call.h"
#include "command/kernel_choice.h"
#include "mote/runtime/status.h"
#include "tensor/view.h"

namespace mote {
namespace {

/// Copies the tensors that are present and returns pointers to the copies.
template <typename T>
std::vector<T*> kept(std::span<T* const> given, std::vector<Tensor>& copies) {
  std::vector<T*> pointers;
  for (T* tensor : given) {
    if (tensor != nullptr) copies.push_back(*tensor);
    pointers.push_back(tensor != nullptr ? &copies.back() : nullptr);
  }
  return pointers;
}

bool same_form(const Tensor& a, const Tensor& b) {
  const DLTensor& x = a.dl();
  const DLTensor& y = b.dl();
  if (x.ndim != y.ndim || a.dtype() != b.dtype() || x.device.device_type != y.device.device_type ||
      x.device.device_id != y.device.device_id)
    return false;
  for (int axis = 0; axis < x.ndim; ++axis)
    if (x.shape[axis] != y.shape[axis] || x.strides[axis] != y.strides[axis]) return false;
  return true;
}

std::uintptr_t address(const Tensor& x) { return reinterpret_cast<std::uintptr_t>(x.data()); }

}  // namespace

struct PreparedCommand::State {
  State(Command c, std::span<const Tensor* const> given_inputs,
        std::span<Tensor* const> given_outputs, const RunOptions& o);

  void run();
  void run_with(const RunOptions& with);
  void rebind(std::span<const Tensor* const> given_inputs, std::span<Tensor* const> given_outputs);
  [[noreturn]] void fail(const std::string& what, mote_status status = MOTE_INVALID) const {
    fail_call(command, status, what.c_str());
  }
  const Tensor& checked(std::size_t n, std::span<const Tensor* const> given_inputs,
                        std::span<Tensor* const> given_outputs) const;
  void check_sharing() const;

  Command command;
  RunOptions options;
  std::vector<Tensor> tensors;      ///< the tensors that are present, in the order of operands
  std::vector<const Tensor*> next;  ///< the tensors that rebind checks
  std::vector<const Tensor*> inputs;
  std::vector<Tensor*> outputs;
  std::vector<CallOperand> operands;
  std::vector<int> slots;
  CallTensors checked_call;
  std::vector<const DLTensor*> input_room;
  std::vector<DLTensor*> output_room;
  std::vector<KernelView> views;
  std::vector<AxisStrides> scratch;
  std::vector<DLTensor> dl;
  KernelCall call;
  ChosenKernel chosen;
  bool is_plain;  ///< no workspace, no device to wait for: a run is only the kernel
};

namespace {

std::vector<Tensor> with_room(std::size_t count) {
  std::vector<Tensor> tensors;
  tensors.reserve(count);
  return tensors;
}

}  // namespace

PreparedCommand::State::State(Command c, std::span<const Tensor* const> given_inputs,
                              std::span<Tensor* const> given_outputs, const RunOptions& o)
    : command(std::move(c)),
      options(o),
      tensors(with_room(given_inputs.size() + given_outputs.size())),
      inputs(kept(given_inputs, tensors)),
      outputs(kept(given_outputs, tensors)),
      operands(given_inputs.size() + given_outputs.size()),
      slots(operands.size()),
      checked_call(check_call(command, inputs, outputs, operands, slots)),
      input_room(inputs.size()),
      output_room(outputs.size()),
      views(checked_call.operands.size()),
      scratch(views.size()),
      dl(views.size()),
      call(command, checked_call,
           {.inputs = input_room,
            .outputs = output_room,
            .views = views,
            .scratch = scratch,
            .dl = dl}),
      chosen(choose_kernel(command, checked_call, call, options)),
      is_plain(chosen.workspace_bytes == 0 && !checked_call.device) {
  options.backends = {};  // the caller may keep the span only during the call
  next.resize(tensors.size());
}

void PreparedCommand::State::run() {
  if (is_plain) [[likely]] {
    const mote_status status = call.run(*chosen.kernel, options.stream);
    if (status != MOTE_OK) [[unlikely]]
      fail(call.message(), status);
    return;
  }
  run_with(options);
}

void PreparedCommand::State::run_with(const RunOptions& with) {
  CallWorkspace workspace(chosen.workspace_bytes, with, checked_call.device);
  call.call().workspace = workspace.data();
  call.call().workspace_bytes = chosen.workspace_bytes;
  const mote_status status = workspace.outcome(call.run(*chosen.kernel, with.stream), call.call());
  call.call().workspace = nullptr;
  if (status != MOTE_OK) fail(call.message(), status);
}

/// Returns the new tensor for operand n; throws if it does not fit.
const Tensor& PreparedCommand::State::checked(std::size_t n,
                                              std::span<const Tensor* const> given_inputs,
                                              std::span<Tensor* const> given_outputs) const {
  const CallOperand& o = checked_call.operands[n];
  const auto slot = static_cast<std::size_t>(checked_call.slots[n]);
  const Tensor* tensor = o.is_output ? given_outputs[slot] : given_inputs[slot];
  const auto refuse = [&](const std::string& what) { fail(std::string(o.meaning->name) + what); };
  if (tensor == nullptr) refuse(" was there when it was prepared and is missing now");
  if (!same_form(*tensor, tensors[n]))
    refuse(" must be as it was prepared: " + describe(tensors[n]) + " with strides " +
           to_string(tensors[n].strides()) + ", got " + describe(*tensor) + " with strides " +
           to_string(tensor->strides()));
  if (tensor->data() == nullptr && tensor->element_count() > 0) refuse(" has no data");
  return *tensor;
}

/// Checks that `next` shares memory as `tensors` does.
void PreparedCommand::State::check_sharing() const {
  for (std::size_t n = 0; n < next.size(); ++n) {
    if (!checked_call.operands[n].is_output) continue;
    for (std::size_t m = 0; m < n; ++m) {
      const bool one = address(tensors[m]) == address(tensors[n]);
      const bool as_before =
          one ? address(*next[m]) == address(*next[n]) : !overlap(*next[m], *next[n]);
      if (!as_before)
        fail(std::string(checked_call.operands[m].meaning->name) + " and output " +
             checked_call.operands[n].meaning->name + " share memory otherwise than prepared");
    }
  }
}

void PreparedCommand::State::rebind(std::span<const Tensor* const> given_inputs,
                                    std::span<Tensor* const> given_outputs) {
  if (given_inputs.size() != inputs.size() || given_outputs.size() != outputs.size())
    fail("was prepared with " + std::to_string(inputs.size()) + " inputs and " +
         std::to_string(outputs.size()) + " outputs, got " + std::to_string(given_inputs.size()) +
         " and " + std::to_string(given_outputs.size()));
  for (std::size_t k = 0; k < inputs.size(); ++k)
    if (inputs[k] == nullptr && given_inputs[k] != nullptr)
      fail("input " + std::to_string(k) + " was left out when it was prepared");
  for (std::size_t k = 0; k < outputs.size(); ++k)
    if (outputs[k] == nullptr && given_outputs[k] != nullptr)
      fail("output " + std::to_string(k) + " was left out when it was prepared");
  bool aligned_alike = true;
  for (std::size_t n = 0; n < next.size(); ++n) {
    next[n] = &checked(n, given_inputs, given_outputs);
    aligned_alike &= (address(*next[n]) - address(tensors[n])) % kAlignment == 0;
  }
  check_sharing();
  for (std::size_t n = 0; n < next.size(); ++n) call.move_operand(n, next[n]->dl());
  if (!aligned_alike && call.can_run(*chosen.kernel) != MOTE_OK) {
    for (std::size_t n = 0; n < next.size(); ++n) call.move_operand(n, tensors[n].dl());
    fail(std::string("the kernel declines these tensors: ") + call.message(), MOTE_UNSUPPORTED);
  }
  for (std::size_t n = 0; n < next.size(); ++n) tensors[n] = *next[n];
}

PreparedCommand::PreparedCommand(const Command& command, std::span<const Tensor* const> inputs,
                                 std::span<Tensor* const> outputs, const RunOptions& options)
    : state_(std::make_unique<State>(command, inputs, outputs, options)) {}
PreparedCommand::PreparedCommand(const Command& command,
                                 std::initializer_list<const Tensor*> inputs,
                                 std::initializer_list<Tensor*> outputs, const RunOptions& options)
    : PreparedCommand(command, std::span(inputs.begin(), inputs.size()),
                      std::span(outputs.begin(), outputs.size()), options) {}
PreparedCommand::PreparedCommand(PreparedCommand&&) noexcept = default;
PreparedCommand& PreparedCommand::operator=(PreparedCommand&&) noexcept = default;
PreparedCommand::~PreparedCommand() = default;

namespace {

[[noreturn, gnu::cold, gnu::noinline]] void fail_moved() {
  throw StatusError(MOTE_INVALID, "prepared command: it was moved to another one");
}

}  // namespace

inline PreparedCommand::State& PreparedCommand::state() const {
  if (state_ == nullptr) [[unlikely]]
    fail_moved();
  return *state_;
}

void PreparedCommand::run() { state().run(); }

void PreparedCommand::run_in(void* device_stream, std::span<std::byte> workspace) {
  RunOptions with = state().options;
  with.stream = device_stream;
  with.workspace = workspace;
  state().run_with(with);
}

std::optional<Device> PreparedCommand::device() const { return state().checked_call.device; }

void PreparedCommand::rebind(std::span<const Tensor* const> inputs,
                             std::span<Tensor* const> outputs) {
  state().rebind(inputs, outputs);
}
void PreparedCommand::rebind(std::initializer_list<const Tensor*> inputs,
                             std::initializer_list<Tensor*> outputs) {
  rebind(std::span(inputs.begin(), inputs.size()), std::span(outputs.begin(), outputs.size()));
}

const Command& PreparedCommand::command() const { return state().command; }
const mote_kernel& PreparedCommand::kernel() const { return *state().chosen.kernel; }
std::size_t PreparedCommand::workspace_bytes() const { return state().chosen.workspace_bytes; }

}  // namespace mote
