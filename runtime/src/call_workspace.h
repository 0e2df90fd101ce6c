// Where the workspace of one run is, for as long as it runs: the caller's, of the context's pool,
// or memory of its own.
#pragma once

#include <cstddef>
#include <optional>

#include "kernel_choice.h"
#include "mote/runtime/context.h"
#include "mote/runtime/tensor.h"

namespace mote {

class CallWorkspace {
 public:
  /// StatusError MOTE_OUT_OF_MEMORY where there is none.
  CallWorkspace(std::size_t bytes, const RunOptions& options) {
    if (bytes == 0) return;
    if (options.workspace.data() != nullptr)
      data_ = aligned(options.workspace).data();
    else if (options.context != nullptr)
      data_ = (lease_ = options.context->workspace().lease(bytes)).data();
    else
      data_ = own_.emplace(DType::u8, AxisList{static_cast<std::int64_t>(bytes)}).data();
  }
  void* data() const { return data_; }

 private:
  void* data_ = nullptr;
  WorkspacePool::Lease lease_;
  std::optional<Tensor> own_;
};

}  // namespace mote
