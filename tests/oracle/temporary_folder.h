// SPDX-License-Identifier: Apache-2.0
// A folder for one test, so that tests that run at the same time do not interfere.
#pragma once

#include <fstream>
#include <string>

#include "mote/base/temporary_folder.h"

namespace mote::test {

inline std::string read(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

class TemporaryFolder : public mote::TemporaryFolder {
 public:
  /// Writes the text to a new file and returns its path.
  std::string write(const std::string& name, const std::string& text) const {
    const std::filesystem::path file = path() / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << text;
    return file.string();
  }
};

}  // namespace mote::test
