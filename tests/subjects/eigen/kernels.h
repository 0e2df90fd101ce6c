// SPDX-License-Identifier: Apache-2.0
// The kernels of this plug-in.
#pragma once

#include <span>

#include "support/subject.h"

namespace mote::subject::eigen {

Work unary(const Call& call);       ///< arithmetic and functions of one element
Work activation(const Call& call);  ///< expressions of the functions of unary
Work binary(const Call& call);
Work comparison(const Call& call);
Work cast(const Call& call);
/// These do the same for f32 only: other dtypes have another error, which would need another
/// contract.
Work unary_of_f32(const Call& call);
Work activation_of_f32(const Call& call);
Work binary_of_f32(const Call& call);

Work reduction(const Call& call);
Work position(const Call& call);    ///< argmax, argmin
Work along_axis(const Call& call);  ///< softmax, log_softmax, logsumexp, var, l2_normalise

Work matmul(const Call& call);
Work gemm(const Call& call);

Work conv2d(const Call& call);
Work cumsum(const Call& call);
/// Returns the kernels that are accurate enough in this level's code: level_v3.cpp, level_v4.cpp.
std::span<const Kernel> kernels_of_this_level();

Work moved(const Call& call);  ///< pad_constant, flip, tile, concat, transpose

}  // namespace mote::subject::eigen
