// SPDX-License-Identifier: Apache-2.0
// Finds backends: those that are linked in, and plug-ins.
#include "mote/oracle/backends.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>

#include "mote/base/error.h"
#include "mote/base/plugin_search.h"
#include "mote/generated/kernels.h"
#include "mote/oracle/contract.h"
#include "mote/oracle/isolation.h"
#include "mote/oracle/target.h"
#include "source/cuda_source.h"
#include "source/program_kernels.h"

namespace mote {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kGenerated = "gen";
constexpr std::array<std::string_view, 7> kKnownBackends = {
    "gen", "openblas", "onednn", "winograd", "cuda", "cudnn", "cublas"};

bool is_loaded(const Backends& backends, const std::string& path) {
  return std::ranges::any_of(backends.libraries,
                             [&](const Plugin& p) { return is_same_file(p.path, path); });
}

void add(Backends& backends, Plugin plugin, const std::string& named) {
  for (const mote_backend* backend : plugin.backends) {
    const auto other = std::ranges::find(backends.all, backend->name, &BackendEntry::name);
    if (other != backends.all.end()) {
      throw Error(fmt::format("plug-in {}: two backends are called {}: its own and that of {}",
                              plugin.path, backend->name, other->path));
    }
  }
  for (const mote_backend* backend : plugin.backends)
    backends.all.push_back({backend, named, plugin.path});
  backends.libraries.push_back(std::move(plugin));
}

Plugin load_unchecked(const std::string& path, Isolation* isolation) {
  if (isolation != nullptr) return isolation->describe(path);
  probe_plugin(path);
  return load_plugin(path);
}

Plugin load(const std::string& path, Isolation* isolation) {
  Plugin plugin = load_unchecked(path, isolation);
  for (const mote_backend* backend : plugin.backends) check_contracts("plug-in " + path, *backend);
  return plugin;
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

std::string& given_folder() {
  static std::string folder;
  return folder;
}

}  // namespace

void set_executable_folder(const std::string& path) { given_folder() = path; }

std::string executable_folder() {
  if (!given_folder().empty()) return given_folder();
  std::error_code failed;
  const fs::path self = fs::read_symlink("/proc/self/exe", failed);
  return failed ? "." : self.parent_path().string();
}

std::span<const std::string_view> known_backends() { return kKnownBackends; }

Backends find_backends(const std::vector<std::string>& named_libraries, Isolation* isolation) {
  Backends backends;
  for (const std::string& path : named_libraries) {
    if (path.find('\n') != std::string::npos) {
      throw Error("plug-in: a path with a line break cannot stand in a case");
    }
    const std::string library = is_cuda_source(path) ? compile_cuda_source(path) : path;
    if (!is_loaded(backends, library)) add(backends, load(library, isolation), path);
  }
  backends.all.push_back({&gen_backend(), "", "built in"});
  for (const PluginLocation& location : plugin_locations()) {
    for (const std::string& path : plugins_at(location.path)) {
      if (is_loaded(backends, path)) continue;
      try {
        add(backends, load(path, isolation), "");
      } catch (const Error& e) {
        backends.problems.emplace_back(e.what());
      }
    }
  }
  return backends;
}

void offer_program_files(std::span<const std::string> targets) {
  const char* given = std::getenv("MOTE_PROGRAMS");
  std::string all = given != nullptr ? given : "";
  for (const std::string& target : targets)
    if (target != "-" && find_target(target)->is_file()) all += (all.empty() ? "" : "\n") + target;
  if (!all.empty()) setenv("MOTE_PROGRAMS", all.c_str(), 1);
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

std::string plugin_to_name(std::string_view backend) {
  return beside_plugins(fmt::format("{}.so", backend));
}

std::string absence(const Backends& backends, const std::string& name) {
  const std::string library = fmt::format("mote_{}.so", name);
  const bool broken = std::ranges::any_of(backends.problems, [&](const std::string& problem) {
    return problem.find(library) != std::string::npos;
  });
  const std::string beside = plugin_to_name(name);
  const std::string why = broken           ? "its plug-in cannot be loaded"
                          : beside.empty() ? "it is not part of this build"
                                           : "its plug-in must be named: --plugin " + beside;
  return fmt::format("backend {} is not on this machine: {} (there is: {})", name, why,
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
    for (const BackendEntry& e : backends.all) {  // gen has an entry for each program file
      const auto same = [&](const BackendEntry& other) { return other.backend == e.backend; };
      if (e.name() == name && std::ranges::none_of(selection.chosen, same))
        selection.chosen.push_back(e);
    }
    if (!is_here(backends, name)) {
      require_backend_name(backends, name);
      selection.absent.push_back(name);
    }
  }
  return selection;
}

void add_program_kernels(Backends& backends, const std::vector<ProgramKernels>& files,
                         Isolation* isolation) {
  for (const ProgramKernels& file : files) {
    try {
      Plugin plugin = load(compile_program_kernels(file), isolation);
      for (const mote_backend* backend : plugin.backends)
        backends.all.push_back({backend, "", plugin.path, file.target->text()});
      backends.libraries.push_back(std::move(plugin));
    } catch (const Error& e) {
      backends.problems.emplace_back(fmt::format("gen: {}", e.what()));
    }
  }
}

bool wants_program_kernels(const Backends& backends, const std::vector<std::string>& names) {
  const auto is_named = [](const BackendEntry& e) { return !e.plugin.empty(); };
  if (names.empty()) return std::ranges::none_of(backends.all, is_named);
  return std::ranges::find(names, kGenerated) != names.end();
}

bool has_kernel(const BackendEntry& entry, const Target& target) {
  if (!entry.program.empty()) return entry.program == target.text();
  if (target.is_file() && entry.backend == &gen_backend()) return false;
  return has_kernel(*entry.backend, target.op());
}

bool has_kernel(const mote_backend& backend, std::string_view op) {
  for (std::int32_t k = 0; k < backend.kernel_count; ++k) {
    if (op == kernel_at(backend, k).op) return true;
  }
  return false;
}

}  // namespace mote
