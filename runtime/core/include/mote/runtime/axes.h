// SPDX-License-Identifier: Apache-2.0
// A short list of integers, one for each axis of a tensor: extents, strides, an order of axes. It
// holds its entries itself, so views are made without allocating.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "mote/base/export.h"
#include "mote/runtime/tensor_struct.h"

namespace MOTE_API mote {

inline constexpr int kMaxAxes = MOTE_MAX_AXES;

class AxisList {
 public:
  AxisList() = default;
  /// Throws StatusError for more than kMaxAxes entries.
  AxisList(std::span<const std::int64_t> values);
  AxisList(std::initializer_list<std::int64_t> values)
      : AxisList(std::span(values.begin(), values.size())) {}
  AxisList(const std::vector<std::int64_t>& values) : AxisList(std::span(values)) {}

  int size() const { return size_; }
  const std::int64_t* begin() const { return values_.data(); }
  const std::int64_t* end() const { return values_.data() + size_; }
  std::int64_t operator[](int axis) const { return values_[static_cast<std::size_t>(axis)]; }
  std::int64_t& operator[](int axis) { return values_[static_cast<std::size_t>(axis)]; }
  void push_back(std::int64_t value);
  void erase(int axis);

  friend bool operator==(const AxisList& a, const AxisList& b) { return std::ranges::equal(a, b); }

 private:
  int size_ = 0;
  std::array<std::int64_t, kMaxAxes> values_{};
};

std::string to_string(const AxisList& list);  ///< "[2,3,4]"

}  // namespace mote
