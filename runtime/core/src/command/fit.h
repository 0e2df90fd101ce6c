// SPDX-License-Identifier: Apache-2.0
// Fits the tensors of a call, of any legal rank and strides, to a kernel: views of its canonical
// ranks, and a batch of calls over the axes that could not be merged.
#pragma once

#include <array>
#include <optional>
#include <span>

#include "mote/base/ops.h"
#include "mote/runtime/joint_axes.h"
#include "mote/runtime/tensor.h"

namespace mote {

/// A tensor of the call and its role in the op. Its address may be made up, if the call is only
/// planned: it says which operands share memory.
struct CallOperand {
  const mote_op_tensor* meaning;
  const DLTensor* tensor;  ///< with strides
  bool is_output;

  int rank() const { return tensor->ndim; }
  std::int64_t extent(int axis) const { return tensor->shape[axis]; }
  std::int64_t stride(int axis) const { return tensor->strides[axis]; }
};

/// One operand as the kernel sees it, at batch index 0.
struct KernelView {
  int rank;
  std::array<std::int64_t, kMaxAxes> extents;
  std::array<std::int64_t, kMaxAxes> strides;
  AxisStrides batch_strides;
};

struct Batch {
  int rank = 0;
  std::array<std::int64_t, kMaxAxes> extents{};
};

/// Fills one view for each operand; outputs are last. `pointwise` is is_pointwise(op). `scratch`
/// has the length of `operands`. Throws StatusError "softmax: …" if ranks or extents do not fit,
/// MOTE_UNSUPPORTED if axes that must be one cannot be merged.
Batch fit(const mote_op_definition& op, bool pointwise, std::optional<int> axis,
          std::span<const CallOperand> operands, std::span<KernelView> views,
          std::span<AxisStrides> scratch);

/// True if all tensors of the op have the same axes, and each element depends only on those at its
/// index.
bool is_pointwise(const mote_op_definition& op);

}  // namespace mote
