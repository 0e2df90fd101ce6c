// SPDX-License-Identifier: Apache-2.0
// Implements `mote check`: backends against the generated reference, on random cases and files of
// cases.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <limits>
#include <memory>
#include <random>

#include "check_live.h"
#include "check_text.h"
#include "check_workers.h"
#include "commands.h"
#include "interrupt.h"
#include "mote/base/error.h"
#include "mote/base/variant_names.h"
#include "mote/generated/kernels.h"
#include "mote/oracle/campaign.h"
#include "mote/oracle/isolation.h"
#include "mote/oracle/memory.h"
#include "mote/oracle/quantity.h"
#include "mote/oracle/report.h"
#include "mote/oracle/resolve.h"
#include "reports/write.h"
#include "requirements.h"
#include "terminal.h"

namespace mote::tool {
namespace {

constexpr double kDefaultBudget = 20;
constexpr std::uint64_t kMaxCases = 1'000'000'000'000'000;
constexpr std::uint64_t kMaxFailures = 1'000'000;
constexpr std::uint64_t kMaxWorkerProcesses = 256;

struct CheckArguments {
  std::vector<std::string> ops;
  std::vector<std::string> backends;
  std::vector<std::string> plugins;
  std::vector<std::string> cases;
  std::string budget;
  std::vector<std::string> dtypes;
  std::string memory;
  std::string count;
  std::string seed;
  std::string max_failures;
  bool fail_fast = false;
  std::string shrink;
  std::string shard;
  std::string workers;
  std::string corpus;
  std::string journal;
  std::vector<std::string> require;
  SubjectOptions subject;
  bool json = false;
  std::string color = "auto";
  ReportOptions reports;
};

std::vector<Case> all_cases(const CheckArguments& options, const Backends& backends) {
  const auto accept = [&](const Case& c) {
    if (!c.backend.empty()) require_backend_name(backends, c.backend);
  };
  std::vector<Case> all =
      options.corpus.empty() ? std::vector<Case>() : read_corpus(options.corpus);
  for (const std::string& group : split_paths(options.cases)) {
    for (Case& c : read_cases(case_file(group), accept)) all.push_back(std::move(c));
  }
  return all;
}

/// The given seed, that of the journal's campaign, that of MOTE_SEED in the environment, or a
/// random one.
std::uint64_t seed_of(const CheckArguments& options) {
  const auto parsed = [](const std::string& text, const std::string& name) {
    return parse_whole(name, text, 0, std::numeric_limits<std::uint64_t>::max());
  };
  if (options.seed.empty() && !options.journal.empty()) {
    for (const char* of_worker : {"", ".0"})
      if (const auto begun = journal_seed(options.journal + of_worker)) return *begun;
  }
  if (!options.seed.empty()) return parsed(options.seed, "seed");
  if (const char* seed = std::getenv("MOTE_SEED"); seed != nullptr && *seed != '\0')
    return parsed(seed, "MOTE_SEED");
  return std::random_device{}();
}

CampaignOptions campaign_options(const CheckArguments& options, std::vector<Case> cases) {
  CampaignOptions campaign;
  campaign.ops = options.ops;
  for (const std::string& dtype : options.dtypes) campaign.dtypes.push_back(require_dtype(dtype));
  campaign.cases = std::move(cases);
  if (!options.budget.empty()) campaign.budget_s = parse_seconds("budget", options.budget);
  if (!options.count.empty()) {
    campaign.count = static_cast<std::int64_t>(parse_whole("count", options.count, 0, kMaxCases));
  }
  const bool bounded = campaign.budget_s || campaign.count || !options.cases.empty();
  if (!bounded) campaign.budget_s = kDefaultBudget;
  campaign.seed = seed_of(options);
  campaign.shard = options.shard.empty() ? shard_of_environment() : parse_shard(options.shard);
  campaign.journal = options.journal;
  campaign.corpus = options.corpus;
  if (options.fail_fast) campaign.max_failures = 1;
  if (!options.max_failures.empty()) {
    campaign.max_failures =
        static_cast<int>(parse_whole("max-failures", options.max_failures, 1, kMaxFailures));
  }
  if (!options.shrink.empty()) campaign.shrink_s = parse_seconds("shrink", options.shrink);
  campaign.run.guard_crashes = options.subject.in_process;
  campaign.run.json = options.json;
  set_subject_options(options.subject, campaign.run);
  if (!options.memory.empty()) campaign.run.memory_limit = parse_bytes("memory", options.memory);
  return campaign;
}

/// The campaign, and all that it runs on.
struct Plan {
  std::shared_ptr<Isolation> isolation;
  Backends backends;
  Selection selection;
  CampaignOptions campaign;
};

/// The program files of the campaign, with the dtypes of its cases.
std::vector<ProgramKernels> program_files(const CampaignOptions& campaign) {
  std::vector<ProgramKernels> files;
  const auto add = [&](const std::shared_ptr<const Target>& target, DType dtype) {
    if (!target->is_file()) return;
    auto file = std::ranges::find(files, target, &ProgramKernels::target);
    if (file == files.end()) file = files.insert(files.end(), {target, {}});
    if (std::ranges::find(file->dtypes, dtype) == file->dtypes.end()) file->dtypes.push_back(dtype);
  };
  for (const std::string& op : campaign.ops) {
    const auto target = find_target(op);
    for (const DType dtype : dtypes_of(campaign, *target)) add(target, dtype);
  }
  for (const Case& c : campaign.cases) add(c.target, c.instance.dtype);
  return files;
}

/// Throws Error if a program file cannot be read with a requested dtype.
void require_dtypes(const CheckArguments& options) {
  for (const std::string& op : options.ops) {
    const auto target = find_target(op);
    for (const std::string& dtype : options.dtypes)
      if (target->is_file()) target->program({require_dtype(dtype), target->full_mask()});
  }
}

/// True if only program files are checked, so that gen's kernels of the catalogue have no work.
bool has_files_alone(const CampaignOptions& campaign, const Selection& selection) {
  const auto is_file = [](const auto& target) { return target->is_file(); };
  return std::ranges::any_of(selection.chosen, [](const auto& e) { return !e.program.empty(); }) &&
         std::ranges::all_of(targets_of(campaign), is_file) &&
         std::ranges::all_of(campaign.cases, is_file, &Case::target);
}

Plan plan_of(const CheckArguments& options) {
  Plan plan;
  if (!options.subject.in_process) plan.isolation = std::make_shared<Isolation>();
  plan.backends = find_backends(split_paths(options.plugins), plan.isolation.get());
  plan.campaign = campaign_options(options, all_cases(options, plan.backends));
  if (wants_program_kernels(plan.backends, options.backends))
    add_program_kernels(plan.backends, program_files(plan.campaign), plan.isolation.get());
  plan.selection = select_backends(plan.backends, options.backends);
  if (has_files_alone(plan.campaign, plan.selection))
    std::erase_if(plan.selection.chosen, [](const BackendEntry& e) {
      return e.program.empty() && e.backend == &gen_backend();
    });
  plan.campaign.backends = plan.selection.chosen;
  plan.campaign.run.isolation = plan.isolation;
  // In this process, a crash of a backend that was not requested would end the run.
  plan.campaign.peers = options.subject.in_process ? plan.selection.chosen : plan.backends.all;
  return plan;
}

int workers_of(const CheckArguments& options) {
  if (options.workers.empty()) return 1;
  const std::uint64_t workers = parse_whole("workers", options.workers, 1, kMaxWorkerProcesses);
  if (workers > 1 && options.subject.in_process)
    throw Error("workers: a crash in process would end one of them; leave out --in-process");
  return static_cast<int>(workers);
}

CampaignResult run_shown(const CampaignOptions& campaign, const CheckArguments& options,
                         int workers, const Screen& screen) {
  const Interrupts interrupts;
  Live live(screen, options.json);
  CampaignOptions watched = campaign;
  live.watch(watched);
  watched.run.stop = &Interrupts::noted();
  if (workers == 1) return run_campaign(watched);
  return run_in_workers(watched, workers, [&options] { return plan_of(options).campaign; });
}

int check(const CheckArguments& given) {
  require_dtypes(given);  // finds mistakes before anything is loaded
  offer_program_files(given.ops);
  CheckArguments options = given;
  options.seed = std::to_string(seed_of(given));  // every worker gets the same seed
  const int workers = workers_of(options);
  const Screen screen = screen_of_output(options.color);
  Plan plan = plan_of(options);
  const Requirements required = requirements_of(split_paths(options.require), plan.backends);
  for (const std::string& problem : plan.backends.problems) {
    fmt::print(stderr, "mote: left out: {}\n", problem);
  }
  for (const std::string& name : plan.selection.absent) {
    fmt::print(stderr, "mote: {}\n", absence(plan.backends, name));
  }
  if (plan.selection.chosen.empty()) {
    fmt::print(stderr, "mote: there is no backend to check\n");
    return with_required(kNoBackend, required, {});
  }
  Heading heading = heading_of(plan.campaign);
  open_reports(options.reports);
  print_header(heading, screen, options.json);
  CampaignResult result = run_shown(plan.campaign, options, workers, screen);
  result.coverage = coverage_of(plan.campaign, result);
  const int code =
      result.interrupted
          ? Interrupts::exit_code()
          : with_required(exit_code(result, plan.selection.chosen, !options.backends.empty()),
                          required, result);
  print_result(result, code, screen, options.json);
  heading.exit = code;
  write_reports(options.reports, heading, result);
  return code;
}

}  // namespace

void add_check(CLI::App& app, Action& action) {
  const auto options = std::make_shared<CheckArguments>();
  CLI::App* command = app.add_subcommand("check", "prove backends against the generated reference");
  command->add_option("OP", options->ops,
                      "ops or .mote files; default: all that a backend has a kernel for");
  add_list(*command, "--backend", options->backends, "BACKEND",
           "default: those of --plugin, else all found")
      ->delimiter(',')
      ->transform([](const std::string& name) { return std::string(current_name(name)); });
  add_list(*command, "--plugin", options->plugins, "LIB.so|FILE.cu",
           "load a library's backends too; kernels of a CUDA file run on the CPU");
  add_list(*command, "--cases", options->cases, "GROUP|FILE",
           "run a group of cases, or a file of them");
  command
      ->add_option(
          "--budget", options->budget,
          "random cases for that long, or until every op and dtype has failed; default 20s "
          "without --cases or --count")
      ->type_name("TIME");
  command
      ->add_option("--count", options->count,
                   "that many random cases of each op, as far as a budget lasts")
      ->type_name("N");
  command
      ->add_option(
          "--seed", options->seed,
          "of the random cases; default: the environment's MOTE_SEED, else another each time")
      ->type_name("S");
  add_list(*command, "--dtype", options->dtypes, "DTYPE",
           "only these element types; of a .mote file instead of its own")
      ->delimiter(',');
  command->add_option("--memory", options->memory, "most memory for a case; default: what is free")
      ->type_name("BYTES");
  CLI::Option* most = command->add_option("--max-failures", options->max_failures,
                                          "stop after that many different failures");
  most->type_name("N");
  command->add_flag("--fail-fast", options->fail_fast, "the same as --max-failures 1")
      ->excludes(most);
  command
      ->add_option("--shrink", options->shrink,
                   "most time to make a failure smaller; default: 20s; 0s: it stays as it is")
      ->type_name("TIME");
  command
      ->add_option("--shard", options->shard,
                   "the part I, from 0, of N parts of the cases; default: $GTEST_SHARD_INDEX of "
                   "$GTEST_TOTAL_SHARDS")
      ->type_name("I/N");
  command->add_option("--workers", options->workers, "processes that share the cases; default: 1")
      ->type_name("N");
  command
      ->add_option("--corpus", options->corpus,
                   "a folder: its cases run first, new failures are added to it")
      ->type_name("DIR");
  command
      ->add_option("--journal", options->journal,
                   "a file that keeps what was done; a campaign that was killed goes on from there")
      ->type_name("FILE");
  add_list(*command, "--require", options->require, "BACKEND|coverage=PERCENT",
           "a backend that has to judge a case, or the least coverage; else the exit code is 4");
  add_subject_options(*command, options->subject);
  command->add_flag("--json", options->json, "lines of JSON");
  add_color(*command, options->color);
  add_reports(*command, options->reports);
  command->callback([options, &action] { action = [options] { return check(*options); }; });
}

}  // namespace mote::tool
