// Element types of tensors, and their names in program text, case text and messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace mote {

/// The order is fixed: it is part of the kernel ABI's registry.
enum class DType : std::uint8_t { f32, f64, i32, i64, boolean };

std::string_view name(DType dtype);                       ///< "f32", "f64", "i32", "i64", "bool"
std::optional<DType> parse_dtype(std::string_view text);  ///< nullopt when unknown
std::span<const DType> all_dtypes();
std::size_t size_of(DType dtype);  ///< bytes of one element
constexpr bool is_real(DType dtype) { return dtype == DType::f32 || dtype == DType::f64; }
constexpr bool is_integer(DType dtype) { return dtype == DType::i32 || dtype == DType::i64; }

}  // namespace mote
