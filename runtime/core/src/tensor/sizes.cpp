// SPDX-License-Identifier: Apache-2.0
// Computes sizes from metadata alone: every product and sum is checked, nothing is allocated or
// read.
#include <cstdint>
#include <string>

#include "mote/base/dtype.h"
#include "mote/runtime/status.h"
#include "mote/runtime/tensor.h"

namespace mote {
namespace {

std::string text_of(DType dtype, const AxisList& shape) {
  return std::string(name(dtype)) + to_string(shape);
}

[[noreturn]] void too_large(const std::string& tensor) {
  throw StatusError(MOTE_INVALID,
                    "tensor: the size of " + tensor + " is beyond 2^63-1 bytes (64-bit overflow)");
}

void check_extents(DType dtype, const AxisList& shape) {
  if (static_cast<std::size_t>(dtype) >= all_dtypes().size())
    throw StatusError(MOTE_INVALID, "tensor: dtype " + std::to_string(static_cast<int>(dtype)) +
                                        " is none of mote's");
  for (int axis = 0; axis < shape.size(); ++axis)
    if (shape[axis] < 0)
      throw StatusError(MOTE_INVALID, "tensor: extents must be at least 0, got " +
                                          std::to_string(shape[axis]) + " for axis " +
                                          std::to_string(axis) + " of " + text_of(dtype, shape));
}

}  // namespace

AxisList checked_strides(DType dtype, const AxisList& shape) {
  check_extents(dtype, shape);
  AxisList strides = shape;
  auto bytes = static_cast<std::int64_t>(size_of(dtype));
  std::int64_t stride = 1;
  for (int axis = shape.size(); axis-- > 0;) {
    strides[axis] = stride;
    const std::int64_t extent = shape[axis] > 0 ? shape[axis] : 1;
    if (__builtin_mul_overflow(bytes, extent, &bytes)) too_large(text_of(dtype, shape));
    stride *= extent;
  }
  return strides;
}

std::int64_t checked_span(DType dtype, const AxisList& shape, const AxisList& strides) {
  check_extents(dtype, shape);
  if (shape.size() != strides.size())
    throw StatusError(MOTE_INVALID, "tensor: " + text_of(dtype, shape) + " needs " +
                                        std::to_string(shape.size()) + " strides, got " +
                                        std::to_string(strides.size()));
  const auto size = static_cast<std::int64_t>(size_of(dtype));
  std::int64_t lowest = 0;  // these count elements from the first
  std::int64_t highest = 0;
  std::int64_t count = 1;
  bool overflow = false;
  bool empty = false;
  for (int axis = 0; axis < shape.size(); ++axis) {
    empty = empty || shape[axis] == 0;
    const std::int64_t steps = shape[axis] > 0 ? shape[axis] - 1 : 0;
    std::int64_t reach = 0;
    overflow |= __builtin_mul_overflow(steps, strides[axis], &reach);
    std::int64_t& end = reach < 0 ? lowest : highest;
    overflow |= __builtin_add_overflow(end, reach, &end);
    overflow |= __builtin_mul_overflow(count, steps + 1, &count);
  }
  std::int64_t elements = 0;
  std::int64_t bytes = 0;
  overflow |= __builtin_sub_overflow(highest, lowest, &elements);
  overflow |= __builtin_add_overflow(elements, 1, &elements);
  overflow |= __builtin_mul_overflow(elements, size, &bytes);
  overflow |= __builtin_mul_overflow(count, size, &count);
  if (overflow) too_large(text_of(dtype, shape) + " with strides " + to_string(strides));
  return empty ? 0 : bytes;
}

}  // namespace mote
