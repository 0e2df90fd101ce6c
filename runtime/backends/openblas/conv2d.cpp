// SPDX-License-Identifier: Apache-2.0
// conv2d: y[n,co,oh,ow] = bias[co] + sum over cg,kh,kw of
//   x[n, g CG + cg, oh stride0 - pads0 + kh dilation0, ow stride1 - pads1 + kw dilation1]
//   w[co,cg,kh,kw]
// with g = co / (CO / groups), f32 or f64, any strides (which express NHWC). It uses im2col into
// tiles of whole output rows, then one product per image, group and tile. Taps outside the image
// are zeros that are multiplied: the contract's form is "padding_multiplied".
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <memory>

#include "conv2d_plan.h"
#include "kernels.h"
#include "matrix.h"

namespace mote::openblas {
namespace {

/// Returns the weights of one group as CO/groups × CG·KH·KW, in place.
template <typename T>
Matrix<const T> weights_of(const ConvPlan& plan, std::int64_t group) {
  const std::int64_t offset = group * plan.group_outputs() * plan.w.strides[0];
  return {element<const T>(plan.w.data, offset), plan.group_outputs(), plan.taps, plan.w.strides[0],
          plan.w_tap_stride.value_or(0)};
}

/// Returns the weights copied row by row into `packed`, for layouts that BLAS cannot take.
template <typename T>
Matrix<const T> packed_weights(const ConvPlan& plan, std::int64_t group, T* packed) {
  const Operand& w = plan.w;
  const T* from = element<const T>(w.data, group * plan.group_outputs() * w.strides[0]);
  T* to = packed;
  for (std::int64_t co = 0; co < plan.group_outputs(); ++co)
    for (std::int64_t c = 0; c < w.shape[1]; ++c)
      for (std::int64_t kh = 0; kh < w.shape[2]; ++kh)
        for (std::int64_t kw = 0; kw < w.shape[3]; ++kw)
          *to++ =
              from[co * w.strides[0] + c * w.strides[1] + kh * w.strides[2] + kw * w.strides[3]];
  return {packed, plan.group_outputs(), plan.taps, plan.taps, 1};
}

/// Fills one row of im2col for one output row: the values that tap kw of image row `x` meets.
template <typename T>
void gather_row(const ConvPlan& plan, const T* x, bool inside, std::int64_t kw, T* to) {
  const std::int64_t width = plan.x.shape[3];
  const std::int64_t begin = kw * plan.dilation[1] - plan.pads[1];
  for (std::int64_t ow = 0; ow < plan.y.shape[3]; ++ow) {
    const std::int64_t iw = begin + ow * plan.stride[1];
    to[ow] = inside && iw >= 0 && iw < width ? x[iw * plan.x.strides[3]] : T{0};
  }
}

/// Returns output rows [first, first + rows) of one image and group as CG·KH·KW × rows·OW.
template <typename T>
Matrix<const T> im2col(const ConvPlan& plan, std::int64_t n, std::int64_t group, std::int64_t first,
                       std::int64_t rows, T* columns) {
  const Operand& x = plan.x;
  const T* image =
      element<const T>(x.data, n * x.strides[0] + group * plan.w.shape[1] * x.strides[1]);
  T* to = columns;
  for (std::int64_t c = 0; c < plan.w.shape[1]; ++c)
    for (std::int64_t kh = 0; kh < plan.w.shape[2]; ++kh)
      for (std::int64_t kw = 0; kw < plan.w.shape[3]; ++kw)
        for (std::int64_t oh = first; oh < first + rows; ++oh, to += plan.y.shape[3]) {
          const std::int64_t ih = oh * plan.stride[0] - plan.pads[0] + kh * plan.dilation[0];
          const bool inside = ih >= 0 && ih < x.shape[2];
          gather_row(plan, inside ? image + c * x.strides[1] + ih * x.strides[2] : image, inside,
                     kw, to);
        }
  const std::int64_t width = rows * plan.y.shape[3];
  return {columns, plan.taps, width, width, 1};
}

/// Returns the tile of y that the rows fill, as CO/groups × rows·OW, if its layout is a matrix.
template <typename T>
Matrix<T> tile_of_y(const ConvPlan& plan, T* y, std::int64_t rows) {
  return {y, plan.group_outputs(), rows * plan.y.shape[3], plan.y.strides[1],
          plan.y_pixel_stride.value_or(0)};
}

template <typename T>
void scatter_tile(const ConvPlan& plan, const Matrix<T>& tile, std::int64_t rows, T* y) {
  const std::int64_t width = plan.y.shape[3];
  for (std::int64_t co = 0; co < tile.rows; ++co)
    for (std::int64_t row = 0; row < rows; ++row)
      for (std::int64_t ow = 0; ow < width; ++ow)
        y[co * plan.y.strides[1] + row * plan.y.strides[2] + ow * plan.y.strides[3]] =
            tile.at(co, row * width + ow);
}

template <typename T>
void start_with_bias(const ConvPlan& plan, std::int64_t group, const Matrix<T>& tile) {
  const T* bias = static_cast<const T*>(plan.bias.data);
  for (std::int64_t co = 0; co < tile.rows; ++co) {
    const std::int64_t channel = group * tile.rows + co;
    fill(Matrix<T>{&tile.at(co, 0), 1, tile.cols, tile.row_stride, tile.col_stride},
         bias[channel * plan.bias.strides[0]]);
  }
}

/// Computes all images of one group; the workspace holds weights, columns and a tile of y, as
/// planned.
template <typename T>
void run_group(const ConvPlan& plan, std::int64_t group, T* workspace) {
  T* columns = workspace + plan.packed_elements();
  T* spare_tile = columns + plan.column_elements();
  const Matrix<const T> weights =
      plan.pack_weights ? packed_weights(plan, group, workspace) : weights_of<T>(plan, group);
  const Operand& y = plan.y;
  for (std::int64_t n = 0; n < y.shape[0]; ++n)
    for (std::int64_t first = 0; first < y.shape[2]; first += plan.tile_rows) {
      const std::int64_t rows = std::min(plan.tile_rows, y.shape[2] - first);
      T* to = element<T>(y.data, n * y.strides[0] + group * plan.group_outputs() * y.strides[1] +
                                     first * y.strides[2]);
      const std::int64_t width = rows * y.shape[3];
      const Matrix<T> tile = plan.spare_tile
                                 ? Matrix<T>{spare_tile, plan.group_outputs(), width, width, 1}
                                 : tile_of_y(plan, to, rows);
      if (plan.has_bias) start_with_bias(plan, group, tile);
      multiply(T{1}, weights, im2col(plan, n, group, first, rows, columns), plan.has_bias, tile);
      if (plan.spare_tile) scatter_tile(plan, tile, rows, to);
    }
}

template <typename T>
void execute(const ConvPlan& plan, const mote_call& call) {
  const std::size_t bytes = plan.workspace_elements() * sizeof(T);
  std::unique_ptr<T[]> own;
  T* workspace = static_cast<T*>(call.workspace);
  const bool aligned = reinterpret_cast<std::uintptr_t>(workspace) % alignof(T) == 0;
  if (workspace == nullptr || call.workspace_bytes < bytes || !aligned) {
    own.reset(new T[plan.workspace_elements()]);
    workspace = own.get();
  }
  for (std::int64_t group = 0; group < plan.groups; ++group) run_group(plan, group, workspace);
}

}  // namespace

mote_status can_run_conv2d(const mote_call* call) {
  return guarded(*call, [&]() -> Check {
    ConvPlan plan;
    return make_conv_plan(*call, plan);
  });
}

std::size_t workspace_of_conv2d(const mote_call* call) {
  std::size_t bytes = 0;
  guarded(*call, [&]() -> Check {
    ConvPlan plan;
    if (auto no = make_conv_plan(*call, plan)) return no;
    bytes = plan.workspace_elements() * size_of(plan.y.dtype);
    return {};
  });
  return bytes;
}

mote_status run_conv2d(const mote_call* call, void*) {
  return guarded(*call, [&]() -> Check {
    ConvPlan plan;
    if (auto no = make_conv_plan(*call, plan)) return no;
    plan.y.dtype == DType::f32 ? execute<float>(plan, *call) : execute<double>(plan, *call);
    return {};
  });
}

}  // namespace mote::openblas
