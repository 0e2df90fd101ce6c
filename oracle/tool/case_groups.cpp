// SPDX-License-Identifier: Apache-2.0
#include "case_groups.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "mote/base/error.h"
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

std::string case_file(const std::string& group) {
  const std::filesystem::path folder = case_folder();
  std::error_code ignored;
  const std::filesystem::path named = folder / (group + ".cases");
  if (std::filesystem::exists(named, ignored)) return named;
  if (std::filesystem::exists(group, ignored)) return group;
  throw Error(fmt::format("unknown group of cases '{}' (known: {}; or the path of a file)", group,
                          fmt::join(groups_in(folder), ", ")));
}

}  // namespace mote::tool
