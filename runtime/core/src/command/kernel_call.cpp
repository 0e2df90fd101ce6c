// SPDX-License-Identifier: Apache-2.0
#include "command/kernel_call.h"

#include <algorithm>
#include <cstdint>

#include "mote/runtime/allocator.h"

namespace mote {

FittedCall fit_call(const Command& command, const CallTensors& tensors, std::span<KernelView> views,
                    std::span<AxisStrides> scratch) {
  return {.views = views,
          .batch = fit(command.definition(), command.is_pointwise(), command.axis(),
                       tensors.operands, views, scratch)};
}

KernelCall::KernelCall(const Command& command, const CallTensors& tensors, const FittedCall& fitted,
                       const CallRoom& room)
    : dl_(room.dl),
      fitted_(&fitted),
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
            .message = nullptr,
            .message_bytes = 0} {
  point(command.definition(), tensors, room);
}

void KernelCall::point(const mote_op_definition& op, const CallTensors& tensors,
                       const CallRoom& room) {
  std::ranges::fill(room.inputs, nullptr);
  std::ranges::fill(room.outputs, nullptr);
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
    const KernelView& view = fitted_->views[n];
    DLTensor& dl = dl_[n];
    dl = *o.tensor;
    dl.ndim = view.rank;
    // DLPack's pointers are not const; a kernel reads them only.
    dl.shape = const_cast<std::int64_t*>(view.extents.data());
    dl.strides = const_cast<std::int64_t*>(view.strides.data());
    if (o.is_output) {
      go_to(tensors.slots[n]);
      room.outputs[static_cast<std::size_t>(call_.output_count)] = &dl;
    } else {
      room.inputs[static_cast<std::size_t>(tensors.slots[n])] = &dl;
    }
  }
  go_to(op.output_count);
}

mote_status KernelCall::can_run(const mote_kernel& kernel) {
  *call_.message = '\0';
  return ask_kernel(kernel, call_);
}

mote_status KernelCall::workspace_bytes(const mote_kernel& kernel, std::size_t& bytes) {
  *call_.message = '\0';
  return workspace_of(kernel, call_, bytes);
}

KernelRun KernelCall::run_of(const mote_kernel& kernel) const {
  const auto rank = static_cast<std::size_t>(fitted_->batch.rank);
  for (std::size_t n = 0; n < dl_.size(); ++n)
    for (std::size_t axis = 0; axis < rank; ++axis) {
      const auto elements = static_cast<std::uint64_t>(fitted_->views[n].batch_strides[axis]);
      if (elements * (dl_[n].dtype.bits / 8U) % kAlignment != 0) return kernel.run;
    }
  return checked_run_of(kernel);
}

void KernelCall::advance(std::size_t axis, std::int64_t steps) {
  for (std::size_t n = 0; n < dl_.size(); ++n) {
    DLTensor& dl = dl_[n];
    const std::int64_t elements = fitted_->views[n].batch_strides[axis] * steps;
    dl.byte_offset += static_cast<std::uint64_t>(elements) * (dl.dtype.bits / 8U);
  }
}

mote_status KernelCall::run_batch(KernelRun run, void* stream) {
  const Batch& batch = fitted_->batch;
  std::array<std::int64_t, kMaxAxes> index{};
  const auto rank = static_cast<std::size_t>(batch.rank);
  for (std::size_t axis = 0; axis < rank; ++axis)
    if (batch.extents[axis] == 0) return MOTE_OK;
  while (true) {
    const mote_status status = run_kernel(run, call_, stream);
    if (status != MOTE_OK) {
      for (std::size_t axis = 0; axis < rank; ++axis) advance(axis, -index[axis]);
      return status;
    }
    std::size_t axis = rank;
    while (axis-- > 0) {
      if (++index[axis] < batch.extents[axis]) {
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
