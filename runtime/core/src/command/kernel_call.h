// SPDX-License-Identifier: Apache-2.0
// The call of a kernel: tensors fitted to its ranks, what the C ABI says about them, and one run of
// it for each round of the batch. Where all that is kept is the caller's: the stack for a call that
// is made once, the heap for one that is prepared.
#pragma once

#include <array>
#include <span>

#include "command/check_call.h"
#include "command/fit.h"
#include "mote/base/kernel.h"

namespace mote {

/// As many views, DLTensors and scratch strides as the call has operands; as many pointers as it
/// has inputs and outputs, those left out among them.
struct CallRoom {
  std::span<const DLTensor*> inputs;
  std::span<DLTensor*> outputs;
  std::span<KernelView> views;
  std::span<AxisStrides> scratch;
  std::span<DLTensor> dl;
};

class KernelCall {
 public:
  /// Fits the tensors. `command` and what `room` refers to live as long as this.
  KernelCall(const Command& command, const CallTensors& tensors, const CallRoom& room);
  KernelCall(const KernelCall&) = delete;
  KernelCall& operator=(const KernelCall&) = delete;

  mote_call& call() { return call_; }
  /// What the kernel wrote last, ended by a 0 whatever it wrote.
  const char* message();
  void clear_message() { message_.front() = '\0'; }

  /// Behind the guard of mote/base/kernel_call.h, as all calls are.
  mote_status can_run(const mote_kernel& kernel);
  mote_status workspace_bytes(const mote_kernel& kernel, std::size_t& bytes);
  /// Once for each index of the batch, until it fails.
  mote_status run(const mote_kernel& kernel, void* stream) {
    clear_message();
    if (batch_.rank == 0) return invoke(kernel, stream);
    return run_batch(kernel, stream);
  }
  /// CallOperand n is elsewhere from now on, with the same extents and strides.
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
