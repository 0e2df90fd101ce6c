// SPDX-License-Identifier: Apache-2.0
// One call of a command: this checks all that needs no kernel, fits the tensors to the kernel's
// ranks, finds a kernel that takes them, and runs it once for each index of the batch.
#include "command/call_workspace.h"
#include "command/check_call.h"
#include "command/fit.h"
#include "command/kernel_call.h"
#include "command/kernel_choice.h"
#include "mote/runtime/command.h"
#include "tensor/small_array.h"

namespace mote {

void run(const Command& command, std::span<const Tensor* const> inputs,
         std::span<Tensor* const> outputs, const RunOptions& options) {
  const std::size_t count = inputs.size() + outputs.size();
  SmallArray<const DLTensor*, kFewOperands> given(count);
  list_tensors(inputs, outputs, given.get());
  SmallArray<CallOperand, kFewOperands> operands(count);
  SmallArray<int, kFewOperands> slots(count);
  const CallTensors tensors =
      check_call(command, given.get().first(inputs.size()), given.get().subspan(inputs.size()),
                 operands.get(), slots.get());
  const std::size_t there = tensors.operands.size();
  SmallArray<const DLTensor*, kFewOperands> input_room(inputs.size());
  SmallArray<DLTensor*, kFewOperands> output_room(outputs.size());
  SmallArray<KernelView, kFewOperands> views(there);
  SmallArray<AxisStrides, kFewOperands> scratch(there);
  SmallArray<DLTensor, kFewOperands> dl(there);
  const FittedCall fitted = fit_call(command, tensors, views.get(), scratch.get());
  KernelCall call(command, tensors, fitted,
                  {.inputs = input_room.get(), .outputs = output_room.get(), .dl = dl.get()});
  const ChosenKernel chosen = choose_kernel(command, tensors, call, options);
  CallWorkspace workspace(chosen.workspace_bytes, options, tensors.device);
  call.call().workspace = workspace.data();
  call.call().workspace_bytes = chosen.workspace_bytes;
  CallMessage message;
  call.listen(message);
  const mote_status status =
      workspace.outcome(call.run(call.run_of(*chosen.kernel), options.stream), call.call());
  if (status != MOTE_OK) fail_call(command, status, message.data());
}

void run(const Command& command, std::initializer_list<const Tensor*> inputs,
         std::initializer_list<Tensor*> outputs, const RunOptions& options) {
  run(command, std::span(inputs.begin(), inputs.size()), std::span(outputs.begin(), outputs.size()),
      options);
}

}  // namespace mote
