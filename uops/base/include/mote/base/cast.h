// SPDX-License-Identifier: Apache-2.0
// Defines the casts between numbers that every part of mote agrees on: a real becomes an integer by
// truncation and saturates, NaN is 0; an integer that does not fit wraps; bool is "not zero".
#pragma once

#include <cmath>
#include <cstdint>

#include "mote/base/dtype.h"
#include "mote/base/export.h"

namespace MOTE_API mote {

inline std::int64_t real_to_integer(double x, IntegerRange range) {
  if (std::isnan(x)) return 0;
  const double t = std::trunc(x);
  if (t <= static_cast<double>(range.least)) return range.least;
  if (t >= static_cast<double>(range.greatest)) return range.greatest;
  return static_cast<std::int64_t>(t);
}

/// Returns x modulo 2^bits in the range of an integer dtype.
inline std::int64_t wrap_integer(std::int64_t x, DType dtype) {
  if (!is_integer(dtype)) return x;
  const auto unused = static_cast<unsigned>(64 - 8 * info(dtype).size);
  const std::uint64_t high = static_cast<std::uint64_t>(x) << unused;
  if (info(dtype).range.least < 0) return static_cast<std::int64_t>(high) >> unused;
  return static_cast<std::int64_t>(high >> unused);
}

}  // namespace mote
