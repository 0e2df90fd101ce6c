// SPDX-License-Identifier: Apache-2.0
#include "command/kernel_call.h"

#include <algorithm>
#include <cstdint>

#include "mote/base/kernel_call.h"

namespace mote {
KernelCall::KernelCall(const Command& command, const CallTensors& tensors, const CallRoom& room)
    : room_(room),
      batch_(fit(command.definition(), command.is_pointwise(), command.axis(), tensors.operands,
                 room.views, room.scratch)),
      call_{.size = sizeof(mote_call),
            .op = command.definition().name,
            .input_count = static_cast<std::int32_t>(room.inputs.size()),
            .output_count = static_cast<std::int32_t>(room.outputs.size()),
            .param_count = static_cast<std::int32_t>(command.params().size()),
            .reserved = 0,
            .inputs = room.inputs.data(),
            .outputs = room.outputs.data(),
            .params = command.params().data(),
            .workspace = nullptr,
            .workspace_bytes = 0,
            .message = message_.data(),
            .message_bytes = message_.size()} {
  point(command.definition(), tensors);
}

void KernelCall::point(const mote_op_definition& op, const CallTensors& tensors) {
  std::ranges::fill(room_.inputs, nullptr);
  std::ranges::fill(room_.outputs, nullptr);
  // A kernel's outputs are the op's outputs that exist with these inputs; this counts those before
  // `output`.
  std::int32_t seen = 0;
  call_.output_count = 0;
  const auto go_to = [&](std::int32_t output) {
    for (; seen < output; ++seen)
      if (has(tensors.output_mask, seen)) ++call_.output_count;
  };
  for (std::size_t n = 0; n < tensors.operands.size(); ++n) {
    const CallOperand& o = tensors.operands[n];
    KernelView& view = room_.views[n];
    DLTensor& dl = room_.dl[n];
    dl = o.tensor->dl();
    dl.ndim = view.rank;
    dl.shape = view.extents.data();
    dl.strides = view.strides.data();
    if (o.is_output) {
      go_to(tensors.slots[n]);
      room_.outputs[static_cast<std::size_t>(call_.output_count)] = &dl;
    } else {
      room_.inputs[static_cast<std::size_t>(tensors.slots[n])] = &dl;
    }
  }
  go_to(op.output_count);
}

const char* KernelCall::message() {
  message_.back() = '\0';
  return message_.data();
}

mote_status KernelCall::can_run(const mote_kernel& kernel) {
  clear_message();
  return ask_kernel(kernel, call_);
}

mote_status KernelCall::workspace_bytes(const mote_kernel& kernel, std::size_t& bytes) {
  clear_message();
  return workspace_of(kernel, call_, bytes);
}

mote_status KernelCall::invoke(const mote_kernel& kernel, void* stream) {
  return run_kernel(kernel, call_, stream);
}

void KernelCall::advance(std::size_t axis, std::int64_t steps) {
  for (std::size_t n = 0; n < room_.dl.size(); ++n) {
    DLTensor& dl = room_.dl[n];
    const std::int64_t elements = room_.views[n].batch_strides[axis] * steps;
    dl.byte_offset += static_cast<std::uint64_t>(elements) * (dl.dtype.bits / 8U);
  }
}

mote_status KernelCall::run_batch(const mote_kernel& kernel, void* stream) {
  std::array<std::int64_t, kMaxAxes> index{};
  const auto rank = static_cast<std::size_t>(batch_.rank);
  for (std::size_t axis = 0; axis < rank; ++axis)
    if (batch_.extents[axis] == 0) return MOTE_OK;
  while (true) {
    const mote_status status = invoke(kernel, stream);
    if (status != MOTE_OK) {
      for (std::size_t axis = 0; axis < rank; ++axis) advance(axis, -index[axis]);
      return status;
    }
    std::size_t axis = rank;
    while (axis-- > 0) {
      if (++index[axis] < batch_.extents[axis]) {
        advance(axis, 1);
        break;
      }
      advance(axis, 1 - index[axis]);
      index[axis] = 0;
      if (axis == 0) return MOTE_OK;
    }
  }
}

}  // namespace mote
