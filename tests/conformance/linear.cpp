// Adapters of products: matrices and convolutions.
#include <fmt/format.h>

#include <algorithm>

#include "call.h"
#include "mote/base/error.h"
#include "window.h"

namespace mote::onnx {
namespace {

using Outputs = std::vector<Array>;

Outputs gemm(const Call& c) {
  const auto matrix = [&](std::size_t k, const char* flag) {
    return c.integer(flag, 0) != 0 ? permuted(c.in(k), {1, 0}) : c.in(k);
  };
  const Array a = matrix(0, "transA"), b = matrix(1, "transB");
  const Params params = {{"alpha", c.real("alpha", 1)}, {"beta", c.real("beta", 1)}};
  if (!c.has(2)) return {c.kernels().run("gemm", a.dtype, {&a, &b}, params)};
  const Array added = broadcast_to(c.in(2), {a.shape.at(0), b.shape.at(1)});
  return {c.kernels().run("gemm", a.dtype, {&a, &b, &added}, params)};
}

/// Vectors become a row or a column, whose axis the result loses again.
Outputs matmul(const Call& c) {
  Array a = c.in(0), b = c.in(1);
  const bool row = a.shape.size() == 1, column = b.shape.size() == 1;
  if (row) a = reshaped(a, {1, a.shape[0]});
  if (column) b = reshaped(b, {b.shape[0], 1});
  Array y = c.matmul(a, b);
  Dims shape = y.shape;
  if (row) shape.erase(shape.end() - 2);
  if (column) shape.pop_back();
  return {reshaped(y, shape)};
}

Outputs conv(const Call& c) { return {convolve(c, c.in(0), c.in(1), c.find(2))}; }

/// Pads and output pads of a transposed convolution: given, or such that the output has the shape
/// that is asked for (what would be a negative pad becomes output pad).
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

Outputs conv_transpose(const Call& c) {
  const Dims image = spatial(c.in(0));
  const std::size_t axes = image.size();
  Window w{
      spatial(c.in(1)), c.dims("strides", Dims(axes, 1)), c.dims("dilations", Dims(axes, 1)), {}};
  const TransposedPads p = transposed_pads(c, w, image);
  w.pads = p.pads;
  const Array x = with_spatial_axes(c.in(0), 2), kernel = with_spatial_axes(c.in(1), 2);
  Params params = window_params(w, 2);
  params["groups"] = c.integer("group", 1);
  for (std::size_t k = 0; k < axes; ++k) {
    params[fmt::format("output_pad{}", 2 - axes + k)] = p.output.at(k);
  }
  Array y = c.kernels().run("conv_transpose2d", c.dtype(), {&x, &kernel, c.find(2)}, params);
  Dims shape = y.shape;
  if (axes == 1) shape.erase(shape.begin() + 2);
  return {reshaped(y, shape)};
}

}  // namespace

Adapters linear_adapters() {
  return {{"Gemm", gemm}, {"MatMul", matmul}, {"Conv", conv}, {"ConvTranspose", conv_transpose}};
}

}  // namespace mote::onnx
