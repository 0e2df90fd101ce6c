// SPDX-License-Identifier: Apache-2.0
// Copies between tensors whose adjacent elements lie along two axes, as those of NCHW and NHWC do.
#pragma once

#include "mote/runtime/tensor.h"

namespace mote {

/// Copies x to y, of one dtype and shape, by the generated kernel of the op transpose. Returns
/// false, and copies nothing, if adjacent elements of both lie along one axis, if there are too few
/// to call a kernel for, or if the processor has none.
bool copy_transposed(const Tensor& x, const Tensor& y);

}  // namespace mote
