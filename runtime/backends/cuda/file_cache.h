// SPDX-License-Identifier: Apache-2.0
// What compilers made, kept on disk by what it was made from.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace mote::cuda {

/// A folder with two files an entry: the whole key with the length and the hash of the bytes, and
/// the bytes. An entry is used only where the key is equal to the last byte and the bytes are those
/// that were kept, so that a damaged one is made anew. Safe among processes; where the folder can't
/// be written nothing is kept.
class FileCache {
 public:
  explicit FileCache(std::filesystem::path folder) : folder_(std::move(folder)) {}

  /// The file that holds what was made from the key.
  std::optional<std::filesystem::path> find(const std::string& key) const;
  /// Where that file is now; nullopt where it cannot be written.
  std::optional<std::filesystem::path> put(const std::string& key, const std::string& bytes) const;

 private:
  std::filesystem::path stem(const std::string& key) const;
  std::filesystem::path folder_;
};

/// $MOTE_CACHE, $XDG_CACHE_HOME/mote or ~/.cache/mote; else a folder of this user among the
/// temporary files.
std::filesystem::path cache_folder();

/// FNV-1a.
std::uint64_t hash_of(std::string_view bytes);
/// The bytes of a file; nullopt where it cannot be read.
std::optional<std::string> read_bytes(const std::filesystem::path& path);
/// Written beside and then renamed, so that nobody sees a part. False where it cannot be.
bool write_bytes(const std::filesystem::path& path, const std::string& bytes);

}  // namespace mote::cuda
