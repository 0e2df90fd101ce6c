// SPDX-License-Identifier: Apache-2.0
// Scalar functions that C++ lacks; the rows of the table of operations compute with them.
#pragma once

#include <cstdint>

#include "mote/base/integer_arithmetic.h"
#include "mote/uops/uop.h"

namespace mote::scalars {

inline Number truth(bool b) { return Number(std::int64_t{b}); }

/// Returns 1 or -1, or x itself if it is 0, -0 or NaN.
template <typename T>
constexpr T sign_of(T x) {
  return x > 0 ? T{1} : x < 0 ? T{-1} : x;
}
/// Returns the greatest power of two of which x is a multiple: infinity for 0, 0 for infinities and
/// NaN.
double lowest_bit_of(double x);
/// Returns the remainder with the sign of the divisor.
double floor_mod(double x, double y);
using mote::floor_mod;
/// Returns x/y without its fraction; 0 if y is 0.
std::int64_t truncating_div(std::int64_t x, std::int64_t y);
/// The power wraps. A negative exponent gives 0, except for the bases 1 and -1.
std::int64_t integer_power(std::int64_t base, std::int64_t exponent);
/// Shifts by less than 0 or more than 63 give 0, and -1 for shifted_right of a negative x.
std::int64_t shifted_left(std::int64_t x, std::int64_t y);
std::int64_t shifted_right(std::int64_t x, std::int64_t y);

}  // namespace mote::scalars
