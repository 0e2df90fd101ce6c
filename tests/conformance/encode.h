// SPDX-License-Identifier: Apache-2.0
// Writes protobuf's wire format, for tests of its readers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace mote::onnx {

inline std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value > 0x7F; value >>= 7U) bytes.push_back(static_cast<char>(value | 0x80U));
  bytes.push_back(static_cast<char>(value));
  return bytes;
}
inline std::string field(std::uint64_t number, std::uint64_t value) {
  return varint(number << 3U) + varint(value);
}
inline std::string field(std::uint64_t number, std::string_view bytes) {
  return varint(number << 3U | 2U) + varint(bytes.size()) + std::string(bytes);
}
/// Returns `size` bytes, little-endian, as a field of its own: wire type 5 or 1.
inline std::string fixed_field(std::uint64_t number, std::uint64_t bits, std::size_t size) {
  std::string bytes = varint(number << 3U | (size == 4 ? 5U : 1U));
  for (std::size_t k = 0; k < size; ++k) bytes.push_back(static_cast<char>(bits >> 8 * k & 0xFFU));
  return bytes;
}

/// Returns a tensor of that element type and one axis, with its data in `fields`.
inline std::string tensor(std::uint64_t type, std::uint64_t extent, const std::string& fields) {
  return field(1, extent) + field(2, type) + fields;
}

}  // namespace mote::onnx
