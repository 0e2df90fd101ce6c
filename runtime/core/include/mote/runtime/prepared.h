// SPDX-License-Identifier: Apache-2.0
// A command made ready for tensors of fixed dtypes, extents and strides: everything is checked,
// fitted to the kernel's ranks and chosen once; what is left to a run is the kernel.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>

#include "mote/base/export.h"
#include "mote/runtime/command.h"
#include "mote/runtime/device.h"

namespace MOTE_API mote {

class PreparedCommand {
 public:
  /// Checks and chooses as run() does, with its errors. Keeps the tensors' memory, not the tensors;
  /// the options' workspace and context outlive it.
  PreparedCommand(const Command& command, std::span<const Tensor* const> inputs,
                  std::span<Tensor* const> outputs, const RunOptions& options = {});
  PreparedCommand(const Command& command, std::initializer_list<const Tensor*> inputs,
                  std::initializer_list<Tensor*> outputs, const RunOptions& options = {});
  PreparedCommand(PreparedCommand&&) noexcept;
  PreparedCommand& operator=(PreparedCommand&&) noexcept;
  ~PreparedCommand();

  /// StatusError where the kernel fails. Workspace, if the kernel wants some, is taken for the time
  /// of the run. Not from two threads at once.
  void run();
  /// run() of tensors on a device, in a stream of the device's own that is not null, with workspace
  /// there of workspace_bytes() or more: what is done when this returns, only the stream tells.
  void run_in(void* device_stream, std::span<std::byte> workspace);

  /// The next runs use these tensors. StatusError MOTE_INVALID, and nothing has changed, unless the
  /// same ones are there, with the same dtypes, extents, strides and devices, and the same outputs
  /// share the memory of the same inputs as when it was prepared; MOTE_UNSUPPORTED where the
  /// kernel declines memory of another alignment.
  void rebind(std::span<const Tensor* const> inputs, std::span<Tensor* const> outputs);
  void rebind(std::initializer_list<const Tensor*> inputs, std::initializer_list<Tensor*> outputs);

  const Command& command() const;
  const mote_kernel& kernel() const;
  std::size_t workspace_bytes() const;
  /// That all tensors are on; none: the host, or one that no plug-in offers.
  std::optional<Device> device() const;

 private:
  struct State;
  State& state() const;
  std::unique_ptr<State> state_;
};

}  // namespace mote
