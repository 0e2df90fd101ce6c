// Finding backends: those that are linked in, and plug-ins.
#include "mote/oracle/backends.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include "mote/base/error.h"
#include "mote/generated/kernels.h"
#include "plugin_probe.h"

namespace mote {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 7> kKnownBackends = {
    "gen", "openblas", "onednn", "winograd", "cuda", "cudnn", "cublas"};

bool same_file(const std::string& a, const std::string& b) {
  std::error_code failed;
  return a == b || fs::equivalent(a, b, failed);
}

bool is_loaded(const Backends& backends, const std::string& path) {
  return std::ranges::any_of(backends.libraries,
                             [&](const Plugin& p) { return same_file(p.path, path); });
}

void add(Backends& backends, Plugin plugin, const std::string& named) {
  for (const mote_backend* backend : plugin.backends) {
    const auto other = std::ranges::find(backends.all, backend->name, &BackendEntry::name);
    if (other != backends.all.end()) {
      throw Error(fmt::format("two backends are called {}: that of {} and that of {}",
                              backend->name, other->path, plugin.path));
    }
    backends.all.push_back({backend, named, plugin.path});
  }
  backends.libraries.push_back(std::move(plugin));
}

Plugin load(const std::string& path) {
  probe_plugin(path);
  return load_plugin(path);
}

std::vector<std::string> names_of(const std::vector<BackendEntry>& entries) {
  std::vector<std::string> names;
  for (const BackendEntry& e : entries) names.push_back(e.name());
  return names;
}

std::string list_text(const std::vector<std::string>& names) {
  return names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "));
}

bool is_here(const Backends& backends, std::string_view name) {
  return std::ranges::find(backends.all, name, &BackendEntry::name) != backends.all.end();
}

}  // namespace

std::string executable_folder() {
  std::error_code failed;
  const fs::path self = fs::read_symlink("/proc/self/exe", failed);
  return failed ? "." : self.parent_path().string();
}

std::vector<std::string> plugin_folders() {
  std::vector<std::string> all = {fs::path(executable_folder()) / ".." / "lib" / "mote"};
  const char* more = std::getenv("MOTE_PLUGIN_PATH");
  std::string rest = more != nullptr ? more : "";
  while (!rest.empty()) {
    const std::size_t colon = std::min(rest.find(':'), rest.size());
    if (colon > 0) all.push_back(rest.substr(0, colon));
    rest.erase(0, colon + 1);
  }
  return all;
}

std::vector<std::string> plugins_in(const std::string& folder) {
  std::vector<std::string> paths;
  std::error_code failed;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, failed)) {
    if (entry.path().extension() == ".so") paths.push_back(entry.path().lexically_normal());
  }
  std::ranges::sort(paths);
  return paths;
}

std::span<const std::string_view> known_backends() { return kKnownBackends; }

Backends find_backends(const std::vector<std::string>& named_libraries) {
  Backends backends;
  for (const std::string& path : named_libraries) {
    if (path.find('\n') != std::string::npos) {
      throw Error("plug-in: a path with a line break cannot stand in a case");
    }
    if (!is_loaded(backends, path)) add(backends, load(path), path);
  }
  backends.all.push_back({&gen_backend(), "", "built in"});
  for (const std::string& folder : plugin_folders()) {
    for (const std::string& path : plugins_in(folder)) {
      if (is_loaded(backends, path)) continue;
      std::optional<Plugin> plugin;
      try {
        plugin = load(path);
      } catch (const Error& e) {
        backends.problems.emplace_back(e.what());
      }
      if (plugin) add(backends, *std::move(plugin), "");
    }
  }
  return backends;
}

void require_backend_name(const Backends& backends, const std::string& name) {
  const bool known = std::ranges::find(kKnownBackends, name) != kKnownBackends.end();
  if (known || is_here(backends, name)) return;
  std::vector<std::string> elsewhere;
  for (const std::string_view k : kKnownBackends) {
    if (!is_here(backends, k)) elsewhere.emplace_back(k);
  }
  throw Error(fmt::format("unknown backend '{}' (on this machine: {}; known, but not here: {})",
                          name, list_text(names_of(backends.all)), list_text(elsewhere)));
}

std::string absence(const Backends& backends, const std::string& name) {
  const std::string library = fmt::format("mote_{}.so", name);
  const bool broken = std::ranges::any_of(backends.problems, [&](const std::string& problem) {
    return problem.find(library) != std::string::npos;
  });
  return fmt::format("backend {} is not on this machine: {} (there is: {})", name,
                     broken ? "its plug-in cannot be loaded" : "it is not part of this build",
                     list_text(names_of(backends.all)));
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
    } else {
      require_backend_name(backends, name);
      selection.absent.push_back(name);
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
