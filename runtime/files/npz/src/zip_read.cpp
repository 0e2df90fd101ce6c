// SPDX-License-Identifier: Apache-2.0
// Reads a zip file: from the end record to the directory to the entries. Every offset and size is
// checked against the file before it is used.
#include <zlib.h>

#include <algorithm>
#include <limits>

#include "mote/runtime/status.h"
#include "zip.h"

namespace mote::zip {
namespace {

constexpr std::uint64_t kEndSignature = 0x06054B50;
constexpr std::uint64_t kEnd64Signature = 0x06064B50;
constexpr std::uint64_t kLocator64Signature = 0x07064B50;
constexpr std::uint64_t kDirectorySignature = 0x02014B50;
constexpr std::uint64_t kLocalSignature = 0x04034B50;
constexpr std::size_t kEndBytes = 22;
constexpr std::size_t kLocator64Bytes = 20;
constexpr std::size_t kDirectoryBytes = 46;
constexpr std::size_t kLocalBytes = 30;
constexpr std::uint64_t kIn64 = 0xFFFFFFFF;  ///< the value is in the ZIP64 field

using Bytes = std::span<const std::byte>;

Bytes part(Bytes bytes, std::uint64_t offset, std::uint64_t count, const char* what) {
  if (offset > bytes.size() || count > bytes.size() - offset)
    fail(std::string("cut off: ") + what + " lies outside the file");
  return bytes.subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(count));
}

std::uint64_t number(Bytes bytes, std::size_t offset, std::size_t count) {
  const Bytes digits = part(bytes, offset, count, "a number");
  std::uint64_t value = 0;
  for (std::size_t k = count; k-- > 0;)
    value = value << 8 | std::to_integer<std::uint64_t>(digits[k]);
  return value;
}

/// Finds the end record, which is last, before a comment of at most 65,535 bytes.
std::size_t find_end(Bytes file) {
  if (file.size() < kEndBytes) fail("not a zip file: " + std::to_string(file.size()) + " bytes");
  const std::size_t furthest = std::min<std::size_t>(file.size() - kEndBytes, 65535);
  for (std::size_t back = 0; back <= furthest; ++back) {
    const std::size_t at = file.size() - kEndBytes - back;
    if (number(file, at, 4) == kEndSignature && number(file, at + 20, 2) == back) return at;
  }
  fail("not a zip file, or cut off: it has no end record");
}

struct Directory {
  std::uint64_t count = 0;
  std::uint64_t offset = 0;
};

Directory find_directory(Bytes file) {
  const std::size_t end = find_end(file);
  Directory directory{.count = number(file, end + 10, 2), .offset = number(file, end + 16, 4)};
  const bool needs64 = directory.count == 0xFFFF || directory.offset == kIn64;
  if (!needs64 || end < kLocator64Bytes) return directory;
  const std::size_t locator = end - kLocator64Bytes;
  if (number(file, locator, 4) != kLocator64Signature) return directory;
  const Bytes end64 = part(file, number(file, locator + 8, 8), 56, "the ZIP64 end record");
  if (number(end64, 0, 4) != kEnd64Signature) fail("the ZIP64 end record has a wrong signature");
  return {.count = number(end64, 32, 8), .offset = number(end64, 48, 8)};
}

/// Reads sizes that do not fit in 32 bits from the extra field with id 1, in this order.
void read_zip64(Bytes extra, std::uint64_t& size, std::uint64_t& packed, std::uint64_t& offset) {
  while (extra.size() >= 4) {
    const Bytes field = part(extra, 4, number(extra, 2, 2), "an extra field");
    if (number(extra, 0, 2) == 1) {
      std::size_t at = 0;
      for (std::uint64_t* value : {&size, &packed, &offset}) {
        if (*value != kIn64) continue;
        *value = number(field, at, 8);
        at += 8;
      }
    }
    extra = extra.subspan(4 + field.size());
  }
}

/// Reads the entry whose record begins at `at`, and advances `at` to the next one.
Entry read_entry(Bytes file, std::uint64_t& at) {
  const Bytes record = part(file, at, kDirectoryBytes, "the directory");
  if (number(record, 0, 4) != kDirectorySignature) fail("the directory has a wrong signature");
  const std::uint64_t name_bytes = number(record, 28, 2);
  const std::uint64_t extra_bytes = number(record, 30, 2);
  const Bytes name = part(file, at + kDirectoryBytes, name_bytes, "a name");
  const Bytes extra = part(file, at + kDirectoryBytes + name_bytes, extra_bytes, "an extra field");
  at += kDirectoryBytes + name_bytes + extra_bytes + number(record, 32, 2);

  Entry entry{.name = std::string(reinterpret_cast<const char*>(name.data()), name.size()),
              .method = static_cast<std::uint16_t>(number(record, 10, 2)),
              .checksum = static_cast<std::uint32_t>(number(record, 16, 4))};
  if ((number(record, 8, 2) & 1) != 0) fail(entry.name + " is encrypted");
  if (entry.method != kStored && entry.method != kDeflated)
    fail(entry.name + " is compressed by method " + std::to_string(entry.method) +
         ", expected 0 (stored) or 8 (deflated)");
  std::uint64_t packed = number(record, 20, 4);
  std::uint64_t size = number(record, 24, 4);
  std::uint64_t offset = number(record, 42, 4);
  read_zip64(extra, size, packed, offset);
  const Bytes local = part(file, offset, kLocalBytes, "an entry");
  if (number(local, 0, 4) != kLocalSignature) fail(entry.name + " has a wrong signature");
  const std::uint64_t skipped = kLocalBytes + number(local, 26, 2) + number(local, 28, 2);
  entry.packed = part(file, offset + skipped, packed, "an entry");
  entry.size = static_cast<std::size_t>(size);
  return entry;
}

/// Checks the promised size before memory is requested: deflate never compresses below 1 byte for
/// 1,032.
void check_promise(const Entry& entry) {
  const bool lie = entry.method == kStored ? entry.size != entry.packed.size()
                                           : entry.size / 1032 > entry.packed.size() + 1;
  if (lie)
    fail(entry.name + " promises " + std::to_string(entry.size) + " bytes, packed in " +
         std::to_string(entry.packed.size()));
}

std::vector<std::byte> inflate_entry(const Entry& entry) {
  constexpr std::size_t kMaxZlibBytes = std::numeric_limits<uInt>::max();
  if (entry.size > kMaxZlibBytes || entry.packed.size() > kMaxZlibBytes)
    fail(entry.name + " has more than 4 GiB");
  std::vector<std::byte> out(entry.size + 1);  // one more, to detect excess data
  z_stream stream{};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK)
    throw StatusError(MOTE_OUT_OF_MEMORY, "npz: zlib has no memory");
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(entry.packed.data()));
  stream.avail_in = static_cast<uInt>(entry.packed.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const int status = inflate(&stream, Z_FINISH);
  const std::size_t got = stream.total_out;
  inflateEnd(&stream);
  if (status != Z_STREAM_END || got != entry.size)
    fail(entry.name + " is damaged: " + std::to_string(entry.size) + " bytes expected, got " +
         std::to_string(got));
  out.resize(got);
  return out;
}

}  // namespace

void fail(const std::string& what) { throw StatusError(MOTE_INVALID, "npz: " + what); }

std::vector<Entry> entries(Bytes file) {
  const Directory directory = find_directory(file);
  if (directory.count > file.size() / kDirectoryBytes)
    fail("the directory promises " + std::to_string(directory.count) + " entries in " +
         std::to_string(file.size()) + " bytes");
  std::vector<Entry> all;
  std::uint64_t at = directory.offset;
  for (std::uint64_t k = 0; k < directory.count; ++k) all.push_back(read_entry(file, at));
  return all;
}

std::vector<std::byte> unpack(const Entry& entry) {
  check_promise(entry);
  std::vector<std::byte> bytes = entry.method == kDeflated
                                     ? inflate_entry(entry)
                                     : std::vector(entry.packed.begin(), entry.packed.end());
  const uLong checksum = crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size());
  if (checksum != entry.checksum) fail(entry.name + " is damaged: its checksum differs");
  return bytes;
}

}  // namespace mote::zip
