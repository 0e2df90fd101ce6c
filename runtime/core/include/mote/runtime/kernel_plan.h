// SPDX-License-Identifier: Apache-2.0
// A kernel chosen, checked and fitted once, for a command and the forms of its tensors, before any
// memory is there. A plan never changes; any number of calls (bound_call.h) share it, in any
// thread.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>

#include "mote/base/export.h"
#include "mote/base/kernel.h"
#include "mote/runtime/command.h"
#include "mote/runtime/device.h"
#include "mote/runtime/tensor_form.h"

namespace MOTE_API mote {

class KernelPlan {
 public:
  /// Plans a call by forms; null stands for a tensor that is left out. in_place says which outputs
  /// are stored where an input is; all other tensors are taken to share no memory. The kernel is
  /// asked about addresses at multiples of kAlignment. Checks and chooses as run() does, with its
  /// errors; of the options, stream is not used, and workspace only limits the choice. The context
  /// must outlive the plan.
  static std::shared_ptr<const KernelPlan> make(const Command& command,
                                                std::span<const TensorForm* const> inputs,
                                                std::span<const TensorForm* const> outputs,
                                                std::span<const mote_op_pair> in_place = {},
                                                const RunOptions& options = {});
  static std::shared_ptr<const KernelPlan> make(const Command& command,
                                                std::initializer_list<const TensorForm*> inputs,
                                                std::initializer_list<const TensorForm*> outputs,
                                                std::initializer_list<mote_op_pair> in_place = {},
                                                const RunOptions& options = {});
  /// Plans a call of these tensors: their forms, what they share, and how they are aligned.
  static std::shared_ptr<const KernelPlan> make(const Command& command,
                                                std::span<const Tensor* const> inputs,
                                                std::span<Tensor* const> outputs,
                                                const RunOptions& options = {});
  ~KernelPlan();
  KernelPlan(const KernelPlan&) = delete;
  KernelPlan& operator=(const KernelPlan&) = delete;

  const Command& command() const;
  const mote_kernel& kernel() const;
  std::size_t workspace_bytes() const;
  /// Returns the device that all tensors are on; none for the host, or for one that no plug-in
  /// offers.
  std::optional<Device> device() const;

  /// Returns the numbers of inputs and outputs as they were given, with those that are left out.
  int input_count() const;
  int output_count() const;
  /// Returns null for a tensor that is left out, and for a number that is out of range.
  const TensorForm* input(int k) const;
  const TensorForm* output(int k) const;
  /// Returns true if the output is stored where the input is.
  bool is_in_place(int input, int output) const;

 private:
  friend class BoundCall;
  friend class PreparedCommand;
  struct State;
  explicit KernelPlan(std::unique_ptr<const State> state);

  const std::unique_ptr<const State> state_;
};

}  // namespace mote
