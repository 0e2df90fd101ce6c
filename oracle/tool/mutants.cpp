// SPDX-License-Identifier: Apache-2.0
// Implements `mote mutants`: the oracle against planted bugs and their correct twins.
#include "mote/oracle/mutants.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <limits>
#include <memory>

#include "commands.h"
#include "interrupt.h"
#include "mote/base/error.h"
#include "mote/oracle/isolation.h"
#include "mote/oracle/memory.h"
#include "mote/oracle/quantity.h"
#include "terminal.h"

namespace mote::tool {
namespace {

constexpr std::uint64_t kMaxCasesEach = 1'000'000'000;

struct MutantsArguments {
  std::vector<std::string> names;
  std::string folder;
  std::string budget = "60s";
  std::string count = "300";
  std::string seed = "0";
  std::string shrink;
  SubjectOptions subject{.limit = "1s"};
  bool json = false;
  std::string color = "auto";
};

std::string folder_of(const MutantsArguments& options) {
  if (!options.folder.empty()) return options.folder;
  return std::filesystem::path(executable_folder()) / ".." / "lib" / "mutants";
}

bool is_wanted(const Mutant& m, const std::vector<std::string>& names) {
  return names.empty() || std::ranges::any_of(names, [&](const std::string& name) {
           return m.name == name || m.op == name;
         });
}

std::vector<Mutant> wanted(const std::string& folder, const std::vector<std::string>& names) {
  std::vector<Mutant> mutants = read_mutants(folder + "/mutants.list");
  for (const std::string& name : names) {
    const bool known = std::ranges::any_of(
        mutants, [&](const Mutant& m) { return m.name == name || m.op == name; });
    if (!known)
      throw Error(fmt::format("unknown mutant or op '{}' (`mote mutants` lists all)", name));
  }
  std::erase_if(mutants, [&](const Mutant& m) { return !is_wanted(m, names); });
  return mutants;
}

std::string status_text(const std::vector<MutantResult>& results, std::size_t all, double seconds,
                        const std::string& current) {
  const auto done = static_cast<double>(results.size());
  std::string text = fmt::format("{} of {}", results.size(), all);
  if (!results.empty())
    text +=
        fmt::format(", about {:.0f} s left", seconds / done * (static_cast<double>(all) - done));
  return text + "; " + current;
}

/// The results; if the user asks to stop, those so far.
std::vector<MutantResult> measure_all(const std::vector<Mutant>& all, MutantOptions options,
                                      bool shown) {
  const Interrupts interrupts;
  options.run.stop = &Interrupts::noted();
  StatusLine status(shown);
  const auto begin = std::chrono::steady_clock::now();
  std::vector<MutantResult> results;
  for (const Mutant& m : all) {
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    status.show(status_text(results, all.size(), seconds.count(), m.name));
    MutantResult result = measure(m, options);
    const bool is_measured = !options.run.stopping() || result.failure;
    if (is_measured) results.push_back(std::move(result));
    if (options.run.stopping()) break;
  }
  return results;
}

int mutants(const MutantsArguments& options) {
  MutantOptions measured;
  measured.folder = folder_of(options);
  measured.budget_s = parse_seconds("budget", options.budget);
  measured.count = static_cast<std::int64_t>(parse_whole("count", options.count, 1, kMaxCasesEach));
  measured.seed = parse_whole("seed", options.seed, 0, std::numeric_limits<std::uint64_t>::max());
  if (!options.shrink.empty()) measured.shrink_s = parse_seconds("shrink", options.shrink);
  measured.run.guard_crashes = options.subject.in_process;
  if (!options.subject.in_process) {
    measured.run.isolation = std::make_shared<Isolation>();
    measured.offered.insert("isolated");
  }
  set_subject_options(options.subject, measured.run);
  measured.run.json = options.json;
  const Screen screen = screen_of_output(options.color);
  const std::vector<Mutant> all = wanted(measured.folder, options.names);
  const std::vector<MutantResult> results = measure_all(all, measured, !options.json);
  print(options.json ? mutants_json(results) : mutants_text(results, screen));
  if (Interrupts::noted() != 0) {
    fmt::print(stderr, "mote: interrupted: {} of {} measured\n", results.size(), all.size());
    return Interrupts::exit_code();
  }
  return std::ranges::all_of(results, as_expected) ? 0 : 1;
}

}  // namespace

void add_mutants(CLI::App& app, Action& action) {
  const auto options = std::make_shared<MutantsArguments>();
  CLI::App* command =
      app.add_subcommand("mutants", "measure the oracle: planted bugs and their correct twins");
  command->add_option("NAME", options->names, "mutants or ops; default: all");
  command->add_option("--folder", options->folder, "where the plug-ins and mutants.list are")
      ->type_name("DIR");
  command->add_option("--budget", options->budget, "most time for one bug; default 60s")
      ->type_name("TIME");
  command->add_option("--count", options->count, "cases of each twin; default 300")->type_name("N");
  command->add_option("--seed", options->seed, "of the random cases; default 0")->type_name("S");
  command
      ->add_option("--shrink", options->shrink,
                   "most time to make a failure smaller; default: 20s; 0s: it has no diagnosis")
      ->type_name("TIME");
  add_subject_options(*command, options->subject);
  command->add_flag("--json", options->json, "lines of JSON");
  add_color(*command, options->color);
  command->callback([options, &action] { action = [options] { return mutants(*options); }; });
}

}  // namespace mote::tool
