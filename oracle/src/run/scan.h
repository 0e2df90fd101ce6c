// SPDX-License-Identifier: Apache-2.0
// Questions about all elements of a tensor. Each is one loop for the dtype, since a case may have
// 100,000 elements and looking the dtype up for each of them takes longer than the comparison.
#pragma once

#include <cstdint>
#include <vector>

#include "mote/base/export.h"
#include "run/buffer.h"

namespace MOTE_API mote {

/// The elements from `begin` to `end` - 1 of a tensor.
struct Stretch {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

/// The first element of the stretch that is not the same value in both (Dense::same), or its end.
/// Both have one dtype.
std::int64_t first_difference(const Dense& a, const Dense& b, Stretch of);
/// True if the stretch has the same bits in both, which have one dtype.
bool same_bits(const Dense& a, const Dense& b, Stretch of);
/// The first element of the stretch that holds the first poison of outputs in `first` and the
/// second in `second`, so that nothing wrote it; otherwise the end.
std::int64_t first_unwritten(const Dense& first, const Dense& second, Stretch of);
/// True if the tensors of the lists have the same values, in their order.
bool same_values(const std::vector<Dense>& a, const std::vector<Dense>& b);
/// True if every element is +0, -0, 0 or false.
bool all_zero(const Dense& x);
/// True if an element is NaN or an infinity.
bool has_special(const Dense& x);

}  // namespace mote
