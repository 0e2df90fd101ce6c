// SPDX-License-Identifier: Apache-2.0
// A command prepared for tensors of fixed dtypes, extents and strides: a plan (kernel_plan.h), a
// call of it (bound_call.h), and the tensors whose memory that uses.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "mote/base/export.h"
#include "mote/runtime/bound_call.h"
#include "mote/runtime/command.h"
#include "mote/runtime/device.h"

namespace MOTE_API mote {

class PreparedCommand {
 public:
  /// Checks and chooses as run() does, with its errors. Keeps the tensors' memory, not the tensors;
  /// the options' workspace and context must outlive it.
  PreparedCommand(const Command& command, std::span<const Tensor* const> inputs,
                  std::span<Tensor* const> outputs, const RunOptions& options = {});
  PreparedCommand(const Command& command, std::initializer_list<const Tensor*> inputs,
                  std::initializer_list<Tensor*> outputs, const RunOptions& options = {});
  PreparedCommand(PreparedCommand&&) noexcept;
  PreparedCommand& operator=(PreparedCommand&&) noexcept;
  ~PreparedCommand();

  /// Throws StatusError if the kernel fails. Workspace, if the kernel needs some, is taken for the
  /// duration of the run. Two threads must not run it at once.
  void run();
  /// Runs with tensors on a device, in a non-null stream of the device, with device workspace of at
  /// least workspace_bytes(). It may return before the work is done: only the stream tells.
  void run_in(void* device_stream, std::span<std::byte> workspace);

  /// Makes the next runs use these tensors. Throws StatusError MOTE_INVALID, and changes nothing,
  /// unless the same tensors are present, with the same dtypes, extents, strides and devices, and
  /// the same outputs share the memory of the same inputs as when it was prepared; MOTE_UNSUPPORTED
  /// if the kernel declines memory of another alignment.
  void rebind(std::span<const Tensor* const> inputs, std::span<Tensor* const> outputs);
  void rebind(std::initializer_list<const Tensor*> inputs, std::initializer_list<Tensor*> outputs);

  const Command& command() const;
  const mote_kernel& kernel() const;
  std::size_t workspace_bytes() const;
  /// Returns the device that all tensors are on; none for the host, or for one that no plug-in
  /// offers.
  std::optional<Device> device() const;
  /// Returns the plan, which other calls may share.
  const std::shared_ptr<const KernelPlan>& plan() const;

 private:
  void check_there() const;
  const Tensor& checked(std::size_t n, std::span<const Tensor* const> inputs,
                        std::span<Tensor* const> outputs) const;
  void check_sharing() const;
  void point(std::span<const Tensor* const> to);

  BoundCall call_;
  std::vector<Tensor> tensors_;      ///< the tensors that are present, in the order of operands
  std::vector<const Tensor*> next_;  ///< the tensors that rebind checks
  void* stream_;
  std::span<std::byte> workspace_;
  bool is_plain_;  ///< the caller gave neither stream nor workspace
};

}  // namespace mote
