// SPDX-License-Identifier: Apache-2.0
// One element of each dtype: how it is stored, and the value that it is read as: a double, or a
// 64-bit integer. Storing converts as casts do.
#pragma once

#include <concepts>
#include <cstdint>
#include <cstring>

#include "mote/base/cast.h"
#include "mote/base/dtype.h"
#include "mote/base/error.h"
#include "mote/base/float16.h"

namespace mote {

template <DType D>
struct Element;

template <>
struct Element<DType::f32> {
  using Stored = float;
  static double load(Stored x) { return x; }
  static Stored store(double x) { return static_cast<Stored>(x); }
};
template <>
struct Element<DType::f64> {
  using Stored = double;
  static double load(Stored x) { return x; }
  static Stored store(double x) { return x; }
};
template <>
struct Element<DType::f16> {
  using Stored = std::uint16_t;
  static double load(Stored x) { return from_f16(x); }
  static Stored store(double x) { return to_f16(x); }
};
template <>
struct Element<DType::bf16> {
  using Stored = std::uint16_t;
  static double load(Stored x) { return from_bf16(x); }
  static Stored store(double x) { return to_bf16(x); }
};

template <DType D, std::integral T>
struct IntegerElement {
  using Stored = T;
  static std::int64_t load(Stored x) { return x; }
  static Stored store(double x) {
    return static_cast<Stored>(real_to_integer(x, integer_range(D)));
  }
  static Stored store(std::int64_t x) { return static_cast<Stored>(wrap_integer(x, D)); }
};
template <>
struct Element<DType::i64> : IntegerElement<DType::i64, std::int64_t> {};
template <>
struct Element<DType::i32> : IntegerElement<DType::i32, std::int32_t> {};
template <>
struct Element<DType::i8> : IntegerElement<DType::i8, std::int8_t> {};
template <>
struct Element<DType::u8> : IntegerElement<DType::u8, std::uint8_t> {};
template <>
struct Element<DType::boolean> {
  using Stored = std::uint8_t;
  static std::int64_t load(Stored x) { return x != 0 ? 1 : 0; }
  static Stored store(double x) { return x != 0 ? 1 : 0; }
  static Stored store(std::int64_t x) { return x != 0 ? 1 : 0; }
};

template <DType D>
auto load_from(const void* memory) {
  typename Element<D>::Stored stored;
  std::memcpy(&stored, memory, sizeof stored);
  return Element<D>::load(stored);
}

/// Stores a value; an integer that becomes a real goes through double, as in programs.
template <DType D, typename Value>
void store_to(void* memory, Value value) {
  typename Element<D>::Stored stored;
  if constexpr (is_real(D))
    stored = Element<D>::store(static_cast<double>(value));
  else
    stored = Element<D>::store(value);
  std::memcpy(memory, &stored, sizeof stored);
}

/// Calls visit.template operator()<D>() for the dtype.
template <typename Visit>
decltype(auto) with_dtype(DType dtype, const Visit& visit) {
  switch (dtype) {
    case DType::f32:
      return visit.template operator()<DType::f32>();
    case DType::f64:
      return visit.template operator()<DType::f64>();
    case DType::f16:
      return visit.template operator()<DType::f16>();
    case DType::bf16:
      return visit.template operator()<DType::bf16>();
    case DType::i32:
      return visit.template operator()<DType::i32>();
    case DType::i64:
      return visit.template operator()<DType::i64>();
    case DType::i8:
      return visit.template operator()<DType::i8>();
    case DType::u8:
      return visit.template operator()<DType::u8>();
    case DType::boolean:
      return visit.template operator()<DType::boolean>();
  }
  throw InternalError("tensor: unknown dtype");
}

}  // namespace mote
