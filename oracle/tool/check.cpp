// `mote check`: backends against the generated reference, over random cases and files of cases.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>

#include "commands.h"
#include "mote/base/error.h"
#include "mote/oracle/campaign.h"
#include "mote/oracle/memory.h"
#include "mote/oracle/report.h"
#include "mote/oracle/resolve.h"

namespace mote::tool {
namespace {

constexpr int kNoBackend = 77;
constexpr double kDefaultBudget = 20;

struct Options {
  std::vector<std::string> ops;
  std::vector<std::string> backends;
  std::vector<std::string> plugins;
  std::vector<std::string> cases;
  std::string budget;
  std::string dtype;
  std::string memory;
  std::optional<std::int64_t> count;
  std::optional<std::uint64_t> seed;
  std::optional<int> max_failures;
  bool json = false;
};

/// "60s", "500ms", "2m", "60".
double parse_seconds(const std::string& text) {
  std::size_t end = 0;
  double value = -1;
  try {
    value = std::stod(text, &end);
  } catch (const std::exception&) {
    end = 0;
  }
  const std::string unit = text.substr(end);
  const double scale = unit == "ms" ? 1e-3 : unit == "s" || unit.empty() ? 1 : unit == "m" ? 60 : 0;
  if (end == 0 || scale == 0 || !(value >= 0 && value < 1e9)) {
    throw Error(fmt::format("budget '{}': expected a time such as 60s, 500ms or 2m", text));
  }
  return value * scale;
}

std::vector<std::string> groups_in(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator(folder, failed)) {
    if (entry.path().extension() == ".cases") names.push_back(entry.path().stem());
  }
  std::ranges::sort(names);
  return names;
}

std::vector<std::string> case_lines(const std::string& group) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::path(executable_folder()) / ".." / "share" / "mote" / "cases";
  std::error_code ignored;
  const fs::path named = folder / (group + ".cases");
  if (fs::exists(named, ignored)) return read_case_lines(named);
  if (fs::exists(group, ignored)) return read_case_lines(group);
  throw Error(fmt::format("unknown group of cases '{}' (known: {}; or the path of a file)", group,
                          fmt::join(groups_in(folder), ", ")));
}

/// A line on the terminal that is written over.
class Progress {
 public:
  explicit Progress(bool wanted) : wanted_(wanted && isatty(STDERR_FILENO) != 0) {}
  ~Progress() {
    if (shown_) fmt::print(stderr, "\r{:60}\r", "");
  }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  void operator()(double seconds, std::int64_t judged, std::int64_t failed) {
    if (!wanted_ || seconds - last_ < 0.1) return;
    last_ = seconds;
    shown_ = true;
    fmt::print(stderr, "\r{:6.1f} s  {} judged, {} failed ", seconds, judged, failed);
    std::fflush(stderr);
  }

 private:
  bool wanted_;
  bool shown_ = false;
  double last_ = 0;
};

CampaignOptions campaign_options(const Options& options, const Selection& selection) {
  CampaignOptions campaign;
  campaign.ops = options.ops;
  campaign.backends = selection.chosen;
  if (!options.dtype.empty()) campaign.dtype = require_dtype(options.dtype);
  for (const std::string& group : options.cases) {
    for (std::string& line : case_lines(group)) campaign.lines.push_back(std::move(line));
  }
  if (!options.budget.empty()) campaign.budget_s = parse_seconds(options.budget);
  campaign.count = options.count;
  const bool bounded = campaign.budget_s || campaign.count || !options.cases.empty();
  if (!bounded) campaign.budget_s = kDefaultBudget;
  campaign.seed = options.seed.value_or(std::random_device{}());
  campaign.max_failures = options.max_failures;
  campaign.run.guard_crashes = true;
  campaign.run.json = options.json;
  if (!options.memory.empty()) campaign.run.memory_limit = parse_bytes(options.memory);
  return campaign;
}

