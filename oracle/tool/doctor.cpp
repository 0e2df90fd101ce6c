// SPDX-License-Identifier: Apache-2.0
// Implements `mote doctor`: what this machine has, what is missing, what that costs, and the
// remedy. It only reports, so its exit code is 0. find_backends() loads each plug-in in a child
// process first, so that one that crashes is a finding too.
#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>

#include "commands.h"
#include "finding.h"
#include "host.h"
#include "mote/base/command.h"
#include "mote/base/plugin_search.h"
#include "mote/oracle/backends.h"
#include "mote/oracle/c_compiler.h"
#include "mote/oracle/memory.h"
#include "mote/oracle/text.h"
#include "report/json_line.h"
#include "terminal.h"

namespace mote::tool {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kOpsShown = 12;  ///< the maximum for a backend; --json lists all
constexpr std::size_t kIndent = 25;    ///< the indentation of the lines after a finding's first one

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

Finding look_at_mote() {
  const std::string folder = executable_folder();
  return {.name = "mote",
          .state = "ok",
          .found = fmt::format("{} in {}", MOTE_VERSION, folder),
          .details = {{"version", MOTE_VERSION}, {"folder", folder}}};
}

Finding look_at_c_compiler() {
  std::vector<std::string> words = c_compiler();
  const std::string command = fmt::format("{}", fmt::join(words, " "));
  words.emplace_back("--version");
  const CommandResult version = run_command(words);
  Finding f{.name = "c_compiler", .details = {{"command", command}}};
  if (version.ok && c_compiler_works()) {
    f.state = "ok";
    f.found = fmt::format("{}: {}", command, first_line(version.output));
    f.details["version"] = first_line(version.output);
    return f;
  }
  f.state = version.ok ? "failed" : "missing";
  f.found = version.ok ? command + " runs, but compiles no library that can be loaded"
                       : command + " cannot be run";
  f.costs = "program files are judged by the interpreter, which is slow";
  f.remedy = "apt-get install gcc libc6-dev, or set CC";
  return f;
}

/// The function that the library, or a dependency, exports under that name; null if none does.
template <typename Function>
Function* find_function(void* library, const char* name) {
  return reinterpret_cast<Function*>(dlsym(library, name));
}

/// Adds what OpenBLAS says about itself, if the plug-in loads one.
void describe_openblas(void* library, Finding& f) {
  const auto config = find_function<char*()>(library, "openblas_get_config");
  const auto core = find_function<char*()>(library, "openblas_get_corename");
  const auto threads = find_function<int()>(library, "openblas_get_num_threads");
  if (config == nullptr || core == nullptr || threads == nullptr) return;
  const std::string config_text = config();
  const std::string core_text = core();
  f.details.update({{"config", config_text}, {"core", core_text}, {"threads", threads()}});
  f.found += fmt::format("; core type {}, {} threads; {}", core_text, threads(), config_text);
}

Finding backend_finding(const Backends& backends, const BackendEntry& entry) {
  std::vector<std::string> ops;
  for (std::int32_t k = 0; k < entry.backend->kernel_count; ++k) {
    const std::string op = kernel_at(*entry.backend, k).op;
    if (std::ranges::find(ops, op) == ops.end()) ops.push_back(op);
  }
  const std::string version = entry.backend->version;
  Finding f{.name = "backend", .state = "ok"};
  f.found = fmt::format("{}, {}: version {}, {}", entry.name(), entry.path, version,
                        counted(std::ssize(ops), "op"));
  if (ops.size() <= kOpsShown) f.found += fmt::format(" ({})", fmt::join(ops, ", "));
  f.details = {{"backend", entry.name()}, {"path", entry.path}, {"version", version}, {"ops", ops}};
  const auto library = std::ranges::find(backends.libraries, entry.path, &Plugin::path);
  if (library != backends.libraries.end()) describe_openblas(library->library.get(), f);
  return f;
}

/// The finding for a problem "plug-in PATH: reason".
Finding problem_finding(const std::string& problem) {
  static constexpr std::string_view kPrefix = "plug-in ";
  const bool named = problem.starts_with(kPrefix);
  const bool lacks_openblas = problem.find("libopenblas") != std::string::npos;
  return {.name = "plugin",
          .state = "failed",
          .found = named ? problem.substr(kPrefix.size()) : problem,
          .costs = "its backends are left out",
          .remedy = lacks_openblas
                        ? "apt-get install libopenblas0-openmp"
                        : "build it again for this machine, or take it out of the folder"};
}

Finding location_finding(const PluginLocation& location, std::size_t count) {
  Finding f{.name = "plugin_folder", .details = {{"path", location.path}, {"libraries", count}}};
  std::error_code failed;
  if (!fs::is_regular_file(location.path, failed)) fs::directory_iterator(location.path, failed);
  if (failed) {
    f.state = "missing";
    f.found = fmt::format("{}: {}", location.path, failed.message());
    f.costs = "no backend comes from there";
    f.remedy = location.is_given ? "correct $MOTE_PLUGIN_PATH" : "build the target mote_plugins";
    return f;
  }
  f.state = "ok";
  f.found = fmt::format("{}: {} {}", location.path, count, count == 1 ? "library" : "libraries");
  return f;
}

/// Adds the known backends that are not loaded.
void add_absent(const std::vector<std::string>& here, std::vector<Finding>& all) {
  std::vector<std::string> absent;
  for (const std::string_view name : known_backends()) {
    if (std::ranges::find(here, name) != here.end()) continue;
    if (const std::string path = plugin_to_name(name); !path.empty()) {
      all.push_back({.name = "backend",
                     .state = "ok",
                     .found = fmt::format("{}, {}: loaded where it is named: --plugin", name, path),
                     .details = {{"backend", name}, {"path", path}}});
      continue;
    }
    if (name == "openblas" || name == "onednn") {
      const bool blas = name == "openblas";
      all.push_back({.name = "backend",
                     .state = "missing",
                     .found = std::string(name),
                     .costs = blas ? "OpenBLAS's gemm, matmul and conv2d cannot be checked"
                                   : "oneDNN's kernels cannot be checked",
                     .remedy = fmt::format("apt-get install {}, then build mote again",
                                           blas ? "libopenblas-openmp-dev" : "libdnnl-dev"),
                     .details = {{"backend", name}}});
    } else {
      absent.emplace_back(name);
    }
  }
  if (absent.empty()) return;
  all.push_back({.name = "other_backends",
                 .state = "missing",
                 .found = fmt::format("{}", fmt::join(absent, ", ")),
                 .costs = "kernels of theirs cannot be checked",
                 .remedy = "put plug-ins of these names into a folder of $MOTE_PLUGIN_PATH",
                 .details = {{"names", absent}}});
}

void look_at_plugins(std::vector<Finding>& all) {
  bool ours_named = false;  // one of mote's own folders is enough
  for (const PluginLocation& location : plugin_locations()) {
    if (!location.is_given && ours_named && !fs::exists(location.path)) continue;
    all.push_back(location_finding(location, plugins_at(location.path).size()));
    ours_named = ours_named || !location.is_given;
  }
  const Backends backends = find_backends({});
  for (const std::string& problem : backends.problems) all.push_back(problem_finding(problem));
  std::vector<std::string> here;
  for (const BackendEntry& entry : backends.all) {
    all.push_back(backend_finding(backends, entry));
    here.push_back(entry.name());
  }
  add_absent(here, all);
}

Finding look_at_openmp() {
  static constexpr const char* kLibrary = "libgomp.so.1";
  void* runtime = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  const auto most =
      runtime != nullptr ? find_function<int()>(runtime, "omp_get_max_threads") : nullptr;
  const int threads = most != nullptr ? most() : 0;
  Finding f{.name = "openmp", .details = {{"library", kLibrary}, {"threads", threads}}};
  f.state = threads > 0 ? "ok" : "missing";
  f.found = threads > 0 ? fmt::format("{}, {} threads", kLibrary, threads)
                        : fmt::format("{} cannot be loaded", kLibrary);
  if (threads > 0) return f;
  f.costs = "plug-ins that were built with it cannot be loaded, OpenBLAS's among them";
  f.remedy = "apt-get install libgomp1";
  return f;
}

Finding look_at_memory() {
  const std::int64_t bytes = bytes_available();
  return {.name = "memory",
          .state = "ok",
          .found = format_bytes(bytes) + " for a case; larger ones are refused",
          .details = {{"available_bytes", bytes}}};
}

Finding look_at_cpus() {
  cpu_set_t set;
  const bool known = sched_getaffinity(0, sizeof(set), &set) == 0;
  const long online = sysconf(_SC_NPROCESSORS_ONLN);
  const long usable = known ? CPU_COUNT(&set) : online;
  const std::string model = cpu_model();
  Finding f{.name = "cpus", .state = "ok"};
  f.found = usable == online ? fmt::format("{}", online)
                             : fmt::format("{} of {} may be used", usable, online);
  if (!model.empty()) f.found += ", " + model;
  f.details = {{"usable", usable}, {"online", online}, {"model", model}};
  return f;
}

Finding look_at_cpu_features() {
  static constexpr std::array<std::string_view, 19> kTelling = {
      "sse2",     "sse4_2",   "avx",      "f16c",     "fma",         "avx2",        "avx_vnni",
      "avx512f",  "avx512dq", "avx512bw", "avx512vl", "avx512_vnni", "avx512_bf16", "avx512_fp16",
      "amx_tile", "asimd",    "asimddp",  "sve",      "sve2"};
  std::istringstream stream(cpu_flags());
  const std::vector<std::string> flags{std::istream_iterator<std::string>(stream), {}};
  std::vector<std::string_view> features;
  for (const std::string_view name : kTelling) {
    if (std::ranges::find(flags, name) != flags.end()) features.push_back(name);
  }
  return {.name = "cpu_features",
          .state = "ok",
          .found = features.empty() ? "none that matter to mote"
                                    : fmt::format("{}", fmt::join(features, " ")),
          .details = {{"features", features}}};
}

Finding look_at_case_groups() {
  const std::vector<std::string> groups = groups_in(case_folder());
  Finding f{.name = "case_groups", .state = "ok", .details = {{"groups", groups}}};
  f.found = fmt::format("{}", fmt::join(groups, ", "));
  if (!groups.empty()) return f;
  f.state = "missing";
  f.found = "none in " + fs::path(case_folder()).lexically_normal().string();
  f.costs = "`mote check --cases` takes only files";
  f.remedy = "build the target mote_cases";
  return f;
}

Finding look_at_terminal() {
  const bool out = isatty(STDOUT_FILENO) != 0;
  const bool err = isatty(STDERR_FILENO) != 0;
  return {
      .name = "terminal",
      .state = "ok",
      .found = fmt::format(
          "standard output is {}a terminal, standard error is {}", out ? "" : "not ",
          err ? "one: `mote check` shows its progress" : "not one: `mote check` shows no progress"),
      .details = {{"stdout", out}, {"stderr", err}}};
}

std::string text_line(const Finding& f, const Screen& screen) {
  std::string name = f.name;
  std::ranges::replace(name, '_', ' ');
  std::string line = fmt::format("{:<8} {:<15} {}", f.state, name, f.found);
  if (!f.costs.empty()) line += "; cost: " + f.costs;
  if (!f.remedy.empty()) line += "; remedy: " + f.remedy;
  std::ranges::replace(line, '\n', ' ');
  line = wrapped(line, screen.columns, kIndent);
  const Colour colour = f.state == "ok"        ? Colour::green
                        : f.state == "missing" ? Colour::yellow
                                               : Colour::red;
  return painted(line.substr(0, f.state.size()), colour, screen) + line.substr(f.state.size());
}

std::string finding_json(const Finding& f) {
  nlohmann::ordered_json json = {{"name", f.name},
                                 {"state", f.state},
                                 {"found", f.found},
                                 {"costs", f.costs},
                                 {"remedy", f.remedy}};
  json.update(f.details);
  return json_line(json);
}

int doctor(bool json, const Screen& screen) {
  std::vector<Finding> all = {look_at_mote(), look_at_c_compiler()};
  look_at_plugins(all);
  all.push_back(look_at_openmp());
  for (Finding& f : look_at_cuda()) all.push_back(std::move(f));
  for (const auto look : {look_at_memory, look_at_cpus, look_at_cpu_features, look_at_case_groups,
                          look_at_terminal}) {
    all.push_back(look());
  }
  for (const Finding& f : all) print(json ? finding_json(f) : text_line(f, screen));
  return 0;
}

}  // namespace

void add_doctor(CLI::App& app, Action& action) {
  const auto json = std::make_shared<bool>(false);
  const auto color = std::make_shared<std::string>("auto");
  CLI::App* command = app.add_subcommand("doctor", "what is on this machine, and what is missing");
  command->add_flag("--json", *json, "one JSON object a line");
  add_color(*command, *color);
  command->callback([json, color, &action] {
    action = [json, color] { return doctor(*json, screen_of_output(*color)); };
  });
}

}  // namespace mote::tool
