// Checks a conv2d call and plans it: OH = floor((H + top + bottom - dilation (KH - 1) - 1) /
// stride)
// + 1, and likewise OW; a tile holds as many output rows as keep the columns within the cache.
#include "conv2d_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <span>
#include <string>

#include "matrix.h"

namespace mote::openblas {
namespace {

constexpr std::int64_t kColumnElements = std::int64_t{1} << 18;

Check read_params(const mote_call& call, ConvPlan& plan) {
  if (auto no = check_param_names(call, {"stride0", "stride1", "dilation0", "dilation1", "pads0",
                                         "pads1", "pads2", "pads3", "groups"}))
    return no;
  for (std::size_t axis = 0; axis < 2; ++axis) {
    const std::string n = std::to_string(axis);
    if (auto no = read_integer(call, ("stride" + n).c_str(), 1, plan.stride[axis])) return no;
    if (auto no = read_integer(call, ("dilation" + n).c_str(), 1, plan.dilation[axis])) return no;
  }
  for (std::size_t side = 0; side < 4; ++side)
    if (auto no = read_integer(call, ("pads" + std::to_string(side)).c_str(), 0, plan.pads[side]))
      return no;
  return read_integer(call, "groups", 1, plan.groups);
}

Check read_operands(const mote_call& call, ConvPlan& plan) {
  if (auto no = check_counts(call, 2, 3, 1)) return no;
  if (auto no = read_input(call, 0, "x", 4, 4, plan.x)) return no;
  if (auto no = read_input(call, 1, "w", 4, 4, plan.w)) return no;
  if (auto no = read_output(call, 0, "y", 4, 4, plan.y)) return no;
  if (auto no = check_dtypes({&plan.x, &plan.w, &plan.y})) return no;
  if (auto no = check_extents({&plan.x, &plan.w, &plan.y})) return no;
  plan.has_bias = has_input(call, 2);
  if (!plan.has_bias) return {};
  if (auto no = read_input(call, 2, "b", 1, 1, plan.bias)) return no;
  if (auto no = check_dtypes({&plan.x, &plan.bias})) return no;
  return check_shape(plan.bias, {plan.w.shape[0]});
}

std::int64_t floor_divide(std::int64_t a, std::int64_t b) { return (a - ((a % b) + b) % b) / b; }

/// The output's extent along one image axis; negative where the kernel does not fit at all.
std::int64_t output_extent(const ConvPlan& plan, std::size_t axis) {
  const std::int64_t reach = plan.dilation[axis] * (plan.w.shape[axis + 2] - 1) + 1;
  const std::int64_t padded = plan.x.shape[axis + 2] + plan.pads[axis] + plan.pads[axis + 2];
  return floor_divide(padded - reach, plan.stride[axis]) + 1;
}

Check check_shapes(const ConvPlan& plan) {
  const std::int64_t channels = plan.x.shape[1];
  const std::int64_t outputs = plan.w.shape[0];
  if (plan.w.shape[1] * plan.groups != channels)
    return invalid(fmt::format("channels of x and w differ: {} and {} in each of {} groups",
                               channels, plan.w.shape[1], plan.groups));
  if (outputs % plan.groups != 0)
    return invalid(
        fmt::format("{} output channels do not divide into {} groups", outputs, plan.groups));
  const std::int64_t oh = output_extent(plan, 0);
  const std::int64_t ow = output_extent(plan, 1);
  if (oh < 0 || ow < 0)
    return invalid(fmt::format("the kernel does not fit: the output would be {} by {}", oh, ow));
  return check_shape(plan.y, {plan.x.shape[0], outputs, oh, ow});
}

/// The stride of several axes taken as one, where row-major order walks them evenly.
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
  // With a tile of at least one row, an empty sum's tile is the only one that can be too wide.
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
  if (auto no = read_params(call, plan)) return no;
  if (auto no = read_operands(call, plan)) return no;
  if (auto no = check_shapes(plan)) return no;
  return plan_tiles(plan);
}

}  // namespace mote::openblas
