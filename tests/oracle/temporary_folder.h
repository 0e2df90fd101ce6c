// SPDX-License-Identifier: Apache-2.0
// A folder of a test's own, so that tests that run at the same time do not meet.
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
  /// The path of a new file that holds that text.
  std::string write(const std::string& name, const std::string& text) const {
    const std::filesystem::path file = path() / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << text;
    return file.string();
  }
};

}  // namespace mote::test
