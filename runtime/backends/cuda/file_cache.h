// SPDX-License-Identifier: Apache-2.0
// Results of compilers, kept on disk under the key of their input.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace mote::cuda {

/// A folder with two files for each entry: the whole key with the length and the hash of the bytes,
/// and the bytes. An entry is used only if the whole key is equal and the bytes have that length
/// and hash, so a damaged one is replaced. It is safe among processes; if the folder cannot be
/// written, nothing is kept.
class FileCache {
 public:
  explicit FileCache(std::filesystem::path folder) : folder_(std::move(folder)) {}

  /// Returns the file that holds the result for the key.
  std::optional<std::filesystem::path> find(const std::string& key) const;
  /// Returns the path of the new file; nullopt if it cannot be written.
  std::optional<std::filesystem::path> put(const std::string& key, const std::string& bytes) const;

 private:
  std::filesystem::path stem(const std::string& key) const;
  std::filesystem::path folder_;
};

/// Returns $MOTE_CACHE, $XDG_CACHE_HOME/mote or ~/.cache/mote; else a folder of this user among the
/// temporary files.
std::filesystem::path cache_folder();

/// Returns the FNV-1a hash.
std::uint64_t hash_of(std::string_view bytes);
/// Returns the bytes of a file; nullopt if it cannot be read.
std::optional<std::string> read_bytes(const std::filesystem::path& path);
/// Writes a temporary file and then renames it, so that no reader sees a part. Returns false if it
/// cannot.
bool write_bytes(const std::filesystem::path& path, const std::string& bytes);

}  // namespace mote::cuda
