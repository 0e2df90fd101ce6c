// SPDX-License-Identifier: Apache-2.0
// From the tensors of a call, of any legal rank and strides, to what a kernel takes: views of its
// canonical ranks, and a batch of rounds over the axes that could not be merged.
#pragma once

#include <array>
#include <optional>
#include <span>

#include "mote/base/ops.h"
#include "mote/runtime/joint_axes.h"
#include "mote/runtime/tensor.h"

namespace mote {

/// A tensor of the call and what it is to the op.
struct CallOperand {
  const mote_op_tensor* meaning;
  const Tensor* tensor;
  bool is_output;
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

/// Fills one view for each operand, outputs last among them. `pointwise`: is_pointwise(op).
/// `scratch` is as long. StatusError "softmax: …" where ranks or extents do not fit,
/// MOTE_UNSUPPORTED where axes that must be one cannot be merged.
Batch fit(const mote_op_definition& op, bool pointwise, std::optional<int> axis,
          std::span<const CallOperand> operands, std::span<KernelView> views,
          std::span<AxisStrides> scratch);

/// All tensors of the op have the same axes, and each element depends on those at its index only.
bool is_pointwise(const mote_op_definition& op);

}  // namespace mote
