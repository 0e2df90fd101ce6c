// SPDX-License-Identifier: Apache-2.0
// Protobuf's wire format, read field by field: bytes in, (number, value) out. Malformed bytes throw
// mote::Error; no byte outside the given ones is read.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace mote::onnx {

enum class WireType : std::uint8_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

/// One field of a message: `bits` holds a varint or a fixed value, `bytes` a length-delimited one.
struct Field {
  std::uint64_t number = 0;
  WireType type = WireType::varint;
  std::uint64_t bits = 0;
  std::string_view bytes;
};

/// Walks the fields of one message. The bytes must outlive it.
class WireReader {
 public:
  explicit WireReader(std::string_view bytes) : rest_(bytes) {}
  bool done() const { return rest_.empty(); }
  Field next();            ///< throws Error if the next bytes are no field
  std::uint64_t varint();  ///< throws Error if it is cut off or longer than 64 bits

 private:
  std::string_view take(std::uint64_t count);
  std::uint64_t fixed(int bytes);

  std::string_view rest_;
};

// Return the value of a field; they throw Error if its wire type does not fit.
std::int64_t integer_of(const Field& field);
float float_of(const Field& field);
std::string_view bytes_of(const Field& field);

// Appends the values of a repeated field, packed or not.
void append_integers(const Field& field, std::vector<std::int64_t>& values);
/// Appends fixed values of 4 or 8 bytes, as their bits.
void append_fixed(const Field& field, WireType type, std::vector<std::uint64_t>& values);

}  // namespace mote::onnx
