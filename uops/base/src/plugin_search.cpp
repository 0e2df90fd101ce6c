// SPDX-License-Identifier: Apache-2.0
// Finds locations of plug-ins by the environment, and relative to the program and this library.
#include "mote/base/plugin_search.h"

#include <dirent.h>
#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string_view>

namespace mote {
namespace {

namespace fs = std::filesystem;

void add(std::vector<PluginLocation>& locations, const std::string& path, bool is_given) {
  if (std::ranges::find(locations, path, &PluginLocation::path) == locations.end())
    locations.push_back({path, is_given});
}

std::string program_folder() {
  std::error_code failed;
  const fs::path self = fs::read_symlink("/proc/self/exe", failed);
  return failed ? "." : self.parent_path().string();
}

/// Returns the folder of the library that holds this code; empty if the program itself holds it.
std::string own_folder() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&plugin_locations), &info) == 0) return "";
  const std::string path = info.dli_fname;
  return path.find(".so") == std::string::npos ? "" : fs::path(path).parent_path().string();
}

}  // namespace

std::vector<PluginLocation> plugin_locations() {
  std::vector<PluginLocation> locations;
  const char* given = std::getenv("MOTE_PLUGIN_PATH");
  std::string rest = given != nullptr ? given : "";
  while (!rest.empty()) {
    const std::size_t colon = std::min(rest.find(':'), rest.size());
    if (colon > 0) add(locations, rest.substr(0, colon), true);
    rest.erase(0, colon + 1);
  }
  add(locations,
      (fs::path(program_folder()) / ".." / "lib" / "mote" / "plugins").lexically_normal(), false);
  const std::string own = own_folder();
  if (!own.empty()) add(locations, fs::path(own) / "mote" / "plugins", false);
  add(locations, MOTE_INSTALLED_PLUGINS, false);
  return locations;
}

std::vector<std::string> plugins_at(const std::string& location) {
  std::vector<std::string> paths;
  std::error_code failed;
  // Uses the C library, since std::filesystem's iterator ends the program if memory runs out.
  const auto close = [](DIR* folder) { closedir(folder); };
  if (const std::unique_ptr<DIR, decltype(close)> folder(opendir(location.c_str()), close);
      folder) {
    while (const dirent* entry = readdir(folder.get()))
      if (std::string_view(entry->d_name).ends_with(".so"))
        paths.push_back((fs::path(location) / entry->d_name).lexically_normal());
    std::ranges::sort(paths);
  } else if (fs::exists(location, failed)) {
    paths.push_back(location);
  }
  return paths;
}

bool is_same_file(const std::string& a, const std::string& b) {
  std::error_code failed;
  return a == b || fs::equivalent(a, b, failed);
}

}  // namespace mote
