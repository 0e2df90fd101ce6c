// SPDX-License-Identifier: Apache-2.0
// Reads a call of conv2d, with OH = floor((H + top + bottom - dilation (KH - 1) - 1) / stride) + 1,
// and likewise OW.
#include "support/conv2d_call.h"

#include <fmt/format.h>

#include <string>

#include "mote/base/integer_arithmetic.h"

namespace mote::backend {
namespace {

Check read_params(const mote_call& call, Conv2dCall& conv) {
  if (auto no = check_param_names(call, {"stride0", "stride1", "dilation0", "dilation1", "pads0",
                                         "pads1", "pads2", "pads3", "groups"}))
    return no;
  for (std::size_t axis = 0; axis < 2; ++axis) {
    const std::string n = std::to_string(axis);
    if (auto no = read_integer(call, ("stride" + n).c_str(), 1, conv.stride[axis])) return no;
    if (auto no = read_integer(call, ("dilation" + n).c_str(), 1, conv.dilation[axis])) return no;
  }
  for (std::size_t side = 0; side < 4; ++side)
    if (auto no = read_integer(call, ("pads" + std::to_string(side)).c_str(), 0, conv.pads[side]))
      return no;
  return read_integer(call, "groups", 1, conv.groups);
}

Check read_operands(const mote_call& call, std::initializer_list<DType> accepted,
                    Conv2dCall& conv) {
  if (auto no = check_counts(call, 2, 3, 1)) return no;
  if (auto no = read_input(call, 0, "x", 4, 4, conv.x)) return no;
  if (auto no = read_input(call, 1, "w", 4, 4, conv.w)) return no;
  if (auto no = read_output(call, 0, "y", 4, 4, conv.y)) return no;
  if (auto no = check_dtypes({&conv.x, &conv.w, &conv.y}, accepted)) return no;
  if (auto no = check_extents({&conv.x, &conv.w, &conv.y})) return no;
  conv.has_bias = has_input(call, 2);
  if (!conv.has_bias) return {};
  if (auto no = read_input(call, 2, "b", 1, 1, conv.bias)) return no;
  if (auto no = check_dtypes({&conv.x, &conv.bias}, accepted)) return no;
  return check_shape(conv.bias, {conv.w.shape[0]});
}

/// Returns the output's extent along one image axis; not positive if the kernel does not fit.
std::int64_t output_extent(const Conv2dCall& conv, std::size_t axis) {
  const std::int64_t reach = conv.dilation[axis] * (conv.w.shape[axis + 2] - 1) + 1;
  const std::int64_t padded = conv.x.shape[axis + 2] + conv.pads[axis] + conv.pads[axis + 2];
  return floor_div(padded - reach, conv.stride[axis]) + 1;
}

Check check_shapes(const Conv2dCall& conv) {
  const std::int64_t channels = conv.x.shape[1];
  const std::int64_t outputs = conv.w.shape[0];
  if (conv.w.shape[1] * conv.groups != channels)
    return invalid(fmt::format("channels of x and w differ: {} and {} in each of {} groups",
                               channels, conv.w.shape[1], conv.groups));
  if (outputs % conv.groups != 0)
    return invalid(
        fmt::format("{} output channels do not divide into {} groups", outputs, conv.groups));
  const std::int64_t oh = output_extent(conv, 0);
  const std::int64_t ow = output_extent(conv, 1);
  if (oh < 0 || ow < 0)
    return invalid(fmt::format("the kernel does not fit: the output would be {} by {}", oh, ow));
  return check_shape(conv.y, {conv.x.shape[0], outputs, oh, ow});
}

}  // namespace

Check read_conv2d(const mote_call& call, std::initializer_list<DType> accepted, Conv2dCall& conv) {
  if (auto no = read_params(call, conv)) return no;
  if (auto no = read_operands(call, accepted, conv)) return no;
  return check_shapes(conv);
}

}  // namespace mote::backend
