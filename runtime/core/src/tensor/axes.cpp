// SPDX-License-Identifier: Apache-2.0
// Lists of extents, strides and axes.
#include "mote/runtime/axes.h"

#include "mote/runtime/status.h"

namespace mote {

AxisList::AxisList(std::span<const std::int64_t> values) {
  if (values.size() > kMaxAxes)
    throw StatusError(MOTE_INVALID, "tensor: at most " + std::to_string(kMaxAxes) + " axes, got " +
                                        std::to_string(values.size()));
  std::ranges::copy(values, values_.begin());
  size_ = static_cast<int>(values.size());
}

void AxisList::push_back(std::int64_t value) {
  if (size_ == kMaxAxes)
    throw StatusError(MOTE_INVALID,
                      "tensor: at most " + std::to_string(kMaxAxes) + " axes, got one more");
  (*this)[size_++] = value;
}

void AxisList::erase(int axis) {
  std::copy(begin() + axis + 1, end(), values_.begin() + axis);
  (*this)[--size_] = 0;
}

std::string to_string(const AxisList& list) {
  std::string text = "[";
  for (int axis = 0; axis < list.size(); ++axis)
    text += (axis > 0 ? "," : "") + std::to_string(list[axis]);
  return text + "]";
}

}  // namespace mote
