// SPDX-License-Identifier: Apache-2.0
// Makes folders for temporary files.
#pragma once

#include <filesystem>

#include "mote/base/export.h"

namespace MOTE_API mote {

/// A new empty folder in the system's location for temporary files, removed by the destructor.
class TemporaryFolder {
 public:
  /// Throws Error when it cannot be made.
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace mote
