// SPDX-License-Identifier: Apache-2.0
// Implements `mote bench`: how fast the backends are, next to each other and to the machine.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>

#include "bench/report.h"
#include "bench/threads.h"
#include "commands.h"
#include "interrupt.h"
#include "mote/base/error.h"
#include "mote/base/variant_names.h"
#include "mote/generated/kernels.h"
#include "mote/oracle/quantity.h"
#include "requirements.h"
#include "terminal.h"

namespace mote::tool {
namespace {

constexpr const char* kSpeedGroup = "speed";

struct BenchArguments {
  std::vector<std::string> words;
  std::vector<std::string> groups;
  std::vector<std::string> backends;
  std::vector<std::string> plugins;
  std::string threads = "1";
  std::string budget = "1s";
  bool json = false;
  std::string color = "auto";
};

/// The cases and ops of a command line: a word that holds `=` goes on with the case before it,
/// unless it is a whole case.
std::vector<std::string> items_of(const std::vector<std::string>& words) {
  std::vector<std::string> items;
  for (const std::string& word : words) {
    const std::size_t blank = word.find(' ');
    const std::size_t equals = word.find('=');
    const bool goes_on = equals != word.npos && (blank == word.npos || equals < blank);
    if (goes_on && !items.empty())
      items.back() += " " + word;
    else
      items.push_back(word);
  }
  return items;
}

/// The cases of an op in the groups that come with mote, from the first group that has any.
std::vector<Case> cases_of_op(const std::string& op) {
  find_target(op);  // finds a name that no op has
  std::vector<std::string> groups = groups_in(case_folder());
  std::stable_partition(groups.begin(), groups.end(),
                        [](const auto& g) { return g == kSpeedGroup; });
  for (const std::string& group : groups) {
    std::vector<Case> all = read_cases(case_file(group));
    std::erase_if(all, [&](const Case& c) { return c.target->text() != op; });
    if (!all.empty()) return all;
  }
  throw Error(
      fmt::format("{}: no group of cases ({}) has it: give its sizes, as in `mote bench '{} "
                  "x=f32[1024,1024]'`",
                  op, fmt::join(groups, ", "), op));
}

std::vector<Case> cases_of(const BenchArguments& options) {
  std::vector<Case> all;
  const auto add = [&](std::vector<Case> cases) {
    std::ranges::move(cases, std::back_inserter(all));
  };
  for (const std::string& item : items_of(options.words)) {
    if (item.find('=') != item.npos)
      add({parse_case(item)});
    else
      add(cases_of_op(item));
  }
  for (const std::string& group : split_paths(options.groups)) add(read_cases(case_file(group)));
  if (all.empty()) add(read_cases(case_file(kSpeedGroup)));
  for (const Case& c : all) {
    if (std::ranges::any_of(c.outputs, [](const CaseTensor& t) { return !t.in_place.empty(); }))
      throw Error(fmt::format("bench: {}: a call in place changes its own input each time",
                              c.target->op()));
  }
  return all;
}

/// The program files of the cases, with their dtypes.
std::vector<ProgramKernels> files_of(const std::vector<Case>& cases) {
  std::vector<ProgramKernels> files;
  for (const Case& c : cases) {
    if (!c.target->is_file()) continue;
    auto file = std::ranges::find(files, c.target, &ProgramKernels::target);
    if (file == files.end()) file = files.insert(files.end(), {c.target, {}});
    if (std::ranges::find(file->dtypes, c.instance.dtype) == file->dtypes.end())
      file->dtypes.push_back(c.instance.dtype);
  }
  return files;
}

/// Measures one case; nullopt if the user stops it.
std::optional<BenchReport> bench_case(const Case& c, const std::vector<BackendEntry>& backends,
                                      const MachineLimits& machine, double seconds,
                                      const std::string& location, StatusLine& status) {
  BenchReport report{.text = to_string(c), .work = work_of(c)};
  report.limit = limit_of(machine, report.work, c.instance.dtype);
  const auto show = [&](const std::string& what) {
    status.show(fmt::format("{}; {}: {}", location, c.target->op(), what));
  };
  show("making data");
  MeasuredBench bench(c);
  for (const BackendEntry& e : backends) {
    if (Interrupts::noted() != 0) return std::nullopt;
    // gen has an entry for each program file.
    if (!e.program.empty() && e.program != c.target->text()) continue;
    show("first call of " + e.name());
    bench.add(e, report.measured);
  }
  if (report.measured.subjects.empty()) {
    report.agreement.text = "none: no backend takes the case";
    return report;
  }
  show("comparing results");
  report.agreement = agreement_of(c, report.measured.subjects);
  bench.measure(report.measured, {.seconds = seconds, .before_round = [&](int round, int rounds) {
                                    if (status.is_due())
                                      show(fmt::format("round {} of {}", round + 1, rounds));
                                    return Interrupts::noted() == 0;
                                  }});
  if (Interrupts::noted() != 0) return std::nullopt;
  return report;
}

int bench(const BenchArguments& options) {
  const auto threads = static_cast<int>(parse_whole("threads", options.threads, 1, most_threads()));
  const double seconds = parse_seconds("budget", options.budget);
  const Screen screen = screen_of_output(options.color);
  const std::vector<Case> cases = cases_of(options);
  set_kernel_threads(threads);
  Backends backends = find_backends(split_paths(options.plugins));
  if (wants_program_kernels(backends, options.backends))
    add_program_kernels(backends, files_of(cases));
  Selection selection = select_backends(backends, options.backends);
  for (const std::string& problem : backends.problems)
    fmt::print(stderr, "mote: left out: {}\n", problem);
  for (const std::string& name : selection.absent)
    fmt::print(stderr, "mote: {}\n", absence(backends, name));
  if (selection.chosen.empty()) {
    fmt::print(stderr, "mote: there is no backend to measure\n");
    return kNoBackend;
  }
  const Interrupts interrupts;
  StatusLine status(true);
  status.show("measuring the machine");
  const MachineLimits& machine = machine_with(threads);
  status.clear();
  print(options.json ? machine_json(machine) : machine_text(machine));
  int code = kNothingJudged;
  for (std::size_t k = 0; k < cases.size(); ++k) {
    const auto report =
        bench_case(cases[k], selection.chosen, machine, seconds, progress_bar(k, cases.size()), status);
    status.clear();
    if (!report) {
      fmt::print(stderr, "mote: interrupted\n");
      return Interrupts::exit_code();
    }
    print(options.json ? bench_json(*report) : bench_text(*report, screen));
    std::fflush(stdout);
    if (!report->agreement.wrong.empty()) code = 1;
    if (code == kNothingJudged && !report->measured.subjects.empty()) code = 0;
  }
  return code;
}

}  // namespace

void add_bench(CLI::App& app, Action& action) {
  const auto options = std::make_shared<BenchArguments>();
  CLI::App* command =
      app.add_subcommand("bench", "measure backends, next to each other and to this machine");
  command->add_option("OP|CASE", options->words,
                      "cases, or ops whose cases are in a group; default: the group speed");
  add_list(*command, "--cases", options->groups, "GROUP|FILE",
           "measure a group of cases, or a file of them");
  add_list(*command, "--backend", options->backends, "BACKEND",
           "default: those of --plugin, else all found")
      ->delimiter(',')
      ->transform([](const std::string& name) { return std::string(current_name(name)); });
  add_list(*command, "--plugin", options->plugins, "LIB.so", "load a library's backends too");
  command->add_option("--threads", options->threads, "of each kernel; default: 1")->type_name("N");
  command
      ->add_option("--budget", options->budget,
                   "time for each backend and case, beyond the least number of rounds; default: 1s")
      ->type_name("TIME");
  command->add_flag("--json", options->json, "lines of JSON");
  add_color(*command, options->color);
  command->callback([options, &action] { action = [options] { return bench(*options); }; });
}

}  // namespace mote::tool
