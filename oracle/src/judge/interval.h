// SPDX-License-Identifier: Apache-2.0
// The interval of each element of an output, and whether what a kernel gave lies in it.
#pragma once

#include <cstdint>
#include <vector>

#include "run/buffer.h"
#include "run/scan.h"

namespace mote {

/// The ends of one output's elements, before they are rounded to its dtype; empty if the output is
/// certain: it must equal the reference.
struct Interval {
  std::vector<Dense> ends;  ///< the lower and the upper ends
  bool certain() const { return ends.empty(); }
};

/// True if the element lies between the ends, rounded to its dtype; NaN is accepted if both ends
/// are NaN, and anything if nothing is known.
bool accepts(const Interval& x, std::int64_t at, const Dense& got);
/// True if nothing is known about the element.
bool is_indeterminate(const Interval& x, std::int64_t at, DType dtype);
/// The distance from the reference as a share of what the error bound allows; 0 if that is
/// infinite.
double error_share(const Interval& x, std::int64_t at, const Dense& got, const Dense& expected);

/// The end of the stretch's first part of elements that need no other question: each is the same as
/// expected, or is a number that `x` accepts between finite ends. `error` becomes the greatest
/// error_share of these, if it was less.
std::int64_t end_of_accepted(const Interval& x, Stretch of, const Dense& got, const Dense& expected,
                             double& error);

}  // namespace mote
