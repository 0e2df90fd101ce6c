// SPDX-License-Identifier: Apache-2.0
// Converts to and from the 16-bit real formats: f16 (IEEE binary16) and bf16 (the upper half of
// binary32). Values are rounded once, straight from double, to nearest even: through float they
// would be rounded twice.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "mote/base/dtype.h"
#include "mote/base/export.h"

namespace MOTE_API mote {
namespace detail {

/// Returns the bits of x rounded to a 16-bit format with that number of stored fraction bits.
inline std::uint16_t encode16(double x, int fraction_bits, const RealFormat& format) {
  const unsigned infinity = (0x7FFFU >> fraction_bits) << fraction_bits;
  const unsigned sign = std::signbit(x) ? 0x8000U : 0U;
  if (std::isnan(x))
    return static_cast<std::uint16_t>(sign | infinity | (1U << (fraction_bits - 1)));
  const double magnitude = std::fabs(x);
  if (std::isinf(x)) return static_cast<std::uint16_t>(sign | infinity);
  const int least = format.least_exponent + fraction_bits;  // exponent of the least normal number
  const int exponent = magnitude == 0 ? least : std::max(std::ilogb(magnitude), least);
  // In units in the last place. In the sum, a fraction that rounds up carries into the exponent.
  const double units = std::nearbyint(std::ldexp(magnitude, fraction_bits - exponent));
  const unsigned steps = static_cast<unsigned>(exponent - least) << fraction_bits;
  if (steps + units >= infinity) return static_cast<std::uint16_t>(sign | infinity);
  return static_cast<std::uint16_t>(sign | (steps + static_cast<unsigned>(units)));
}

inline double decode16(std::uint16_t bits, int fraction_bits, const RealFormat& format) {
  const int code = bits & 0x7FFF;
  const int fraction = code & ((1 << fraction_bits) - 1);
  const int exponent = code >> fraction_bits;
  const double sign = (bits & 0x8000) != 0 ? -1.0 : 1.0;
  if (exponent == 0x7FFF >> fraction_bits) return fraction != 0 ? std::nan("") : sign * HUGE_VAL;
  const int hidden = exponent == 0 ? 0 : 1 << fraction_bits;
  return sign * std::ldexp(fraction + hidden, format.least_exponent + std::max(exponent, 1) - 1);
}

}  // namespace detail

inline std::uint16_t to_f16(double x) { return detail::encode16(x, 10, real_format(DType::f16)); }
inline std::uint16_t to_bf16(double x) { return detail::encode16(x, 7, real_format(DType::bf16)); }
inline double from_f16(std::uint16_t bits) {
  return detail::decode16(bits, 10, real_format(DType::f16));
}
inline double from_bf16(std::uint16_t bits) {
  return detail::decode16(bits, 7, real_format(DType::bf16));
}

}  // namespace mote
