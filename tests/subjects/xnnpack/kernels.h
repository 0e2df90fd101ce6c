// SPDX-License-Identifier: Apache-2.0
// The kernels of this plug-in, for T = float or Half.
#pragma once

#include "operator.h"

namespace mote::subject::xnn {

template <typename T>
Work unary(const Call& call);
template <typename T>
Work binary(const Call& call);
template <typename T>
Work prelu(const Call& call);
Work softmax(const Call& call);
Work cast(const Call& call);

template <typename T>
Work matmul(const Call& call);
template <typename T>
Work gemm(const Call& call);

template <typename T>
Work convolution(const Call& call);
template <typename T>
Work deconvolution(const Call& call);
template <typename T>
Work global_average(const Call& call);
Work average_pool(const Call& call);
/// Computes max_pool2d of f32, i8 and u8, or of f16.
template <typename T>
Work max_pool(const Call& call);
Work pad(const Call& call);

}  // namespace mote::subject::xnn
