// Finding plug-ins.
#include "mote/oracle/backends.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <set>

#include "mote/base/error.h"

namespace mote {
namespace {

namespace fs = std::filesystem;

/// Names that a machine may lack without the request being a mistake.
constexpr std::array<std::string_view, 7> kKnownBackends = {
    "gen", "openblas", "onednn", "winograd", "cuda", "cudnn", "cublas"};

std::vector<fs::path> folders() {
  std::vector<fs::path> all = {fs::path(executable_folder()) / ".." / "lib" / "mote"};
  const char* more = std::getenv("MOTE_PLUGIN_PATH");
  std::string rest = more != nullptr ? more : "";
  while (!rest.empty()) {
    const std::size_t colon = std::min(rest.find(':'), rest.size());
    if (colon > 0) all.emplace_back(rest.substr(0, colon));
    rest.erase(0, colon + 1);
  }
  return all;
}

std::vector<std::string> libraries_in(const fs::path& folder) {
  std::vector<std::string> paths;
  std::error_code failed;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, failed)) {
    if (entry.path().extension() == ".so") paths.push_back(entry.path().lexically_normal());
  }
  std::ranges::sort(paths);
  return paths;
}

void add(Backends& backends, Plugin plugin, const std::string& named) {
  for (const mote_backend* backend : plugin.backends) backends.all.push_back({backend, named});
  backends.libraries.push_back(std::move(plugin));
}

std::vector<std::string> names_of(const std::vector<BackendEntry>& entries) {
  std::vector<std::string> names;
  for (const BackendEntry& e : entries) {
    if (std::ranges::find(names, e.name()) == names.end()) names.push_back(e.name());
  }
  return names;
}

}  // namespace

std::string executable_folder() {
  std::error_code failed;
  const fs::path self = fs::read_symlink("/proc/self/exe", failed);
  return failed ? "." : self.parent_path().string();
}

Backends find_backends(const std::vector<std::string>& named_libraries) {
  Backends backends;
  for (const std::string& path : named_libraries) {
    if (path.find_first_of(" \t\n") != std::string::npos) {
      throw Error(fmt::format("plug-in {}: a path with blanks cannot stand in a case", path));
    }
    add(backends, load_plugin(path), path);
  }
  for (const fs::path& folder : folders()) {
    for (const std::string& path : libraries_in(folder)) {
      try {
        add(backends, load_plugin(path), "");
      } catch (const Error& e) {
        backends.problems.emplace_back(e.what());
      }
    }
  }
  return backends;
}

Selection select_backends(const Backends& backends, const std::vector<std::string>& names) {
  Selection selection;
  const auto is_named = [](const BackendEntry& e) { return !e.plugin.empty(); };
  const bool any_named = std::ranges::any_of(backends.all, is_named);
  if (names.empty()) {
    for (const BackendEntry& e : backends.all) {
      if (!any_named || is_named(e)) selection.chosen.push_back(e);
    }
    return selection;
  }
  for (const std::string& name : names) {
    const auto at = std::ranges::find(backends.all, name, &BackendEntry::name);
    if (at != backends.all.end()) {
      const auto same = [&](const BackendEntry& e) { return e.backend == at->backend; };
      if (std::ranges::none_of(selection.chosen, same)) selection.chosen.push_back(*at);
    } else if (std::ranges::find(kKnownBackends, name) != kKnownBackends.end()) {
      selection.absent.push_back(name);
    } else {
      const std::vector<std::string> here = names_of(backends.all);
      throw Error(fmt::format("unknown backend '{}' (on this machine: {}; known to mote: {})", name,
                              here.empty() ? "none" : fmt::format("{}", fmt::join(here, ", ")),
                              fmt::join(kKnownBackends, ", ")));
    }
  }
  return selection;
}

bool has_kernel(const mote_backend& backend, std::string_view op) {
  for (std::int32_t k = 0; k < backend.kernel_count; ++k) {
    if (op == backend.kernels[k].op) return true;
  }
  return false;
}

}  // namespace mote
