// SPDX-License-Identifier: Apache-2.0
// Reads protobuf's wire format: varints of 7 bits a byte, fixed values little-endian, lengths
// checked.
#include "wire.h"

#include <fmt/format.h>

#include <bit>

#include "mote/base/error.h"

namespace mote::onnx {
namespace {

[[noreturn]] void reject(const Field& field, std::string_view expected) {
  throw Error(fmt::format("protobuf: field {} has wire type {}, expected {}", field.number,
                          static_cast<int>(field.type), expected));
}

}  // namespace

std::string_view WireReader::take(std::uint64_t count) {
  if (count > rest_.size()) {
    throw Error(fmt::format("protobuf: cut off: {} bytes announced, {} left", count, rest_.size()));
  }
  const std::string_view taken = rest_.substr(0, count);
  rest_.remove_prefix(count);
  return taken;
}

std::uint64_t WireReader::varint() {
  std::uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    const auto byte = static_cast<std::uint8_t>(take(1).front());
    if (shift == 63 && byte > 1) break;  // the tenth byte holds one bit
    value |= std::uint64_t{byte & 0x7FU} << shift;
    if ((byte & 0x80U) == 0) return value;
  }
  throw Error("protobuf: a varint is longer than 64 bits");
}

std::uint64_t WireReader::fixed(int bytes) {
  std::uint64_t value = 0;
  int shift = 0;
  for (const char c : take(static_cast<std::uint64_t>(bytes))) {
    value |= std::uint64_t{static_cast<std::uint8_t>(c)} << shift;
    shift += 8;
  }
  return value;
}

Field WireReader::next() {
  const std::uint64_t key = varint();
  Field field{.number = key >> 3U, .type = static_cast<WireType>(key & 7U), .bits = 0, .bytes = {}};
  if (field.number == 0) throw Error("protobuf: a field has number 0");
  switch (field.type) {
    case WireType::varint:
      field.bits = varint();
      return field;
    case WireType::fixed64:
      field.bits = fixed(8);
      return field;
    case WireType::bytes:
      field.bytes = take(varint());
      return field;
    case WireType::fixed32:
      field.bits = fixed(4);
      return field;
  }
  throw Error(fmt::format("protobuf: field {} has wire type {}, which is not read", field.number,
                          key & 7U));
}

std::int64_t integer_of(const Field& field) {
  if (field.type != WireType::varint) reject(field, "a varint");
  return static_cast<std::int64_t>(field.bits);
}

float float_of(const Field& field) {
  if (field.type != WireType::fixed32) reject(field, "four bytes");
  return std::bit_cast<float>(static_cast<std::uint32_t>(field.bits));
}

std::string_view bytes_of(const Field& field) {
  if (field.type != WireType::bytes) reject(field, "bytes");
  return field.bytes;
}

void append_integers(const Field& field, std::vector<std::int64_t>& values) {
  if (field.type == WireType::varint) {
    values.push_back(static_cast<std::int64_t>(field.bits));
    return;
  }
  WireReader packed(bytes_of(field));
  while (!packed.done()) values.push_back(static_cast<std::int64_t>(packed.varint()));
}

void append_fixed(const Field& field, WireType type, std::vector<std::uint64_t>& values) {
  if (field.type == type) {
    values.push_back(field.bits);
    return;
  }
  const std::string_view bytes = bytes_of(field);
  const std::size_t each = type == WireType::fixed32 ? 4 : 8;
  if (bytes.size() % each != 0) {
    throw Error(fmt::format("protobuf: field {} packs {} bytes, expected a multiple of {}",
                            field.number, bytes.size(), each));
  }
  for (std::size_t at = 0; at < bytes.size(); at += each) {
    std::uint64_t value = 0;
    for (std::size_t k = each; k-- > 0;) {
      value = value << 8U | static_cast<std::uint8_t>(bytes[at + k]);
    }
    values.push_back(value);
  }
}

}  // namespace mote::onnx
