// SPDX-License-Identifier: Apache-2.0
// Plans a conv2d: a tile holds as many output rows as keep the columns within the cache.
#include "conv2d_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <span>

#include "kernels.h"
#include "matrix.h"

namespace mote::openblas {
namespace {

constexpr std::int64_t kColumnElements = std::int64_t{1} << 18;

/// Returns the stride of several axes taken as one, if row-major order has one.
std::optional<std::int64_t> merged_stride(std::span<const std::int64_t> shape,
                                          std::span<const std::int64_t> strides) {
  std::int64_t extent = 1;
  std::int64_t stride = 1;
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    if (shape[axis] == 1) continue;
    if (extent == 1) stride = strides[axis];
    if (strides[axis] != stride * extent) return std::nullopt;
    extent *= shape[axis];
  }
  return stride;
}

Check plan_tiles(ConvPlan& plan) {
  const auto& w = plan.w;
  const auto& y = plan.y;
  const std::int64_t limit = std::numeric_limits<int>::max();
  const std::int64_t plane = w.shape[2] * w.shape[3];
  if (w.shape[1] > 0 && plane > limit / w.shape[1])
    return unsupported(
        fmt::format("{}: sums of more than {} terms do not fit BLAS's integers", w.text(), limit));
  plan.taps = w.shape[1] * plane;
  const std::int64_t row = std::max<std::int64_t>(1, plan.taps * y.shape[3]);
  plan.tile_rows =
      std::clamp<std::int64_t>(kColumnElements / row, 1, std::max<std::int64_t>(1, y.shape[2]));
  // A tile has at least one row, so only the tile of an empty sum can be too wide.
  if (y.shape[3] > 0)
    plan.tile_rows = std::min(plan.tile_rows, std::max<std::int64_t>(1, limit / y.shape[3]));

  plan.w_tap_stride = merged_stride(std::span(w.shape).subspan(1), std::span(w.strides).subspan(1));
  plan.y_pixel_stride =
      merged_stride(std::span(y.shape).subspan(2), std::span(y.strides).subspan(2));
  const Matrix<char> weights{nullptr, plan.group_outputs(), plan.taps, w.strides[0],
                             plan.w_tap_stride.value_or(0)};
  const Matrix<char> tile{nullptr, plan.group_outputs(), plan.tile_rows * y.shape[3], y.strides[1],
                          plan.y_pixel_stride.value_or(0)};
  plan.pack_weights = !plan.w_tap_stride || !is_blas_layout(weights);
  plan.spare_tile = !plan.y_pixel_stride || !is_blas_layout(tile);
  return {};
}

}  // namespace

Check make_conv_plan(const mote_call& call, ConvPlan& plan) {
  if (auto no = read_conv2d(call, {DType::f32, DType::f64}, plan)) return no;
  return plan_tiles(plan);
}

}  // namespace mote::openblas
