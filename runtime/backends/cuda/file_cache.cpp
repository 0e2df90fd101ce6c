// SPDX-License-Identifier: Apache-2.0
#include "file_cache.h"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <utility>

namespace mote::cuda {
namespace {

namespace fs = std::filesystem;

/// Returns the content of the key's file.
std::string description(const std::string& key, const std::string& bytes) {
  return fmt::format("{}\n{} bytes {:016x}", key, bytes.size(), hash_of(bytes));
}

}  // namespace

std::uint64_t hash_of(std::string_view bytes) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return hash;
}

std::optional<std::string> read_bytes(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary | std::ios::ate);
  const std::streamoff size = stream ? std::streamoff(stream.tellg()) : -1;
  if (size < 0) return std::nullopt;
  std::string bytes(static_cast<std::size_t>(size), '\0');
  stream.seekg(0);
  stream.read(bytes.data(), size);
  return stream.gcount() == size ? std::optional(std::move(bytes)) : std::nullopt;
}

bool write_bytes(const fs::path& path, const std::string& bytes) {
  static std::atomic<int> next = 0;
  const fs::path beside = fmt::format("{}.{}.{}", path.string(), getpid(), next++);
  {
    std::ofstream stream(beside, std::ios::binary);
    stream << bytes;
    stream.close();
    if (!stream) return false;
  }
  std::error_code failed;
  fs::rename(beside, path, failed);
  if (failed) fs::remove(beside, failed);
  return !failed;
}

fs::path FileCache::stem(const std::string& key) const {
  return folder_ / fmt::format("{:016x}", hash_of(key));
}

std::optional<fs::path> FileCache::find(const std::string& key) const {
  const fs::path at = stem(key);
  const auto known = read_bytes(at.string() + ".key");
  if (!known || !known->starts_with(key)) return std::nullopt;
  fs::path file = at.string() + ".bin";
  const auto bytes = read_bytes(file);
  return bytes && *known == description(key, *bytes) ? std::optional(file) : std::nullopt;
}

std::optional<fs::path> FileCache::put(const std::string& key, const std::string& bytes) const {
  std::error_code failed;
  fs::create_directories(folder_, failed);
  const fs::path at = stem(key);
  fs::path made = at.string() + ".bin";
  if (!write_bytes(made, bytes) || !write_bytes(at.string() + ".key", description(key, bytes)))
    return std::nullopt;
  return made;
}

fs::path cache_folder() {
  const auto given = [](const char* name) -> fs::path {
    const char* value = std::getenv(name);
    return value != nullptr ? value : "";
  };
  if (const fs::path own = given("MOTE_CACHE"); !own.empty()) return own;
  if (const fs::path base = given("XDG_CACHE_HOME"); base.is_absolute()) return base / "mote";
  if (const fs::path home = given("HOME"); home.is_absolute()) return home / ".cache" / "mote";
  std::error_code failed;
  return fs::temp_directory_path(failed) / fmt::format("mote-{}", getuid());
}

}  // namespace mote::cuda
