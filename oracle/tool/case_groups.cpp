// SPDX-License-Identifier: Apache-2.0
#include "case_groups.h"

#include <algorithm>
#include <filesystem>

#include "mote/oracle/backends.h"

namespace mote::tool {

std::string case_folder() {
  return std::filesystem::path(executable_folder()) / ".." / "share" / "mote" / "cases";
}

std::vector<std::string> groups_in(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator(folder, failed)) {
    if (entry.path().extension() == ".cases") names.push_back(entry.path().stem());
  }
  std::ranges::sort(names);
  return names;
}

}  // namespace mote::tool
