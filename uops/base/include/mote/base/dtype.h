// SPDX-License-Identifier: Apache-2.0
// Defines the element types of tensors, and their names in program text, case text and messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "mote/base/export.h"

namespace MOTE_API mote {

/// The element types, in a fixed order that is part of the kernel ABI's registry. f16 is IEEE
/// binary16, bf16 the upper half of binary32; both are stored in 16 bits and never computed in.
enum class DType : std::uint8_t { f32, f64, i32, i64, boolean, f16, bf16, i8, u8 };

std::string_view name(
    DType dtype);  ///< "f32", "f64", "i32", "i64", "bool", "f16", "bf16", "i8", "u8"
std::optional<DType> parse_dtype(std::string_view text);  ///< nullopt when unknown
std::span<const DType> all_dtypes();
std::size_t size_of(DType dtype);  ///< bytes of one element
constexpr bool is_real(DType dtype) {
  return dtype == DType::f32 || dtype == DType::f64 || dtype == DType::f16 || dtype == DType::bf16;
}
constexpr bool is_integer(DType dtype) {
  return dtype == DType::i32 || dtype == DType::i64 || dtype == DType::i8 || dtype == DType::u8;
}
/// Returns true if a store to the dtype loses nothing of the values that programs compute: f64,
/// i64, bool.
constexpr bool is_wide(DType dtype) {
  return dtype == DType::f64 || dtype == DType::i64 || dtype == DType::boolean;
}

/// The values of an integer dtype or bool: least..greatest.
struct IntegerRange {
  std::int64_t least;
  std::int64_t greatest;
};
constexpr IntegerRange integer_range(DType dtype) {
  switch (dtype) {
    case DType::boolean:
      return {0, 1};
    case DType::u8:
      return {0, 255};
    case DType::i8:
      return {-128, 127};
    case DType::i32:
      return {INT32_MIN, INT32_MAX};
    default:
      return {INT64_MIN, INT64_MAX};
  }
}

/// The binary format of a real dtype: its values are k·2^e with |k| < 2^precision and e >=
/// least_exponent, up to greatest.
struct RealFormat {
  int precision;       ///< significant bits, including the hidden one
  int least_exponent;  ///< exponent of the unit of subnormal numbers
  double greatest;     ///< the greatest finite value
};
constexpr RealFormat real_format(DType dtype) {
  switch (dtype) {
    case DType::f16:
      return {11, -24, 65504.0};
    case DType::bf16:
      return {8, -133, 0x1.fep127};
    case DType::f32:
      return {24, -149, 0x1.fffffep127};
    default:
      return {53, -1074, 0x1.fffffffffffffp1023};
  }
}

}  // namespace mote
