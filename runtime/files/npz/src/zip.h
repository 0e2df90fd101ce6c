// SPDX-License-Identifier: Apache-2.0
// The part of the zip format that .npz needs: entries that are stored or deflated, found through
// the central directory. ZIP64's sizes are read, since NumPy may write them. Errors are "npz: …".
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace mote::zip {

inline constexpr std::uint16_t kStored = 0;
inline constexpr std::uint16_t kDeflated = 8;

struct Entry {
  std::string name;
  std::uint16_t method = kStored;
  std::uint32_t checksum = 0;
  std::size_t size = 0;  ///< after unpacking
  std::span<const std::byte> packed = {};
};

/// Returns the entries in the order of the directory.
std::vector<Entry> entries(std::span<const std::byte> file);
/// Returns the entry's bytes; size and checksum are checked.
std::vector<std::byte> unpack(const Entry& entry);

/// One file to be written.
struct File {
  std::string name;
  std::vector<std::byte> bytes;
};
std::vector<std::byte> pack(const std::vector<File>& files, std::uint16_t method);

[[noreturn]] void fail(const std::string& what);

}  // namespace mote::zip
