// SPDX-License-Identifier: Apache-2.0
// The workspace of one run, for as long as it runs: the caller's, a lease of the context's pool, or
// memory of its own, as always on a device unless the caller gave some. On a device a run is over
// when its stream has done it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <span>

#include "command/kernel_choice.h"
#include "device/device_call.h"
#include "mote/runtime/context.h"
#include "mote/runtime/tensor.h"

namespace mote {

class CallWorkspace {
 public:
  /// Takes workspace for a call of tensors on the device; without one, on the host or on a device
  /// that no plug-in offers. Throws StatusError MOTE_OUT_OF_MEMORY if there is none.
  CallWorkspace(std::size_t bytes, const RunOptions& options, const std::optional<Device>& device)
      : device_(device), stream_(options.stream) {
    if (bytes == 0) return;
    if (options.workspace.data() != nullptr) {
      data_ = aligned(options.workspace).data();  // the bytes after it are the caller's
      return;
    }
    if (device_) {
      data_ = own_.emplace(DType::u8, AxisList{static_cast<std::int64_t>(bytes)}, *device_).data();
      return;
    }
    if (options.context != nullptr) {
      data_ = (lease_ = options.context->workspace().lease(bytes)).data();
    } else {
      const auto all = static_cast<std::int64_t>(bytes + kWorkspaceMargin);
      data_ = own_.emplace(DType::u8, AxisList{all}).data();
    }
    margin_ = {static_cast<std::byte*>(data_) + bytes, kWorkspaceMargin};
    std::ranges::fill(margin_, kUntouched);
  }
  ~CallWorkspace() {
    if (device_ && own_ && !is_over_) device_call_quietly(device_->raw().synchronize, stream_);
  }
  CallWorkspace(const CallWorkspace&) = delete;
  CallWorkspace& operator=(const CallWorkspace&) = delete;

  void* data() const { return data_; }

  /// Returns the status of a run. On a device this waits for the run, unless it uses the caller's
  /// stream and memory. If the margin shows that the kernel wrote out of range, the run fails with
  /// a message that says so.
  mote_status outcome(mote_status status, const mote_call& call) {
    if (device_ && status == MOTE_OK && (own_ || stream_ == nullptr)) return waited_for(call);
    const auto is_untouched = [](std::byte b) { return b == kUntouched; };
    if (std::ranges::all_of(margin_, is_untouched)) return status;
    say(call, "the kernel wrote beyond the %zu bytes of workspace that it asked for",
        call.workspace_bytes);
    return MOTE_FAILED;
  }

 private:
  static constexpr std::byte kUntouched{0xa5};

  template <typename Argument>
  static void say(const mote_call& call, const char* format, Argument argument) {
    if (call.message != nullptr && call.message_bytes > 0)
      std::snprintf(call.message, call.message_bytes, format, argument);
  }

  mote_status waited_for(const mote_call& call) {
    is_over_ = true;
    try {
      device_call(device_->raw(), device_->raw().synchronize, stream_);
    } catch (const StatusError& e) {
      say(call, "%s", e.what());
      return e.status();
    }
    return MOTE_OK;
  }

  std::optional<Device> device_;
  void* stream_;
  bool is_over_ = false;
  void* data_ = nullptr;
  std::span<std::byte> margin_;
  WorkspacePool::Lease lease_;
  std::optional<Tensor> own_;
};

}  // namespace mote
