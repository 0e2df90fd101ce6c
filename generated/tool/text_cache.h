// SPDX-License-Identifier: Apache-2.0
// A cache of texts that an earlier run of a generator made, so that an edit of one op regenerates
// only that op's texts.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace mote {

/// A file of texts, with the key and the generator that they were made from. Several threads may
/// read and fill it.
class TextCache {
 public:
  /// Reads the file. It counts as empty if it is missing, damaged, or was written by a generator
  /// that was built from other files.
  TextCache(std::filesystem::path file, const std::vector<std::filesystem::path>& built_from);

  std::optional<std::vector<std::string>> find(const std::string& key);
  void put(const std::string& key, const std::vector<std::string>& texts);
  /// Writes the texts that were found or put in this run. Throws Error if the file cannot be
  /// written.
  void save() const;

 private:
  using Entries = std::map<std::string, std::vector<std::string>>;

  std::filesystem::path file_;
  std::string generator_;  ///< identifies the generator
  Entries earlier_;
  Entries used_;
  std::mutex mutex_;
};

}  // namespace mote