void print_header(const CampaignOptions& campaign, bool json) {
  std::vector<std::string> names;
  for (const BackendEntry& e : campaign.backends) {
    const std::string version = e.backend->version != nullptr ? e.backend->version : "";
    names.push_back(version.empty() ? e.name() : e.name() + " " + version);
  }
  if (json) {
    print(nlohmann::ordered_json{{"type", "campaign"}, {"seed", campaign.seed}, {"backends", names}}
              .dump() +
          "\n");
  } else {
    print(fmt::format("mote check: seed {}, backends {}\n", campaign.seed, fmt::join(names, ", ")));
  }
  std::fflush(stdout);  // a crash ends the process without flushing
}

std::string verdict_line(const CampaignResult& result, int code) {
  std::int64_t judged = 0;
  std::int64_t large = 0;
  std::int64_t failed = 0;
  for (const Row& row : result.rows) {
    judged += row.judged;
    large += row.judged_large;
    failed += row.failures();
  }
  return fmt::format(
      "{}: {} cases judged in {:.1f} s ({} of them with 1000 multiply-adds or more), {} failed\n",
      code == 0   ? "passed"
      : code == 1 ? "FAILED"
                  : "NOT JUDGED",
      judged, result.seconds, large, failed);
}

void print_result(const CampaignResult& result, int code, bool json) {
  if (json) {
    print(table_json(result));
    for (const Failure& f : result.failures) print(failure_json(f));
    print(nlohmann::ordered_json{{"type", "result"}, {"exit", code}, {"seconds", result.seconds}}
              .dump() +
          "\n");
    return;
  }
  print(table_text(result));
  for (const Failure& f : result.failures) print("\n" + failure_text(f));
  print((result.failures.empty() ? "" : "\n") + verdict_line(result, code));
}

int check(const Options& options) {
  for (const std::string& op : options.ops) find_target(op);  // mistakes before anything is loaded
  const Backends backends = find_backends(options.plugins);
  for (const std::string& problem : backends.problems) {
    fmt::print(stderr, "mote: left out: {}\n", problem);
  }
  const Selection selection = select_backends(backends, options.backends);
  for (const std::string& name : selection.absent) {
    fmt::print(stderr, "mote: backend {} is not on this machine\n", name);
  }
  const CampaignOptions campaign = campaign_options(options, selection);
  if (selection.chosen.empty()) {
    fmt::print(stderr, "mote: there is no backend to check\n");
    return kNoBackend;
  }
  print_header(campaign, options.json);
  CampaignResult result;
  {
    Progress progress(!options.json);
    CampaignOptions watched = campaign;
    watched.progress = std::ref(progress);
    result = run_campaign(watched);
  }
  const int code = exit_code(result, selection.chosen, !options.backends.empty());
  print_result(result, code, options.json);
  return code;
}

}  // namespace

void add_check(CLI::App& app, Action& action) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("check", "prove backends against the generated reference");
  command->add_option("OP", options->ops,
                      "ops or .mote files; default: all that a backend has a kernel for");
  command->add_option("--backend", options->backends, "default: those of --plugin, else all found")
      ->type_name("NAME")
      ->allow_extra_args(false)
      ->delimiter(',');
  command->add_option("--plugin", options->plugins, "load a library's backends too")
      ->type_name("LIB.so")
      ->allow_extra_args(false)
      ->delimiter(',');
  command->add_option("--cases", options->cases, "run a group of cases, or a file of them")
      ->type_name("GROUP|FILE")
      ->allow_extra_args(false)
      ->delimiter(',');
  CLI::Option* budget = command->add_option(
      "--budget", options->budget, "random cases for that long; default 20s without --cases");
  budget->type_name("TIME");
  command->add_option("--count", options->count, "that many random cases of each op")
      ->type_name("N")
      ->check(CLI::NonNegativeNumber)
      ->excludes(budget);
  command->add_option("--seed", options->seed, "of the random cases; default: another each time")
      ->type_name("S");
  command->add_option("--dtype", options->dtype, "only this element type")->type_name("DTYPE");
  command->add_option("--memory", options->memory, "most memory for a case; default: what is free")
      ->type_name("BYTES");
  command
      ->add_option("--max-failures", options->max_failures,
                   "stop after that many different failures")
      ->type_name("N")
      ->check(CLI::PositiveNumber);
  command->add_flag("--json", options->json, "lines of JSON");
  command->callback([options, &action] { action = [options] { return check(*options); }; });
}

}  // namespace mote::tool
