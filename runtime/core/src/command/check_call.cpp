// SPDX-License-Identifier: Apache-2.0
// Checks of the counts, dtypes and memory of a call.
#include "command/check_call.h"

#include <algorithm>
#include <cstring>

#include "mote/base/dlpack.h"
#include "mote/runtime/status.h"
#include "tensor/view.h"

namespace mote {
namespace {

[[noreturn]] void fail(const Command& command, const std::string& what) {
  throw StatusError(MOTE_INVALID, std::string(command.definition().name) + ": " + what);
}

void check_input_count(const Command& command, std::size_t inputs) {
  const mote_op_definition& d = command.definition();
  if (inputs > static_cast<std::size_t>(d.input_count))
    fail(command, "takes at most " + std::to_string(d.input_count) + " inputs, got " +
                      std::to_string(inputs));
}

void check_output_count(const Command& command, std::size_t outputs) {
  const mote_op_definition& d = command.definition();
  if (outputs != static_cast<std::size_t>(d.output_count))
    fail(command,
         "has " + std::to_string(d.output_count) + " outputs, got " + std::to_string(outputs));
}

/// Appends the tensors that are present.
void collect(const Command& command, CallTensors& call, TensorList inputs,
             std::optional<TensorList> outputs, std::span<CallOperand> operands,
             std::span<int> slots) {
  const mote_op_definition& d = command.definition();
  std::size_t count = 0;
  const auto add = [&](const mote_op_tensor& meaning, const DLTensor* tensor, bool is_output,
                       int k) {
    operands[count] = {&meaning, tensor, is_output};
    slots[count++] = k;
  };
  for (int k = 0; k < d.input_count; ++k) {
    const auto at = static_cast<std::size_t>(k);
    const DLTensor* tensor = at < inputs.size() ? inputs[at] : nullptr;
    if (tensor == nullptr && d.inputs[k].optional == 0)
      fail(command, std::string("input ") + d.inputs[k].name + " is missing");
    if (tensor == nullptr) continue;
    call.input_mask |= mask_bit(at);
    add(d.inputs[k], tensor, false, k);
  }
  call.output_mask = outputs_there(command, call.input_mask);
  for (int k = 0; k < d.output_count && outputs; ++k) {
    const DLTensor* tensor = (*outputs)[static_cast<std::size_t>(k)];
    const bool exists = has(call.output_mask, k);
    if (tensor != nullptr && !exists)
      fail(command, std::string("output ") + d.outputs[k].name + " is not there with these inputs");
    if (tensor == nullptr && exists && d.outputs[k].optional == 0)
      fail(command, std::string("output ") + d.outputs[k].name + " is missing");
    if (tensor != nullptr) add(d.outputs[k], tensor, true, k);
  }
  if (outputs && d.output_count > 0 && (count == 0 || !operands[count - 1].is_output))
    fail(command, "no output is asked for");
  call.operands = operands.first(count);
  call.slots = slots.first(count);
}

/// Checks dtypes; T is the dtype of the first tensor that has it.
void check_dtypes(const Command& command, CallTensors& call) {
  const CallOperand* first = nullptr;
  for (const CallOperand& o : call.operands) {
    if (std::strcmp(o.meaning->dtype, "T") != 0) {
      if (name(dtype_of(*o.tensor)) != o.meaning->dtype)
        fail(command, std::string(o.meaning->name) + " must be " + o.meaning->dtype + ", got " +
                          describe(*o.tensor) + describe_call(command, call));
      continue;
    }
    if (first == nullptr) first = &o;
    if (dtype_of(*o.tensor) != dtype_of(*first->tensor))
      fail(command, "dtypes of " + std::string(first->meaning->name) + " and " + o.meaning->name +
                        " differ" + describe_call(command, call));
  }
  if (first != nullptr) call.instance = dtype_of(*first->tensor);
}

bool is_pair(const mote_op_definition& d, int input, int output) {
  for (int k = 0; k < d.pair_count; ++k)
    if (d.in_place[k].input == input && d.in_place[k].output == output) return true;
  return false;
}

bool same_view(const DLTensor& x, const DLTensor& y) {
  return address_of(x) == address_of(y) && equal_forms(x, y);
}

void check_memory(const Command& command, CallTensors& call) {
  for (std::size_t n = 0; n < call.operands.size(); ++n) {
    const CallOperand& y = call.operands[n];
    if (y.tensor->data == nullptr && element_count(*y.tensor) > 0)
      fail(command, std::string(y.meaning->name) + " has no data" + describe_call(command, call));
    if (!y.is_output) continue;
    if (!is_distinct(*y.tensor))
      fail(command, "elements of output " + std::string(y.meaning->name) +
                        " share memory: strides " + to_string(strides_list(*y.tensor)) +
                        describe_call(command, call));
    for (std::size_t m = 0; m < n; ++m) {
      const CallOperand& x = call.operands[m];
      if (!overlap(*x.tensor, *y.tensor)) continue;
      const bool pair = !x.is_output && same_view(*x.tensor, *y.tensor) &&
                        is_pair(command.definition(), call.slots[m], call.slots[n]);
      if (!pair)
        fail(command, std::string(x.meaning->name) + " and output " + y.meaning->name +
                          " overlap in memory, which only the same view in an in-place pair may" +
                          describe_call(command, call));
      call.in_place = true;
    }
  }
}

bool same_device(DLDevice a, DLDevice b) {
  return a.device_type == b.device_type && a.device_id == b.device_id;
}

/// Finds the device of all tensors. If they are on several, the kernels decline.
void find_device(CallTensors& call) {
  const auto device = [](const CallOperand& o) { return o.tensor->device; };
  const auto is_host = [&](const CallOperand& o) { return device(o).device_type == kDLCPU; };
  call.on_host = call.operands.empty() || std::ranges::any_of(call.operands, is_host);
  if (call.on_host) return;
  const DLDevice first = device(call.operands.front());
  const auto is_there = [&](const CallOperand& o) { return same_device(device(o), first); };
  if (std::ranges::all_of(call.operands, is_there)) call.device = Device::of(first);
}

}  // namespace

TensorMask outputs_there(const Command& command, TensorMask input_mask) {
  for (const GeneratedKernel& k : command.generated())
    if (k.input_mask == input_mask) return k.output_mask;
  return ~TensorMask{0};
}

CallTensors check_call(const Command& command, TensorList inputs, TensorList outputs,
                       std::span<CallOperand> operands, std::span<int> slots) {
  CallTensors call{
      .input_count = inputs.size(), .output_count = outputs.size(), .operands = {}, .slots = {}};
  check_input_count(command, inputs.size());
  check_output_count(command, outputs.size());
  collect(command, call, inputs, outputs, operands, slots);
  check_dtypes(command, call);
  check_memory(command, call);
  find_device(call);
  return call;
}

CallTensors check_inputs(const Command& command, TensorList inputs, std::span<CallOperand> operands,
                         std::span<int> slots) {
  CallTensors call{.input_count = inputs.size(), .output_count = 0, .operands = {}, .slots = {}};
  check_input_count(command, inputs.size());
  collect(command, call, inputs, std::nullopt, operands, slots);
  check_dtypes(command, call);
  return call;
}

void list_tensors(std::span<const Tensor* const> inputs, std::span<Tensor* const> outputs,
                  std::span<const DLTensor*> room) {
  const auto dl = [](const Tensor* x) { return x != nullptr ? &x->dl() : nullptr; };
  std::ranges::transform(inputs, room.begin(), dl);
  std::ranges::transform(outputs, room.subspan(inputs.size()).begin(), dl);
}

std::string describe_call(const Command& command, const CallTensors& tensors) {
  std::string text;
  for (const CallOperand& o : tensors.operands)
    text += (text.empty() ? " (" : ", ") + std::string(o.meaning->name) + " " + describe(*o.tensor);
  return text.empty() ? " (" + to_string(command) + ")" : text + ")";
}

}  // namespace mote
