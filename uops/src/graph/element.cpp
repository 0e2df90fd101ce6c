// SPDX-License-Identifier: Apache-2.0
// Elements in memory: one case for each dtype.
#include "mote/uops/element.h"

#include <cstring>

#include "mote/base/error.h"
#include "mote/base/float16.h"

namespace mote {
namespace {

template <typename T>
T get(const void* data, std::int64_t k) {
  T value;
  std::memcpy(&value,
              static_cast<const std::byte*>(data) + k * static_cast<std::int64_t>(sizeof(T)),
              sizeof(T));
  return value;
}

}  // namespace

Number load_element(const void* data, DType dtype, std::int64_t k) {
  switch (dtype) {
    case DType::f32:
      return static_cast<double>(get<float>(data, k));
    case DType::f64:
      return get<double>(data, k);
    case DType::f16:
      return from_f16(get<std::uint16_t>(data, k));
    case DType::bf16:
      return from_bf16(get<std::uint16_t>(data, k));
    case DType::i32:
      return std::int64_t{get<std::int32_t>(data, k)};
    case DType::i64:
      return get<std::int64_t>(data, k);
    case DType::i8:
      return std::int64_t{get<std::int8_t>(data, k)};
    case DType::u8:
    case DType::boolean:
      return std::int64_t{get<std::uint8_t>(data, k)};
  }
  throw InternalError("load_element: unknown dtype");
}

void store_element(void* data, DType dtype, std::int64_t k, const Number& n) {
  const Number stored = store_as(n, dtype);
  const auto put = [&](auto value) {
    const auto size = static_cast<std::int64_t>(sizeof value);
    std::memcpy(static_cast<std::byte*>(data) + k * size, &value, sizeof value);
  };
  switch (dtype) {
    case DType::f32:
      return put(static_cast<float>(stored.real()));
    case DType::f64:
      return put(stored.real());
    case DType::f16:
      return put(to_f16(stored.real()));
    case DType::bf16:
      return put(to_bf16(stored.real()));
    case DType::i32:
      return put(static_cast<std::int32_t>(stored.integer()));
    case DType::i64:
      return put(stored.integer());
    case DType::i8:
      return put(static_cast<std::int8_t>(stored.integer()));
    case DType::u8:
    case DType::boolean:
      return put(static_cast<std::uint8_t>(stored.integer()));
  }
  throw InternalError("store_element: unknown dtype");
}

}  // namespace mote
