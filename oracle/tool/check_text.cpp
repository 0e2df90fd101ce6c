// SPDX-License-Identifier: Apache-2.0
#include "check_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "host.h"
#include "mote/oracle/contract.h"
#include "mote/oracle/report.h"
#include "mote/oracle/text.h"
#include "output.h"
#include "report/json_line.h"

namespace mote::tool {
namespace {

std::string verdict_line(const CampaignResult& result, int code, const Screen& screen) {
  std::int64_t judged = 0;
  std::int64_t large = 0;
  std::int64_t failed = 0;
  for (const Row& row : result.rows) {
    judged += row.judged;
    large += row.judged_large;
    failed += row.failures();
  }
  const char* word = result.interrupted       ? "INTERRUPTED"
                     : code == 0              ? "passed"
                     : code == 1 || code == 3 ? "FAILED"
                                              : "NOT JUDGED";
  std::string line = fmt::format(
      "{}: {} judged in {:.1f} s ({} of them with {:.0f} operations or more), {} failed", word,
      counted(judged, "case"), result.seconds, large, kLargeCase, failed);
  if (result.ended_early) line += "; ended early, since every op and dtype has failed";
  const Colour colour = code == 0 ? Colour::green : failed > 0 ? Colour::red : Colour::yellow;
  return painted(wrapped(line, screen.columns, 2), colour, screen);
}

/// The ops of the campaign's random and listed cases, under the names that kernels use.
std::vector<std::string> ops_of(const CampaignOptions& campaign) {
  std::vector<std::string> ops;
  const auto add = [&](const Target& target) {
    if (std::ranges::find(ops, target.op()) == ops.end()) ops.push_back(target.op());
  };
  const bool is_random = campaign.budget_s || campaign.count;
  if (is_random || !campaign.ops.empty())
    for (const auto& target : targets_of(campaign)) add(*target);
  for (const Case& c : campaign.cases) add(*c.target);
  return ops;
}

}  // namespace

Heading heading_of(const CampaignOptions& campaign) {
  Heading heading{.version = MOTE_VERSION,
                  .seed = campaign.seed,
                  .backends = {},
                  .contracts = {},
                  .date = date_text(),
                  .command = command_text(),
                  .host = host_text(),
                  .host_name = host_name()};
  for (const BackendEntry& e : campaign.backends) {
    const std::string version = e.backend->version != nullptr ? e.backend->version : "";
    heading.backends.push_back(version.empty() ? e.name() : e.name() + " " + version);
    const std::vector<std::string> contracts = contract_lines(*e.backend, ops_of(campaign));
    heading.contracts.insert(heading.contracts.end(), contracts.begin(), contracts.end());
  }
  return heading;
}

void print_header(const Heading& heading, const Screen& screen, bool json) {
  if (json) {
    print(json_line(nlohmann::ordered_json{{"type", "campaign"},
                                           {"format", kJsonFormat},
                                           {"mote", heading.version},
                                           {"seed", heading.seed},
                                           {"backends", heading.backends},
                                           {"contracts", heading.contracts},
                                           {"date", heading.date},
                                           {"command", heading.command},
                                           {"host", heading.host}}));
  } else {
    print(wrapped(fmt::format("mote check: seed {}, backends {}", heading.seed,
                              fmt::join(heading.backends, ", ")),
                  screen.columns, 2));
    for (const std::string& contract : heading.contracts)
      print(wrapped(contract, screen.columns, 2));
  }
  std::fflush(stdout);  // a crash ends the process without flushing
}

void print_result(const CampaignResult& result, int code, const Screen& screen, bool json) {
  if (json) {
    print(table_json(result));
    print(coverage_json(result.coverage));
    for (const Failure& f : result.failures) print(failure_json(f));
    print(json_line(nlohmann::ordered_json{{"type", "result"},
                                           {"exit", code},
                                           {"seconds", result.seconds},
                                           {"ended_early", result.ended_early},
                                           {"interrupted", result.interrupted}}));
    return;
  }
  if (!result.failures.empty()) print("\n");
  print(table_text(result, screen));
  for (const Failure& f : result.failures) print(failure_line(f, screen));
  print(coverage_text(result.coverage, screen));
  print(machine_text());
  print(verdict_line(result, code, screen));
}

}  // namespace mote::tool
