// SPDX-License-Identifier: Apache-2.0
// The content of a KernelPlan: the call without addresses, its views, and the kernel.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "command/check_call.h"
#include "command/kernel_call.h"
#include "command/kernel_choice.h"
#include "mote/runtime/kernel_plan.h"

namespace mote {

struct KernelPlan::State {
  /// Plans a call of these tensors, whose addresses may be made up.
  State(const Command& c, TensorList inputs, TensorList outputs, const RunOptions& options);
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  static std::shared_ptr<const KernelPlan> plan(const Command& command, TensorList inputs,
                                                TensorList outputs, const RunOptions& options);

  /// Returns the position among the operands of an input, or of output k at input_count + k; -1 if
  /// it is left out or out of range.
  int operand_of(std::size_t tensor) const {
    return tensor < operand_at.size() ? operand_at[tensor] : -1;
  }
  const TensorForm* form(int k, bool is_output) const;

  Command command;
  Context* context;
  std::vector<CallOperand> operands;
  std::vector<int> slots;
  CallTensors call;
  std::vector<TensorForm> forms;    ///< of the operands
  std::vector<DLTensor> described;  ///< the same, each at its address modulo kAlignment
  std::vector<int> operand_at;      ///< operand_of()
  std::vector<mote_op_pair> in_place;
  std::vector<KernelView> views;
  FittedCall fitted;
  ChosenKernel chosen;
  KernelRun run = nullptr;
  bool is_plain = false;  ///< no workspace, no device to wait for: a run is only the kernel
};

}  // namespace mote
