// Where the workspace of one run is, for as long as it runs: the caller's, of the context's pool,
// or memory of its own.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <span>

#include "kernel_choice.h"
#include "mote/runtime/context.h"
#include "mote/runtime/tensor.h"

namespace mote {

class CallWorkspace {
 public:
  /// StatusError MOTE_OUT_OF_MEMORY where there is none.
  CallWorkspace(std::size_t bytes, const RunOptions& options) {
    if (bytes == 0) return;
    if (options.workspace.data() != nullptr) {
      data_ = aligned(options.workspace).data();  // what is behind it is the caller's
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
  void* data() const { return data_; }

  /// What a run came to. Writing beyond what was asked for fails it, with a message that says so,
  /// as far as the margin shows it.
  mote_status outcome(mote_status status, const mote_call& call) const {
    const auto is_untouched = [](std::byte b) { return b == kUntouched; };
    if (std::ranges::all_of(margin_, is_untouched)) return status;
    if (call.message != nullptr && call.message_bytes > 0)
      std::snprintf(call.message, call.message_bytes,
                    "the kernel wrote beyond the %zu bytes of workspace that it asked for",
                    call.workspace_bytes);
    return MOTE_FAILED;
  }

 private:
  static constexpr std::byte kUntouched{0xa5};

  void* data_ = nullptr;
  std::span<std::byte> margin_;
  WorkspacePool::Lease lease_;
  std::optional<Tensor> own_;
};

}  // namespace mote
