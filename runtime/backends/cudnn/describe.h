// SPDX-License-Identifier: Apache-2.0
// Descriptors of cuDNN for the tensors of a call, and work as the steps that a handle takes.
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

/// An algorithm or engine that needs more workspace is not taken.
constexpr std::size_t kMaxWorkspaceBytes = std::size_t{256} << 20;

/// Returns the next multiple of 256, at which a part of the workspace may begin.
std::size_t aligned(std::size_t bytes);

/// Returns the parameter eps of a norm; declines a negative one.
double epsilon_of(const Reader& call);

int type_of(DType dtype);       ///< CUDNN_DATA_…
int compute_type(DType dtype);  ///< the type of sums: doubles for doubles, else floats
/// Return the factors 1 and 0 in the type that cuDNN requires for tensors of that dtype.
const void* one(DType dtype);
const void* zero(DType dtype);

/// Returns row-major strides.
std::vector<std::int64_t> packed_strides(const std::vector<std::int64_t>& dims);
/// Inserts an axis of extent 1 before `axis`.
Tensor with_axis(Tensor t, std::size_t axis);
/// Appends axes of extent 1 up to rank 4.
Tensor widened(Tensor t);
/// Places a tensor of rank 1 along axis 1, that of channels, among `rank` axes.
Tensor along_channels(const Tensor& t, std::size_t rank);

/// Describes a tensor of at least 4 axes. Declines extents and strides that do not fit into 32
/// bits.
std::shared_ptr<TensorDesc> describe(const Tensor& t);
/// Describes a filter of rank 4 or 5: output channels, input channels, taps. Declines one that is
/// dense neither in this order nor with the channels last.
std::shared_ptr<FilterDesc> describe_filter(const Tensor& t);

/// Describes a function of one element, CUDNN_ACTIVATION_…; `alpha` is elu's.
std::shared_ptr<ActivationDesc> describe_activation(int mode, double alpha = 1);

/// One call of the library, with workspace of its own.
struct Step {
  std::size_t workspace_bytes = 0;
  std::function<void(Handle*, const OnDevice&)> run;
};
/// Runs the steps one after another on the call's stream. They share the workspace.
Work work_of(std::shared_ptr<Handle> handle, std::vector<Step> steps);
/// Tensors in the workspace that steps of one call pass to each other. Their slots follow those of
/// the call.
class Between {
 public:
  explicit Between(const Reader& call) : next_(call.slots()) {}
  /// Allocates a row-major tensor.
  Tensor tensor(DType dtype, const std::vector<std::int64_t>& dims);
  Work work_of(std::shared_ptr<Handle> handle, std::vector<Step> steps) const;

 private:
  std::size_t next_;
  std::vector<std::size_t> locations_;
  std::size_t bytes_ = 0;
};

/// Makes work of one step without workspace.
Work work_of(std::function<void(Handle*, const OnDevice&)> run);

}  // namespace mote::cudnn
