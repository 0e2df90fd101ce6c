// SPDX-License-Identifier: Apache-2.0
// Reads and writes .npy: magic, version, length of the header, header, elements.
#include "mote/runtime/npy.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "mote/runtime/file.h"
#include "mote/runtime/status.h"
#include "npy_header.h"

namespace mote {
namespace {

constexpr std::array<unsigned char, 6> kMagic = {0x93, 'N', 'U', 'M', 'P', 'Y'};

[[noreturn]] void fail(const std::string& what) { throw StatusError(MOTE_INVALID, "npy: " + what); }

std::size_t little_endian(std::span<const std::byte> bytes) {
  std::size_t value = 0;
  for (std::size_t k = bytes.size(); k-- > 0;)
    value = value << 8 | std::to_integer<std::size_t>(bytes[k]);
  return value;
}

/// Returns the header's text, and advances `bytes` to the elements.
std::string_view take_header(std::span<const std::byte>& bytes) {
  if (bytes.size() < kMagic.size() + 2) fail("cut off: " + std::to_string(bytes.size()) + " bytes");
  if (std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) != 0)
    fail("it does not begin with \\x93NUMPY");
  const int major = std::to_integer<int>(bytes[6]);
  if (major < 1 || major > 3) fail("version 1, 2 or 3 expected, got " + std::to_string(major));
  const std::size_t length_bytes = major == 1 ? 2 : 4;
  bytes = bytes.subspan(8);
  if (bytes.size() < length_bytes) fail("cut off before the length of the header");
  const std::size_t length = little_endian(bytes.first(length_bytes));
  bytes = bytes.subspan(length_bytes);
  if (bytes.size() < length)
    fail("cut off: the header has " + std::to_string(length) + " bytes, there are " +
         std::to_string(bytes.size()));
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), length);
  bytes = bytes.subspan(length);
  return text;
}

void swap_bytes(std::byte* data, std::size_t count, std::size_t size) {
  for (std::size_t k = 0; k < count; ++k) std::reverse(data + k * size, data + (k + 1) * size);
}

/// Returns the stored order of axes: in Fortran order, the last axis is outermost.
AxisList reversed(const AxisList& list) {
  AxisList out = list;
  for (int axis = 0; axis < list.size(); ++axis) out[axis] = list[list.size() - 1 - axis];
  return out;
}

}  // namespace

Tensor parse_npy(std::span<const std::byte> bytes, const Allocator& allocator) {
  const NpyHeader header = parse_npy_header(take_header(bytes));
  const AxisList stored = header.fortran_order ? reversed(header.shape) : header.shape;
  const std::int64_t needed =
      checked_span(header.dtype, stored, checked_strides(header.dtype, stored));
  if (bytes.size() != static_cast<std::size_t>(needed))
    fail(std::string(name(header.dtype)) + to_string(header.shape) + " needs " +
         std::to_string(needed) + " bytes of elements, there are " + std::to_string(bytes.size()));
  const Tensor tensor(header.dtype, stored, allocator);
  auto* data = static_cast<std::byte*>(tensor.data());
  std::ranges::copy(bytes, data);
  const std::size_t size = size_of(header.dtype);
  if (header.big_endian) swap_bytes(data, bytes.size() / size, size);
  if (!header.fortran_order) return tensor;
  AxisList order = stored;
  for (int axis = 0; axis < order.size(); ++axis) order[axis] = order.size() - 1 - axis;
  return tensor.permute(order);
}

std::vector<std::byte> to_npy(const Tensor& tensor) {
  const Tensor rows = clone(tensor);
  std::string text = to_string(NpyHeader{.dtype = tensor.dtype(), .shape = tensor.shape()});
  // Elements begin at a multiple of 64; the header ends with a newline.
  constexpr std::size_t kBefore = kMagic.size() + 4;
  text.append(63 - (kBefore + text.size()) % 64, ' ');
  text += '\n';
  std::vector<std::byte> out;
  const auto put = [&](unsigned value) { out.push_back(static_cast<std::byte>(value)); };
  for (const unsigned char c : kMagic) put(c);
  put(1);
  put(0);
  put(text.size() & 0xFFU);
  put(static_cast<unsigned>(text.size() >> 8));
  for (const char c : text) put(static_cast<unsigned char>(c));
  const auto count = static_cast<std::size_t>(rows.element_count()) * size_of(rows.dtype());
  const auto* data = static_cast<const std::byte*>(rows.data());
  out.insert(out.end(), data, data + count);
  return out;
}

Tensor read_npy(const std::string& path, const Allocator& allocator) {
  try {
    return parse_npy(read_file(path), allocator);
  } catch (const StatusError& e) {
    throw StatusError(e.status(), path + ": " + e.what());
  }
}

void write_npy(const std::string& path, const Tensor& tensor) { write_file(path, to_npy(tensor)); }

}  // namespace mote
