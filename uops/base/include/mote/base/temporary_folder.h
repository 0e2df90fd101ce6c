// SPDX-License-Identifier: Apache-2.0
// A folder for files that nobody needs afterwards.
#pragma once

#include <filesystem>

#include "mote/base/export.h"

namespace MOTE_API mote {

/// A new empty folder where the system keeps such files, removed with this.
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
