// SPDX-License-Identifier: Apache-2.0
// Adapters of quantised operators. Operators that the catalogue has no op for are composed:
// integers are exact in the wider intermediate dtypes, and results of 8 bits are rounded half to
// even and saturated.
#include <algorithm>
#include <optional>

#include "call.h"
#include "mote/base/error.h"
#include "window.h"

namespace mote::onnx {
namespace {

using Outputs = std::vector<Array>;

/// Returns a scale or zero point: one number, or one for each index of the node's axis, or one for
/// each block of indices.
Array along_axis(const Call& c, const Array& x, const Array& values) {
  if (values.values.size() == 1) return reshaped(values, {});
  const std::size_t at = axis_of(c.integer("axis", 1), x.shape.size());
  const std::int64_t block = c.integer("block_size", 0);
  if (block != 0) {
    Array columns = around_axis(values, at);
    columns.shape.insert(columns.shape.begin() + 2, 1);
    return reshaped(c.tile(columns, {1, 1, block, 1}), x.shape);
  }
  Dims shape(x.shape.size() - at, 1);
  shape[0] = element_count(values.shape);
  return reshaped(values, shape);
}

/// Computes round(x) + zero, within the zero point's dtype.
Array saturated(const Call& c, const Array& x, const Array& zero) {
  const IntegerRange range = integer_range(zero.dtype);
  const Array moved = c.binary("add", c.unary("round", x), c.cast(zero, x.dtype));
  const Array low = constant(x.dtype, static_cast<double>(range.least));
  const Array high = constant(x.dtype, static_cast<double>(range.greatest));
  return c.cast(c.map("clamp", {&moved, &low, &high}), zero.dtype);
}

/// Computes x - zero over i32; an absent zero point is 0.
Array centred(const Call& c, const Array& x, const Array* zero) {
  const Array wide = c.cast(x, DType::i32);
  return zero == nullptr ? wide : c.binary("sub", wide, c.cast(*zero, DType::i32));
}

/// The op is composed, since ONNX rounds the quotient to x's dtype before it rounds to an integer.
Outputs quantise(const Call& c) {
  const Array& x = c.in(0);
  const Array scale = along_axis(c, x, c.in(1));
  const Array zero = c.has(2) ? along_axis(c, x, c.in(2)) : constant(DType::u8, 0);
  return {saturated(c, c.binary("div", x, scale), zero)};
}

/// x[R, C, N] with a scale and a zero for each of C, as the catalogue's op takes them.
struct Channels {
  Array x, scale, zero;
};

/// Returns nullopt if blocks have scales of their own, or numbers are of other dtypes.
std::optional<Channels> channels_of(const Call& c) {
  const Array& x = c.in(0);
  const Array& scale = c.in(1);
  const bool is_ours = x.dtype == DType::u8 || x.dtype == DType::i8;
  if (!is_ours || scale.dtype != DType::f32 || c.integer("block_size", 0) != 0) return std::nullopt;
  const bool is_one = scale.values.size() == 1;
  const Array rows = is_one ? reshaped(x, {1, 1, element_count(x.shape)})
                            : around_axis(x, axis_of(c.integer("axis", 1), x.shape.size()));
  const Array zero = c.has(2) ? c.in(2) : constant(x.dtype, 0);
  const Dims channels = {rows.shape.at(1)};
  return Channels{rows, reshaped(scale, channels),
                  zero.values.size() == 1 ? broadcast_to(reshaped(zero, {}), channels)
                                          : reshaped(zero, channels)};
}

Outputs dequantise(const Call& c) {
  const Array& x = c.in(0);
  if (const auto by = channels_of(c)) {
    const Array y = c.kernels().run("dequantize", x.dtype, {&by->x, &by->scale, &by->zero});
    return {reshaped(y, x.shape)};
  }
  const Array zero = c.has(2) ? along_axis(c, x, c.in(2)) : constant(x.dtype, 0);
  const Array scale = along_axis(c, x, c.in(1));
  return {c.binary("mul", c.cast(centred(c, x, &zero), scale.dtype), scale)};
}

/// Computes scale and zero point from the range of x, extended to contain 0.
Outputs dynamic_quantise(const Call& c) {
  const Array& x = c.in(0);
  std::vector<std::size_t> axes;
  for (std::size_t k = 0; k < x.shape.size(); ++k) axes.push_back(k);
  const Array most = c.binary("max", c.reduce("reduce_max", x, axes, false), 0.0);
  const Array least = c.binary("min", c.reduce("reduce_min", x, axes, false), 0.0);
  const Array scale = c.binary("div", c.binary("sub", most, least), 255.0);
  const Array origin = c.unary("neg", c.binary("div", least, scale));
  const Array zero = saturated(c, origin, constant(DType::u8, 0));
  return {saturated(c, c.binary("div", x, scale), zero), scale, zero};
}

/// Scales the product of centred integers, exact in i32, by the scales of both and of the result.
Array rescaled(const Call& c, const Array& product, const Array& scales, const Array& y_scale,
               const Array& y_zero) {
  const Array factor = c.binary("div", scales, reshaped(y_scale, {}));
  return saturated(c, c.binary("mul", c.cast(product, factor.dtype), factor), reshaped(y_zero, {}));
}

Outputs quantised_matmul(const Call& c) {
  const Array product = c.matmul(centred(c, c.in(0), &c.in(2)), centred(c, c.in(3), &c.in(5)));
  const Array scales = c.binary("mul", reshaped(c.in(1), {}), reshaped(c.in(4), {}));
  return {rescaled(c, product, scales, c.in(6), c.in(7))};
}

/// Computes a convolution of integers over f64, where they are exact.
Array integer_convolution(const Call& c, const Array& x, const Array& w, const Array* bias) {
  const Array wide_x = c.cast(x, DType::f64), wide_w = c.cast(w, DType::f64);
  const Array wide_bias = bias == nullptr ? Array{} : c.cast(*bias, DType::f64);
  return convolve(c, wide_x, wide_w, bias == nullptr ? nullptr : &wide_bias);
}

/// Returns one number, or one for each output channel, to broadcast against w[CO, …].
Array by_channel(const Array& w, const Array& values) {
  if (values.values.size() == 1) return reshaped(values, {});
  Dims shape(w.shape.size(), 1);
  shape[0] = element_count(values.shape);
  return reshaped(values, shape);
}

Outputs quantised_convolution(const Call& c) {
  const Array w_zero = by_channel(c.in(3), c.in(5));
  const Array x = centred(c, c.in(0), &c.in(2)), w = centred(c, c.in(3), &w_zero);
  const Array product = integer_convolution(c, x, w, c.find(8));
  Array w_scale = by_channel(w, c.in(4));
  if (!w_scale.shape.empty()) w_scale.shape.erase(w_scale.shape.begin() + 1);
  const Array scales = c.binary("mul", reshaped(c.in(1), {}), w_scale);
  return {rescaled(c, product, scales, c.in(6), c.in(7))};
}

Outputs convolution_of_integers(const Call& c) {
  const Array w_zero = c.has(3) ? by_channel(c.in(1), c.in(3)) : Array{};
  const Array x = centred(c, c.in(0), c.find(2));
  const Array w = centred(c, c.in(1), c.has(3) ? &w_zero : nullptr);
  return {c.cast(integer_convolution(c, x, w, nullptr), DType::i32)};
}

/// A zero point of a that differs by row becomes a column.
Outputs matmul_of_integers(const Call& c) {
  Array a_zero = c.has(2) ? c.in(2) : constant(c.dtype(), 0);
  if (a_zero.values.size() > 1 && a_zero.shape.size() == 1) a_zero.shape.push_back(1);
  if (a_zero.values.size() == 1) a_zero.shape.clear();
  return {c.matmul(centred(c, c.in(0), &a_zero), centred(c, c.in(1), c.find(3)))};
}

}  // namespace

Adapters quantise_adapters() {
  return {{"QuantizeLinear", quantise},
          {"DequantizeLinear", dequantise},
          {"DynamicQuantizeLinear", dynamic_quantise},
          {"QLinearMatMul", quantised_matmul},
          {"QLinearConv", quantised_convolution},
          {"ConvInteger", convolution_of_integers},
          {"MatMulInteger", matmul_of_integers}};
}

}  // namespace mote::onnx
