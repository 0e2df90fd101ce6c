// SPDX-License-Identifier: Apache-2.0
// Builds ranges axis by axis, from the least stride to the greatest: an axis whose steps stay
// within a range lengthens it, and a greater step repeats all ranges so far.
#include "run/near.h"

#include <algorithm>
#include <numeric>

namespace mote {
namespace {

/// The maximum number of ranges; beyond it they are merged with the memory between them.
constexpr std::int64_t kMaxRanges = 1 << 16;

void merge(std::vector<ElementRange>& ranges) {
  std::ranges::sort(ranges, {}, &ElementRange::begin);
  std::size_t last = 0;
  for (std::size_t k = 1; k < ranges.size(); ++k) {
    if (ranges[k].begin <= ranges[last].end) {
      ranges[last].end = std::max(ranges[last].end, ranges[k].end);
    } else {
      ranges[++last] = ranges[k];
    }
  }
  ranges.resize(last + 1);
}

std::vector<std::size_t> axes_by_stride(const std::vector<std::int64_t>& shape,
                                        const std::vector<std::int64_t>& strides) {
  std::vector<std::size_t> axes(shape.size());
  std::iota(axes.begin(), axes.end(), std::size_t{0});
  std::erase_if(axes, [&](std::size_t axis) { return shape[axis] < 2 || strides[axis] == 0; });
  std::ranges::stable_sort(axes, {}, [&](std::size_t axis) { return strides[axis]; });
  return axes;
}

}  // namespace

std::vector<ElementRange> near_ranges(const std::vector<std::int64_t>& shape,
                                      const std::vector<std::int64_t>& strides,
                                      std::size_t element_bytes) {
  if (volume(shape) == 0) return {};
  const std::int64_t near = kNearBytes / static_cast<std::int64_t>(element_bytes);
  std::vector<ElementRange> ranges = {{-near, near + 1}};
  for (const std::size_t axis : axes_by_stride(shape, strides)) {
    const std::int64_t extent = shape[axis];
    const std::int64_t stride = strides[axis];
    const bool joins = ranges.size() == 1 && stride <= ranges[0].end - ranges[0].begin;
    if (joins || extent > kMaxRanges / std::ssize(ranges)) {
      ranges = {{ranges.front().begin, ranges.back().end + (extent - 1) * stride}};
      continue;
    }
    std::vector<ElementRange> repeated;
    for (std::int64_t k = 0; k < extent; ++k)
      for (const ElementRange& r : ranges)
        repeated.push_back({r.begin + k * stride, r.end + k * stride});
    merge(repeated);
    ranges = std::move(repeated);
  }
  return ranges;
}

std::int64_t near_elements(const std::vector<std::int64_t>& shape, const Placement& placed,
                           std::size_t element_bytes) {
  std::int64_t elements = 0;
  for (const ElementRange& r : near_ranges(shape, placed.strides, element_bytes))
    elements += r.end - r.begin;
  return std::min(elements, placed.span);
}

}  // namespace mote
