// SPDX-License-Identifier: Apache-2.0
// A planned call pointed at memory: a run only calls the kernel. It owns no tensor's memory.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "mote/base/export.h"
#include "mote/runtime/kernel_plan.h"

namespace MOTE_API mote {

class BoundCall {
 public:
  /// Makes a call of the plan, with one allocation; nothing is bound yet. Throws StatusError
  /// MOTE_INVALID if the plan is null.
  explicit BoundCall(std::shared_ptr<const KernelPlan> plan);
  BoundCall(BoundCall&& other) noexcept;
  BoundCall& operator=(BoundCall&& other) noexcept;
  ~BoundCall();

  /// Makes later runs find the first element of the tensor there. The caller keeps the memory, and
  /// what shares memory must share it as planned: nothing checks that. Throws StatusError
  /// MOTE_INVALID if the plan has no such tensor.
  void bind_input(int k, const void* data);
  void bind_output(int k, void* data);
  /// Checks that every tensor with elements is bound, and asks the kernel again if an address is
  /// aligned otherwise than planned. Throws StatusError MOTE_INVALID, or MOTE_UNSUPPORTED if the
  /// kernel declines. run() calls it where that is needed.
  void check();

  /// Throws StatusError if the kernel fails. Workspace, if the kernel needs some, is taken for the
  /// duration of the run from the plan's context, or allocated; else nothing is allocated. Two
  /// threads must not run it at once.
  void run();
  /// Runs in a stream of the tensors' device, with workspace there of at least
  /// plan().workspace_bytes(); it may return before the work is done: only the stream tells.
  /// Without workspace it takes some as run() does; with a null stream it waits.
  void run_in(void* stream, std::span<std::byte> workspace);

  /// Throws StatusError after a move.
  const KernelPlan& plan() const;
  const std::shared_ptr<const KernelPlan>& shared_plan() const { return plan_; }

 private:
  friend class PreparedCommand;
  struct Block;
  Block& block() const;
  void bind(int operand, void* data);  ///< the operand's position among those that are present
  void run_slowly(void* stream, std::span<std::byte> workspace);

  std::shared_ptr<const KernelPlan> plan_;
  Block* block_;  ///< null after a move
};

}  // namespace mote
