// SPDX-License-Identifier: Apache-2.0
#include "launcher.h"

#include <fmt/format.h>

#include <array>
#include <string>
#include <vector>

#include "../device_call.h"
#include "mote/base/error.h"

namespace mote::cuda {
namespace {

/// The call that this thread makes.
struct Running {
  void* stream = nullptr;
  std::string error;  ///< the function's error
};
thread_local Running running;

/// A copy of a call whose tensors appear to be the host's, with data at other addresses.
class OtherCall {
 public:
  /// `data` has the address of each tensor; if empty, the tensors keep their own.
  explicit OtherCall(const mote_call& call, const std::vector<void*>& data = {}) : call_(call) {
    const std::vector<CallTensor> tensors = tensors_of(call);
    own_.resize(tensors.size());
    for (std::size_t k = 0; k < tensors.size(); ++k) {
      DLTensor* at = nullptr;
      if (tensors[k].tensor != nullptr) {
        own_[k] = *tensors[k].tensor;
        own_[k].device = {kDLCPU, 0};
        own_[k].byte_offset = 0;
        own_[k].data = data.empty() ? tensors[k].data : data[k];
        at = &own_[k];
      }
      if (tensors[k].written)
        outputs_.push_back(at);
      else
        inputs_.push_back(at);
    }
    call_.inputs = inputs_.data();
    call_.outputs = outputs_.data();
    call_.workspace = nullptr;
    call_.workspace_bytes = 0;
  }
  OtherCall(const OtherCall&) = delete;
  OtherCall& operator=(const OtherCall&) = delete;
  mote_call& get() { return call_; }

 private:
  mote_call call_;
  std::vector<DLTensor> own_;
  std::vector<const DLTensor*> inputs_;
  std::vector<DLTensor*> outputs_;
};

backend::Check run(const char* function, mote_status (*body)(const mote_call*, void*),
                   const mote_call& call, void* stream) {
  return run_on_device(call, stream,
                       {.name = function,
                        .tensors = tensors_of(call),
                        .keeps_alignment = true,
                        .run = [&](const OnDevice& at) {
                          std::array<char, 512> message{};
                          OtherCall other(call, at.data);
                          other.get().message = message.data();
                          other.get().message_bytes = message.size();
                          running = {at.stream, ""};
                          const mote_status status = body(&other.get(), nullptr);
                          message.back() = '\0';
                          if (!running.error.empty()) throw Error(running.error);
                          if (status != MOTE_OK) throw Error(message.data());
                        }});
}

backend::Check can_run(mote_status (*body)(const mote_call*), const mote_call& call) {
  bool on_gpu = false;
  if (backend::Check check = find_location(call, on_gpu)) return check;
  OtherCall other(call);
  if (const mote_status status = body(&other.get()); status != MOTE_OK)
    return backend::Refusal{status, call.message != nullptr ? call.message : ""};
  try {
    if (const auto lost = Device::open()->lost())
      return backend::unsupported("the GPU's context was lost: " + *lost);
  } catch (const Error& e) {
    return backend::unsupported(e.what());
  }
  return {};
}

}  // namespace
}  // namespace mote::cuda

mote_status mote_gpu_can_run(mote_status (*can_run)(const mote_call*), const mote_call* call) {
  return mote::backend::guarded(*call, [&] { return mote::cuda::can_run(can_run, *call); });
}

mote_status mote_gpu_run(const char* function, mote_status (*run)(const mote_call*, void*),
                         const mote_call* call, void* stream) {
  return mote::backend::guarded(*call,
                                [&] { return mote::cuda::run(function, run, *call, stream); });
}

void* mote_gpu_stream(void) { return mote::cuda::running.stream; }

int mote_gpu_returned(int status) {
  if (status != 0) mote::cuda::running.error = fmt::format("it returned {}", status);
  return status;
}
