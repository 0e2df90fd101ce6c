// SPDX-License-Identifier: Apache-2.0
// The element types of tensors: a table of their names, sizes, ranges and formats.
#pragma once

#include <array>
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

/// The values of an integer dtype or bool: least..greatest.
struct IntegerRange {
  std::int64_t least;
  std::int64_t greatest;
};

/// The binary format of a real dtype: its values are k·2^e with |k| < 2^precision and e >=
/// least_exponent, up to greatest.
struct RealFormat {
  int precision;       ///< significant bits, including the hidden one
  int least_exponent;  ///< exponent of the unit of subnormal numbers
  double greatest;     ///< the greatest finite value
};

/// A row of the table of dtypes.
struct DTypeInfo {
  enum class Kind : std::uint8_t { real, integer, boolean };

  DType dtype;
  std::string_view name;  ///< in program text, case text and messages
  Kind kind;
  std::size_t size;               ///< bytes of one element
  std::string_view c_type;        ///< as which C stores it
  std::uint8_t dlpack_code;       ///< DLDataTypeCode: 0 int, 1 unsigned, 2 float, 4 bfloat, 6 bool
  std::string_view npy;           ///< NumPy's type code without the byte order
  RealFormat format = {0, 0, 0};  ///< of reals
  IntegerRange range = {0, 0};    ///< of integers and bool
};

namespace detail {
// In the order of DType.
inline constexpr auto kDTypes = std::to_array<DTypeInfo>({
    {DType::f32, "f32", DTypeInfo::Kind::real, 4, "float", 2, "f4", {24, -149, 0x1.fffffep127}},
    {DType::f64,
     "f64",
     DTypeInfo::Kind::real,
     8,
     "double",
     2,
     "f8",
     {53, -1074, 0x1.fffffffffffffp1023}},
    {DType::i32,
     "i32",
     DTypeInfo::Kind::integer,
     4,
     "int32_t",
     0,
     "i4",
     {},
     {INT32_MIN, INT32_MAX}},
    {DType::i64,
     "i64",
     DTypeInfo::Kind::integer,
     8,
     "int64_t",
     0,
     "i8",
     {},
     {INT64_MIN, INT64_MAX}},
    {DType::boolean, "bool", DTypeInfo::Kind::boolean, 1, "uint8_t", 6, "b1", {}, {0, 1}},
    {DType::f16, "f16", DTypeInfo::Kind::real, 2, "uint16_t", 2, "f2", {11, -24, 65504.0}},
    {DType::bf16, "bf16", DTypeInfo::Kind::real, 2, "uint16_t", 4, "V2", {8, -133, 0x1.fep127}},
    {DType::i8, "i8", DTypeInfo::Kind::integer, 1, "int8_t", 0, "i1", {}, {-128, 127}},
    {DType::u8, "u8", DTypeInfo::Kind::integer, 1, "uint8_t", 1, "u1", {}, {0, 255}},
});
}  // namespace detail

/// Returns the row of a dtype; throws std::out_of_range for a value that is no dtype.
constexpr const DTypeInfo& info(DType dtype) {
  return detail::kDTypes.at(static_cast<std::size_t>(dtype));
}

/// The name; throws Error for a value that is no dtype.
std::string_view name(DType dtype);
std::optional<DType> parse_dtype(std::string_view text);  ///< nullopt when unknown
/// All dtypes: the reals, the integers, bool.
std::span<const DType> all_dtypes();
/// Bytes of one element; throws Error for a value that is no dtype.
std::size_t size_of(DType dtype);
constexpr bool is_real(DType dtype) { return info(dtype).kind == DTypeInfo::Kind::real; }
constexpr bool is_integer(DType dtype) { return info(dtype).kind == DTypeInfo::Kind::integer; }
/// A real of 16 bits: stored in them, computed with in f32 or wider.
constexpr bool is_narrow(DType dtype) { return is_real(dtype) && info(dtype).size == 2; }
/// The reals below f64, narrowest first.
inline constexpr std::array kShortReals = {DType::f16, DType::bf16, DType::f32};
/// A store to it loses nothing of the values that programs compute: f64, i64, bool.
constexpr bool is_wide(DType dtype) {
  return info(dtype).size == 8 || info(dtype).kind == DTypeInfo::Kind::boolean;
}

constexpr IntegerRange integer_range(DType dtype) {
  return is_real(dtype) ? info(DType::i64).range : info(dtype).range;
}
constexpr RealFormat real_format(DType dtype) {
  return is_real(dtype) ? info(dtype).format : info(DType::f64).format;
}

}  // namespace mote
