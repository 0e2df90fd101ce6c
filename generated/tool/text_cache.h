// SPDX-License-Identifier: Apache-2.0
// Texts that an earlier run of a generator made, so that an edit of one op makes that op's anew.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace mote {

/// A file of texts by what they were made from: a key, and the generator itself. Safe to ask and to
/// fill from several threads.
class TextCache {
 public:
  /// Reads the file. It counts as empty where it is missing, damaged, or was written by a generator
  /// that was built from other files.
  TextCache(std::filesystem::path file, const std::vector<std::filesystem::path>& built_from);

  std::optional<std::vector<std::string>> find(const std::string& key);
  void put(const std::string& key, const std::vector<std::string>& texts);
  /// Writes what was found or put in this run. Throws Error where the file cannot be written.
  void save() const;

 private:
  using Entries = std::map<std::string, std::vector<std::string>>;

  std::filesystem::path file_;
  std::string generator_;  ///< identifies it
  Entries earlier_;
  Entries used_;
  std::mutex mutex_;
};

}  // namespace mote
