// SPDX-License-Identifier: Apache-2.0
// Adapters of transposed convolutions: the op for one or two spatial axes; for three, a convolution
// of x with zeros between its elements.
#include <fmt/format.h>

#include <algorithm>

#include "call.h"
#include "window.h"

namespace mote::onnx {
namespace {

using Outputs = std::vector<Array>;

/// Pads and output pads of a transposed convolution: given, or chosen such that the output has the
/// requested shape (a negative pad becomes output pad).
struct TransposedPads {
  Dims pads, output;
};
TransposedPads transposed_pads(const Call& c, const Window& w, const Dims& image) {
  const std::size_t axes = image.size();
  const std::string automatic = c.text("auto_pad", "NOTSET");
  const bool same = automatic.starts_with("SAME");
  TransposedPads p{c.dims("pads", Dims(2 * axes, 0)), c.dims("output_padding", Dims(axes, 0))};
  if (!same && !c.has_attribute("output_shape")) return p;
  const Dims asked = c.dims("output_shape");
  p.pads.assign(2 * axes, 0);
  for (std::size_t k = 0; k < axes; ++k) {
    const std::int64_t wanted = asked.empty() ? image[k] * w.strides[k] : asked.at(k);
    const std::int64_t reach = w.dilations[k] * (w.kernel[k] - 1) + 1;
    const std::int64_t total = w.strides[k] * (image[k] - 1) + p.output[k] + reach - wanted;
    p.output[k] += std::max<std::int64_t>(-total, 0);
    const std::int64_t padded = std::max<std::int64_t>(total, 0);
    p.pads[k] = automatic == "SAME_UPPER" ? padded / 2 : padded - padded / 2;
    p.pads[k + axes] = padded - p.pads[k];
  }
  return p;
}

/// Computes over two spatial axes, of which the first may be missing.
Array in_the_plane(const Call& c, const Window& w, const Dims& output_pads) {
  const std::size_t axes = w.kernel.size();
  const Array x = with_spatial_axes(c.in(0), 2), kernel = with_spatial_axes(c.in(1), 2);
  Params params = window_params(w, 2);
  params["groups"] = c.integer("group", 1);
  for (std::size_t k = 0; k < axes; ++k) {
    params[fmt::format("output_pad{}", 2 - axes + k)] = output_pads.at(k);
  }
  const Array y = c.kernels().run("conv_transpose2d", c.dtype(), {&x, &kernel, c.find(2)}, params);
  return without_spatial_axes(y, axes);
}

/// Inserts stride - 1 zeros between the axis' elements, `before` in front and `after` behind.
Array spread(const Call& c, const Array& x, std::size_t axis, std::int64_t stride,
             std::int64_t before, std::int64_t after) {
  Dims shape = x.shape;
  const std::int64_t n = shape.at(axis), rest = volume(shape, axis + 1, shape.size());
  Array y = reshaped(x, {volume(shape, 0, axis) * n, 1, rest});
  if (stride > 1) y = c.pad("constant", y, {0, 0, 0, 0, stride - 1, 0});
  y = reshaped(y, {volume(shape, 0, axis), n * stride, rest});
  y = c.pad("constant", y, {0, before, 0, 0, after - (stride - 1), 0});
  shape[axis] = n * stride + before + after - (stride - 1);
  return reshaped(y, shape);
}

/// Returns w[CI, CO/groups, …] as a convolution takes it: [CO, CI/groups, …], every spatial axis
/// reversed.
Array turned_kernel(const Call& c, std::int64_t groups) {
  Array w = c.in(1);
  for (std::size_t k = 2; k < w.shape.size(); ++k) {
    const Array flat = around_axis(w, k);
    w = reshaped(c.kernels().run("flip", w.dtype, {&flat}), w.shape);
  }
  Dims shape = w.shape;
  const std::int64_t inputs = shape[0] / groups, outputs = shape[1];
  w = permuted(reshaped(w, {groups, inputs, outputs, volume(shape, 2, shape.size())}),
               {0, 2, 1, 3});
  shape[0] = groups * outputs;
  shape[1] = inputs;
  return reshaped(w, shape);
}

Array in_space(const Call& c, const Window& w, const Dims& output_pads) {
  const std::int64_t groups = c.integer("group", 1);
  Array x = c.in(0);
  Params params = {{"groups", groups}};
  for (std::size_t k = 0; k < 3; ++k) {
    const std::int64_t reach = w.dilations.at(k) * (w.kernel.at(k) - 1);
    x = spread(c, x, 2 + k, w.strides.at(k), reach - w.pads.at(k),
               reach - w.pads.at(3 + k) + output_pads.at(k));
    params[fmt::format("dilation{}", k)] = w.dilations[k];
  }
  const Array kernel = turned_kernel(c, groups);
  return c.kernels().run("conv3d", x.dtype, {&x, &kernel, c.find(2)}, params);
}

Outputs conv_transpose(const Call& c) {
  const Dims image = spatial(c.in(0));
  const std::size_t axes = image.size();
  Window w{
      spatial(c.in(1)), c.dims("strides", Dims(axes, 1)), c.dims("dilations", Dims(axes, 1)), {}};
  const TransposedPads p = transposed_pads(c, w, image);
  w.pads = p.pads;
  return {axes == 3 ? in_space(c, w, p.output) : in_the_plane(c, w, p.output)};
}

}  // namespace

Adapters conv_transpose_adapters() { return {{"ConvTranspose", conv_transpose}}; }

}  // namespace mote::onnx
