// SPDX-License-Identifier: Apache-2.0
// Shapes on the caller's side: the views, strides and merged axes that a runtime uses, so that an
// op at its canonical ranks serves a tensor of any rank.
#pragma once

#include <vector>

#include "kernels.h"

namespace mote::onnx {

std::int64_t volume(const Dims& shape, std::size_t from, std::size_t to);
/// Resolves a negative axis, which counts from the end. Throws mote::Error if it is none of `rank`
/// axes.
std::size_t axis_of(std::int64_t axis, std::size_t rank);

Array reshaped(Array x, Dims shape);
/// Permutes axes: axis k of the result is axis order[k] of x.
Array permuted(const Array& x, const std::vector<std::size_t>& order);
/// Returns the elements of x where both axes, of equal extent, have the same index; `first` <
/// `second`, which is dropped.
Array diagonal(const Array& x, std::size_t first, std::size_t second);
/// Repeats x along axes of extent 1 and missing leading ones (NumPy).
Array broadcast_to(const Array& x, const Dims& shape);
/// Returns the common shape of the tensors (NumPy). Throws mote::Error.
Dims broadcast_shape(const std::vector<Dims>& shapes);

/// Reshapes x to [before the axis, the axis, after it].
Array around_axis(Array x, std::size_t axis);

/// Reshapes x to [batch, channels, all that follows].
Array channels_in_the_middle(const Array& x);

/// Returns the tensors' shapes with neighbouring axes merged if all tensors allow it, extended to
/// `rank` axes. Throws NotApplicable if more than `rank` are left.
std::vector<Dims> merged(const std::vector<Dims>& shapes, std::size_t rank);

Array array_of(DType dtype, Dims shape, const std::vector<double>& values);
Array integers(DType dtype, Dims shape, const std::vector<std::int64_t>& values);
Array constant(DType dtype, double value);  ///< has rank 0
std::vector<std::int64_t> integers_in(
    const Array& x);             ///< its values; throws mote::Error for reals
double real_in(const Array& x);  ///< its only value

}  // namespace mote::onnx
