// SPDX-License-Identifier: Apache-2.0
// Chooses which memory of a tensor is poisoned, compared and counted: all of it if it is dense, and
// otherwise what lies within kNearBytes of an element. A tensor whose rows are gigabytes apart then
// costs a few pages for each row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "mote/oracle/layout.h"

namespace mote {

constexpr std::int64_t kNearBytes = std::int64_t{16} << 10U;

/// The elements begin … end - 1, counted from the first element of the tensor.
struct ElementRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  friend bool operator==(const ElementRange&, const ElementRange&) = default;
};

/// The ranges in order, disjoint; none if the shape has no element. Each element of the tensor lies
/// in one of them, with the kNearBytes before and after it.
std::vector<ElementRange> near_ranges(const std::vector<std::int64_t>& shape,
                                      const std::vector<std::int64_t>& strides,
                                      std::size_t element_bytes);

/// The number of elements of memory that a tensor takes: its span, or the near ranges if these are
/// smaller.
std::int64_t near_elements(const std::vector<std::int64_t>& shape, const Placement& placed,
                           std::size_t element_bytes);

}  // namespace mote
