// SPDX-License-Identifier: Apache-2.0
// Tensors of a call as descriptors of cuDNN, and work as the steps that a handle takes.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "api.h"
#include "constants.h"
#include "nvidia/kernels.h"

namespace mote::cudnn {

using cuda::OnDevice;
using nvidia::decline;
using nvidia::Kind;
using nvidia::Reader;
using nvidia::Tensor;
using nvidia::Work;

/// An algorithm or engine that wants more workspace is not taken.
constexpr std::size_t kMaxWorkspaceBytes = std::size_t{256} << 20;

/// The next multiple of 256, where a part of the workspace may begin.
std::size_t aligned(std::size_t bytes);

/// The parameter eps of a norm; cuDNN wants 0 or more.
double epsilon_of(const Reader& call);

int type_of(DType dtype);       ///< CUDNN_DATA_…
int compute_type(DType dtype);  ///< in which sums are kept: doubles for doubles, else floats
/// The factors 1 and 0, as cuDNN wants them for tensors of that dtype.
const void* one(DType dtype);
const void* zero(DType dtype);

/// Row-major strides.
std::vector<std::int64_t> packed_strides(const std::vector<std::int64_t>& dims);
/// An axis of extent 1 before `axis`.
Tensor with_axis(Tensor t, std::size_t axis);
/// Of rank 4 at least: axes of extent 1 behind.
Tensor widened(Tensor t);
/// Rank 1 along axis 1, that of channels, among `rank` axes.
Tensor along_channels(const Tensor& t, std::size_t rank);

/// Declines what does not fit into 32 bits. At least 4 axes.
std::shared_ptr<TensorDesc> describe(const Tensor& t);
/// Rank 4 or 5: output channels, input channels, taps. Declines what is dense neither so nor with
/// the channels last.
std::shared_ptr<FilterDesc> describe_filter(const Tensor& t);

/// A function of one element, CUDNN_ACTIVATION_…; `alpha` is elu's.
std::shared_ptr<ActivationDesc> describe_activation(int mode, double alpha = 1);

/// One call of the library, with workspace of its own.
struct Step {
  std::size_t workspace_bytes = 0;
  std::function<void(Handle*, const OnDevice&)> run;
};
/// The steps, one after another on the call's stream. They share the workspace.
Work work_of(std::shared_ptr<Handle> handle, std::vector<Step> steps);
/// Tensors in the workspace that steps of one call leave to each other. Their slots are behind
/// those of the call.
class Between {
 public:
  explicit Between(const Reader& call) : next_(call.slots()) {}
  /// Row-major.
  Tensor tensor(DType dtype, const std::vector<std::int64_t>& dims);
  Work work_of(std::shared_ptr<Handle> handle, std::vector<Step> steps) const;

 private:
  std::size_t next_;
  std::vector<std::size_t> places_;
  std::size_t bytes_ = 0;
};

/// One step without workspace.
Work work_of(std::function<void(Handle*, const OnDevice&)> run);

}  // namespace mote::cudnn
