// SPDX-License-Identifier: Apache-2.0
// Implements `mote replay`: it runs one case, or each case of a file, again.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>

#include "commands.h"
#include "interrupt.h"
#include "mote/base/error.h"
#include "mote/base/variant_names.h"
#include "mote/oracle/campaign.h"
#include "mote/oracle/isolation.h"
#include "mote/oracle/memory.h"
#include "mote/oracle/quantity.h"
#include "mote/oracle/report.h"
#include "mote/oracle/standalone.h"
#include "terminal.h"

namespace mote::tool {
namespace {

constexpr std::size_t kShown = 8;
constexpr double kLinger = 0.2;  ///< seconds to wait for a late write

struct ReplayArguments {
  std::vector<std::string> words;
  std::vector<std::string> backends;
  std::vector<std::string> plugins;
  std::string memory;
  std::string standalone;
  SubjectOptions subject;
  bool json = false;
  std::string color = "auto";
};

/// The worse exit code, in the order 2, 3, 1, 4, 77 (2 ends the process where it occurs, as 3 does
/// in process).
int worse(int a, int b) {
  for (const int code : {3, 1, 4, 77}) {
    if (a == code || b == code) return code;
  }
  return 0;
}

/// Combines exit codes; if no backend was named, it suffices that one of them judges.
int combine(const std::vector<int>& codes, bool named) {
  const bool any_passed = std::ranges::find(codes, 0) != codes.end();
  int code = 0;
  for (const int c : codes) code = worse(code, c == 4 && any_passed && !named ? 0 : c);
  return code;
}

int code_of(const Outcome& outcome) {
  if (is_lost(outcome.verdict)) return 3;
  if (is_failure(outcome.verdict)) return 1;
  return outcome.verdict == Verdict::passed ? 0 : 4;
}

void print_outcome(const Case& c, Prepared& prepared, const Outcome& outcome, const Screen& screen,
                   bool json) {
  if (json) {
    print(outcome_json(c, outcome));
    return;
  }
  const Colour colour = is_failure(outcome.verdict)          ? Colour::red
                        : outcome.verdict == Verdict::passed ? Colour::green
                                                             : Colour::yellow;
  print(painted(name(outcome.verdict), colour, screen) + fmt::format(": {}\n", to_string(c)));
  if (!outcome.reason.empty()) print(fmt::format("  {}\n", outcome.reason));
  print(differences_text(outcome, kShown));
  if (outcome.differing > 0) {
    print(fmt::format("  {} of {} elements differ from the reference ({})\n", outcome.differing,
                      outcome.elements, prepared.reference()));
  }
}

/// The backends that the case names, otherwise those of the command line, otherwise all. For a
/// program file the kernels of gen are compiled now; a failure is reported.
Selection backends_for(const Case& c, Backends& backends, const ReplayArguments& options,
                       Isolation* isolation) {
  std::vector<std::string> names = options.backends;
  if (!c.backend.empty()) names = {c.backend};
  if (c.target->is_file() && wants_program_kernels(backends, names)) {
    const std::size_t known = backends.problems.size();
    add_program_kernels(backends, {{c.target, {c.instance.dtype}}}, isolation);
    for (std::size_t k = known; k < backends.problems.size(); ++k)
      fmt::print(stderr, "mote: left out: {}\n", backends.problems[k]);
  }
  Selection selection = select_backends(backends, names);
  std::erase_if(selection.chosen, [&](const BackendEntry& e) {  // gen's kernels of the catalogue
    return c.target->is_file() && e.plugin.empty() && !has_kernel(e, *c.target);
  });
  return selection;
}

/// Writes the case as a C file, for the only backend that it or the command line names.
void write_standalone(const Case& c, const Selection& selection, const std::string& path) {
  if (selection.chosen.size() != 1)
    throw Error(fmt::format("--standalone: expected one backend, got {}", selection.chosen.size()));
  const BackendEntry& e = selection.chosen.front();
  if (!e.program.empty())
    throw Error(
        "--standalone: the kernels of a program file are no library that stays; `mote emit " +
        e.program + " --plugin` makes one");
  Case subject = c;
  subject.backend = e.name();
  subject.plugin = e.plugin.empty() ? e.path : e.plugin;
  if (subject.plugin.ends_with(".cu"))
    throw Error(fmt::format("--standalone: expected a library, got {}", subject.plugin));
  std::ofstream file(path);
  file << standalone_c(subject, *e.backend);
  if (!file.flush()) throw Error(fmt::format("{}: cannot be written", path));
}

CaseRunOptions run_options(const ReplayArguments& options, std::shared_ptr<Isolation> isolation) {
  CaseRunOptions run;
  run.isolation = std::move(isolation);
  run.linger_s = kLinger;
  run.is_given = true;
  run.guard_crashes = true;
  run.json = options.json;
  run.stop = &Interrupts::noted();
  if (!options.memory.empty()) run.memory_limit = parse_bytes("memory", options.memory);
  set_subject_options(options.subject, run);
  return run;
}

int replay_case(const Case& c, const ReplayArguments& options,
                const std::shared_ptr<Isolation>& isolation, const Screen& screen) {
  std::vector<std::string> libraries = split_paths(options.plugins);
  if (!c.plugin.empty()) libraries.insert(libraries.begin(), c.plugin);
  Backends backends = find_backends(libraries, isolation.get());
  const Selection selection = backends_for(c, backends, options, isolation.get());
  for (const std::string& absent : selection.absent) {
    fmt::print(stderr, "mote: {}\n", absence(backends, absent));
  }
  if (selection.chosen.empty()) return selection.absent.empty() ? 4 : 77;
  if (!options.standalone.empty()) write_standalone(c, selection, options.standalone);
  Prepared prepared(c, run_options(options, isolation));
  std::vector<int> codes;
  for (const BackendEntry& e : selection.chosen) {
    std::fflush(stdout);
    Case subject = c;
    subject.backend = e.name();
    subject.plugin = e.plugin;
    const Outcome outcome = prepared.run(*e.backend, e.plugin);
    print_outcome(subject, prepared, outcome, screen, options.json);
    codes.push_back(code_of(outcome));
  }
  return combine(codes, !c.backend.empty() || !options.backends.empty());
}

int replay(const ReplayArguments& options) {
  const Screen screen = screen_of_output(options.color);
  const std::vector<Case> cases = cases_of(fmt::format("{}", fmt::join(options.words, " ")));
  std::vector<std::string> targets;
  for (const Case& c : cases) targets.push_back(c.target->text());
  offer_program_files(targets);
  const auto isolation = options.subject.in_process ? nullptr : std::make_shared<Isolation>();
  const Interrupts interrupts;
  int code = 0;
  try {
    for (const Case& c : cases) {
      if (Interrupts::noted() != 0) throw Interrupted();
      code = worse(code, replay_case(c, options, isolation, screen));
    }
  } catch (const Interrupted&) {
    fmt::print(stderr, "mote: interrupted\n");
    return Interrupts::exit_code();
  }
  return code;
}

}  // namespace

std::vector<Case> cases_of(const std::string& text) {
  std::error_code ignored;
  if (!text.empty() && std::filesystem::exists(text, ignored)) return read_cases(text);
  return {parse_case(text)};
}

void add_replay(CLI::App& app, Action& action) {
  const auto options = std::make_shared<ReplayArguments>();
  CLI::App* command = app.add_subcommand("replay", "run a case again and show what differs");
  command->add_option("CASE", options->words, "a case as `mote check` prints it, or a file of them")
      ->required();
  add_list(*command, "--backend", options->backends, "BACKEND",
           "where the case names none; default: all")
      ->delimiter(',')
      ->transform([](const std::string& name) { return std::string(current_name(name)); });
  add_list(*command, "--plugin", options->plugins, "LIB.so", "load a library's backends too");
  command->add_option("--memory", options->memory, "most memory for a case; default: what is free")
      ->type_name("BYTES");
  command
      ->add_option("--standalone", options->standalone,
                   "also write a C file that compiles alone and shows the bug")
      ->type_name("FILE.c");
  add_subject_options(*command, options->subject);
  command->add_flag("--json", options->json, "lines of JSON");
  add_color(*command, options->color);
  command->callback([options, &action] { action = [options] { return replay(*options); }; });
}

}  // namespace mote::tool
