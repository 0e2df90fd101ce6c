// SPDX-License-Identifier: Apache-2.0
#include "api.h"

#include <fmt/format.h>

#include "constants.h"
#include "mote/base/cuda_libraries.h"

namespace mote::cudnn {
namespace {

using cuda::Failure;

template <typename... Functions>
void get(const cuda::Library& from, Functions&... functions) {
  (from.get(functions.pointer, functions.name), ...);
}

Failure kind_of(int status) {
  if (status == kHostAllocationFailed || status == kDeviceAllocationFailed)
    return Failure::out_of_memory;
  return status >= kNotSupported && status < kAfterUnsupported ? Failure::unsupported
                                                               : Failure::broken;
}

}  // namespace

Cudnn::Cudnn() : library_("cuDNN", cudnn_candidates()) {
  const cuda::Library& from = library_;
  Calls& c = calls_;
  from.get(c.version, "cudnnGetVersion");
  from.get(c.error_text, "cudnnGetErrorString");
  get(from, c.create, c.set_stream, c.create_tensor, c.destroy_tensor, c.set_tensor, c.get_tensor,
      c.transform, c.set_all, c.create_filter, c.destroy_filter, c.set_filter, c.create_convolution,
      c.destroy_convolution, c.set_convolution, c.set_groups, c.set_math, c.convolution_dims,
      c.forward_algorithms, c.data_algorithms, c.filter_algorithms, c.forward_workspace,
      c.data_workspace, c.filter_workspace, c.convolve, c.convolve_data, c.convolve_filter,
      c.bias_gradient, c.add_tensor);
  get(from, c.create_pooling, c.destroy_pooling, c.set_pooling, c.pooling_dims, c.pool,
      c.pool_gradient, c.softmax, c.softmax_gradient, c.batch_norm, c.batch_norm_training,
      c.create_lrn, c.destroy_lrn, c.set_lrn, c.lrn);
  get(from, c.create_activation, c.destroy_activation, c.set_activation, c.set_swish_beta,
      c.activate, c.activation_gradient, c.create_operation, c.destroy_operation, c.set_operation,
      c.operate, c.create_reduction, c.destroy_reduction, c.set_reduction, c.reduction_workspace,
      c.reduce);
  get(from, c.create_recurrent, c.destroy_recurrent, c.set_recurrent, c.create_sequences,
      c.destroy_sequences, c.set_sequences, c.recurrent_weight_bytes, c.recurrent_work_bytes,
      c.recurrent_weights, c.recur, c.recurrent_data_gradient, c.recurrent_weight_gradient);
  get(from, c.create_backend, c.destroy_backend, c.finalize, c.set_attribute, c.get_attribute,
      c.execute);
}

Cudnn& Cudnn::library() {
  static Cudnn only;
  return only;
}

std::shared_ptr<Handle> Cudnn::take() {
  Handle* handle = nullptr;
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      handle = idle_.back();
      idle_.pop_back();
    }
  }
  const bool is_new = handle == nullptr;
  if (is_new) calls_.create(&handle);
  std::shared_ptr<Handle> taken(handle, [this](Handle* back) {
    const std::lock_guard lock(mutex_);
    idle_.push_back(back);
  });
  // The handle's stream is reset: that of its previous call may be destroyed by now.
  if (!is_new) calls_.set_stream(handle, nullptr);
  return taken;
}

void Cudnn::check(int status, const char* call) const {
  if (status == 0) return;
  throw cuda::LibraryError(kind_of(status),
                           fmt::format("{}: {} ({})", call, calls_.error_text(status), status));
}

}  // namespace mote::cudnn
