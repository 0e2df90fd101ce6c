// SPDX-License-Identifier: Apache-2.0
// The call of a kernel: tensors fitted to its ranks, the description that the C ABI takes, and one
// run for each index of the batch. The caller chooses the memory for it: the stack for a call that
// is made once, the heap for one that is prepared.
#pragma once

#include <array>
#include <span>

#include "command/check_call.h"
#include "command/fit.h"
#include "mote/base/kernel.h"

namespace mote {

/// As many views, DLTensors and scratch strides as the call has operands; as many pointers as it
/// has inputs and outputs, including those left out.
struct CallRoom {
  std::span<const DLTensor*> inputs;
  std::span<DLTensor*> outputs;
  std::span<KernelView> views;
  std::span<AxisStrides> scratch;
  std::span<DLTensor> dl;
};

class KernelCall {
 public:
  /// Fits the tensors. `command` and the memory that `room` refers to must outlive this.
  KernelCall(const Command& command, const CallTensors& tensors, const CallRoom& room);
  KernelCall(const KernelCall&) = delete;
  KernelCall& operator=(const KernelCall&) = delete;

  mote_call& call() { return call_; }
  /// Returns the kernel's last message; a final 0 is always written.
  const char* message();
  void clear_message() { message_.front() = '\0'; }

  /// Calls the kernel within the guard of mote/base/kernel_call.h, as all calls do.
  mote_status can_run(const mote_kernel& kernel);
  mote_status workspace_bytes(const mote_kernel& kernel, std::size_t& bytes);
  /// Runs the kernel once for each index of the batch, until a run fails.
  mote_status run(const mote_kernel& kernel, void* stream) {
    clear_message();
    if (batch_.rank == 0) return invoke(kernel, stream);
    return run_batch(kernel, stream);
  }
  /// Moves CallOperand n to another address, with the same extents and strides.
  void move_operand(std::size_t n, const DLTensor& to) {
    room_.dl[n].data = to.data;
    room_.dl[n].byte_offset = to.byte_offset;
  }

 private:
  mote_status invoke(const mote_kernel& kernel, void* stream);
  mote_status run_batch(const mote_kernel& kernel, void* stream);
  void point(const mote_op_definition& op, const CallTensors& tensors);
  void advance(std::size_t axis, std::int64_t steps);

  CallRoom room_;
  Batch batch_;
  std::array<char, 512> message_{};
  mote_call call_;
};

}  // namespace mote
