// SPDX-License-Identifier: Apache-2.0
// The locations of a tensor's elements in memory: order of axes, gaps after rows or along any axis,
// an offset, axes that repeat (stride 0). Its text is any combination of `:nhwc`, `:t`,
// `:perm0231`, `:pad3`, `:gap1x5`, `:off2`, `:bcast1`; empty text is row-major.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "mote/base/export.h"

namespace MOTE_API mote {

/// The stride of an axis exceeds the extent of the axes inside it by that number of elements.
struct AxisGap {
  int axis = 0;
  std::int64_t elements = 0;
  friend bool operator==(const AxisGap&, const AxisGap&) = default;
};

struct CaseLayout {
  std::vector<int> order;          ///< axes from outermost to innermost in memory; empty: row-major
  std::int64_t pad = 0;            ///< elements that follow each innermost row
  std::int64_t offset = 0;         ///< elements before the first
  std::vector<int> repeated;       ///< sorted axes of stride 0; inputs only
  std::vector<AxisGap> gaps = {};  ///< sorted by axis, each axis at most once

  bool has_gaps() const { return pad != 0 || !gaps.empty(); }
  bool contiguous() const {
    return order.empty() && !has_gaps() && offset == 0 && repeated.empty();
  }
  friend bool operator==(const CaseLayout&, const CaseLayout&) = default;
};

/// Parses "" or ":t:pad3:gap0x2"; throws Error that lists the known suffixes.
CaseLayout parse_layout(std::string_view text, int rank);
/// The text that parse_layout() reads back to an equal layout.
std::string to_string(const CaseLayout& layout, int rank);
/// The order 0, 2, …, rank-1, 1: NHWC for a logical NCHW. The rank is 3 or more.
std::vector<int> nhwc_order(int rank);
/// The order with the last two axes swapped. The rank is 2 or more.
std::vector<int> swapped_order(int rank);

/// The strides in elements for a shape, and the memory that they span.
struct Placement {
  std::vector<std::int64_t> strides;
  std::int64_t offset = 0;
  std::int64_t span = 0;  ///< elements, including offset and gaps
};
/// Throws Error when the span does not fit 63 bits.
Placement place(const std::vector<std::int64_t>& shape, const CaseLayout& layout);

/// The number of elements of a shape; throws Error on overflow.
std::int64_t volume(const std::vector<std::int64_t>& shape);

/// Calls f(linear row-major index, sum of index·strides) for every element, in row-major order.
template <typename F>
void for_each_element(const std::vector<std::int64_t>& shape,
                      const std::vector<std::int64_t>& strides, F&& f) {
  const std::int64_t count = volume(shape);
  // The last axes, as far as they lie in memory like one.
  std::size_t outer = shape.size();
  std::int64_t extent = 1, stride = 1;
  while (outer > 0 && (extent == 1 || strides[outer - 1] == stride * extent)) {
    --outer;
    if (extent == 1) stride = strides[outer];
    extent *= shape[outer];
  }
  std::vector<std::int64_t> index(outer, 0);
  std::int64_t begin = 0;
  for (std::int64_t linear = 0; linear < count; linear += extent) {
    if (stride == 1) {
      for (std::int64_t k = 0; k < extent; ++k) f(linear + k, begin + k);
    } else {
      for (std::int64_t k = 0; k < extent; ++k) f(linear + k, begin + k * stride);
    }
    for (std::size_t k = outer; k-- > 0;) {
      begin += strides[k];
      if (++index[k] < shape[k]) break;
      begin -= strides[k] * shape[k];
      index[k] = 0;
    }
  }
}

}  // namespace mote
