// SPDX-License-Identifier: Apache-2.0
// The windows of convolution and pooling nodes: kernel, strides, dilations and pads, with ONNX's
// defaults and auto_pad resolved.
#pragma once

#include "call.h"

namespace mote::onnx {

struct Window {
  Dims kernel, strides, dilations;
  Dims pads;  ///< all begins, then all ends
};

/// Returns the window of a node whose first input ends in the spatial axes `image`.
Window window_of(const Call& c, const Dims& image, Dims kernel);

/// Returns stride0, dilation0, pads0, … for ops with `axes` spatial axes; a window with fewer
/// covers the last of them.
Params window_params(const Window& w, std::size_t axes);

/// Computes a convolution of one to three spatial axes with the node's attributes; `b` may be null.
Array convolve(const Call& c, const Array& x, const Array& w, const Array* b);

/// Returns the extents after the first two.
Dims spatial(const Array& x);
/// Inserts axes of extent 1 before the spatial ones of x, so that there are `axes` of them.
Array with_spatial_axes(const Array& x, std::size_t axes);
/// Removes leading spatial axes of extent 1, so that `axes` are left.
Array without_spatial_axes(Array y, std::size_t axes);

}  // namespace mote::onnx
