// SPDX-License-Identifier: Apache-2.0
// Writes a zip file: entries one after the other, then the directory. Dates are fixed, so that
// equal tensors give equal files.
#include <zlib.h>

#include <limits>
#include <memory>

#include "mote/runtime/status.h"
#include "zip.h"

namespace mote::zip {
namespace {

constexpr std::uint32_t kDate = 0x00210000;  // 1 January 1980, 0:00

class Writer {
 public:
  void number(std::uint64_t value, int count) {
    for (int k = 0; k < count; ++k, value >>= 8)
      out.push_back(static_cast<std::byte>(value & 0xFF));
  }
  void text(const std::string& text) {
    for (const char c : text) out.push_back(static_cast<std::byte>(c));
  }
  void bytes(std::span<const std::byte> bytes) {
    out.insert(out.end(), bytes.begin(), bytes.end());
  }

  std::vector<std::byte> out;
};

std::vector<std::byte> deflated(const std::vector<std::byte>& bytes) {
  z_stream stream{};
  if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY) !=
      Z_OK)
    throw StatusError(MOTE_OUT_OF_MEMORY, "npz: zlib has no memory");
  const auto end = [](z_stream* s) { deflateEnd(s); };
  const std::unique_ptr<z_stream, decltype(end)> ended(&stream, end);
  std::vector<std::byte> out(deflateBound(&stream, bytes.size()));
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const int status = deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  if (status != Z_STREAM_END) fail("zlib failed with status " + std::to_string(status));
  return out;
}

/// Writes the fields that the entry and the directory share: from the version needed to the extra
/// field's length.
void common(Writer& writer, const File& file, std::uint16_t method, std::size_t packed) {
  constexpr std::uint64_t kUtf8 = 0x800;
  writer.number(20, 2);
  writer.number(kUtf8, 2);
  writer.number(method, 2);
  writer.number(kDate, 4);
  writer.number(crc32_z(0, reinterpret_cast<const Bytef*>(file.bytes.data()), file.bytes.size()),
                4);
  writer.number(packed, 4);
  writer.number(file.bytes.size(), 4);
  writer.number(file.name.size(), 2);
  writer.number(0, 2);
}

void check_room(std::size_t bytes, const std::string& what) {
  if (bytes >= std::numeric_limits<std::uint32_t>::max())
    fail(what + " has " + std::to_string(bytes) + " bytes, at most 2^32-2 can be written");
}

}  // namespace

std::vector<std::byte> pack(const std::vector<File>& files, std::uint16_t method) {
  Writer body;
  Writer directory;
  if (files.size() > 65534) fail("more than 65534 tensors");
  for (const File& file : files) {
    check_room(file.bytes.size(), file.name);
    const std::vector<std::byte> packed = method == kDeflated ? deflated(file.bytes) : file.bytes;
    check_room(body.out.size() + packed.size(), "the file");
    directory.number(0x02014B50, 4);
    directory.number(20, 2);
    common(directory, file, method, packed.size());
    directory.number(0, 2 + 2 + 2 + 4);  // comment, disk, attributes
    directory.number(body.out.size(), 4);
    directory.text(file.name);
    body.number(0x04034B50, 4);
    common(body, file, method, packed.size());
    body.text(file.name);
    body.bytes(packed);
  }
  const std::size_t offset = body.out.size();
  check_room(offset + directory.out.size(), "the file");
  body.bytes(directory.out);
  body.number(0x06054B50, 4);
  body.number(0, 4);
  body.number(files.size(), 2);
  body.number(files.size(), 2);
  body.number(directory.out.size(), 4);
  body.number(offset, 4);
  body.number(0, 2);
  return body.out;
}

}  // namespace mote::zip
