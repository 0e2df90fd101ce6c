// SPDX-License-Identifier: Apache-2.0
// The call of a kernel: tensors fitted to its ranks, the description that the C ABI takes, and one
// run for each index of the batch. The caller chooses the memory for it: the stack for a call that
// is made once, the heap for one that is bound.
#pragma once

#include <array>
#include <span>

#include "command/check_call.h"
#include "command/fit.h"
#include "mote/base/kernel.h"
#include "mote/base/kernel_call.h"

namespace mote {

/// The text that a kernel writes. It is terminated after each call.
using CallMessage = std::array<char, 512>;

/// A call as fit() makes it.
struct FittedCall {
  std::span<const KernelView> views;  ///< one for each operand
  Batch batch;
};
/// Fits the call's tensors; `views` and `scratch` have the length of its operands.
FittedCall fit_call(const Command& command, const CallTensors& tensors, std::span<KernelView> views,
                    std::span<AxisStrides> scratch);

/// The room of one call: a DLTensor for each operand, and a pointer for each input and output,
/// including those left out.
struct CallRoom {
  std::span<const DLTensor*> inputs;
  std::span<DLTensor*> outputs;
  std::span<DLTensor> dl;
};

class KernelCall {
 public:
  /// `command`, `fitted` and the memory that `room` refers to must outlive this.
  KernelCall(const Command& command, const CallTensors& tensors, const FittedCall& fitted,
             const CallRoom& room);
  KernelCall(const KernelCall&) = delete;
  KernelCall& operator=(const KernelCall&) = delete;

  mote_call& call() { return call_; }
  /// Gives the kernel a place for its messages, which later calls use.
  void listen(CallMessage& message) {
    call_.message = message.data();
    call_.message_bytes = message.size();
  }

  /// Calls the kernel within the guard of mote/base/kernel_call.h, as all calls do.
  mote_status can_run(const mote_kernel& kernel);
  mote_status workspace_bytes(const mote_kernel& kernel, std::size_t& bytes);
  /// Runs the kernel once for each index of the batch, until a run fails.
  mote_status run(KernelRun run, void* stream) {
    *call_.message = '\0';
    if (fitted_->batch.rank == 0) return run_kernel(run, call_, stream);
    return run_batch(run, stream);
  }
  /// Returns the function that runs the kernel, which has accepted this call: one without checks if
  /// the addresses of all indices of the batch are aligned alike.
  KernelRun run_of(const mote_kernel& kernel) const;

  std::span<DLTensor> tensors() { return dl_; }

 private:
  mote_status run_batch(KernelRun run, void* stream);
  void point(const mote_op_definition& op, const CallTensors& tensors, const CallRoom& room);
  void advance(std::size_t axis, std::int64_t steps);

  std::span<DLTensor> dl_;
  const FittedCall* fitted_;
  mote_call call_;
};

}  // namespace mote
