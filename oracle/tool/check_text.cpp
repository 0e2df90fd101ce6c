// SPDX-License-Identifier: Apache-2.0
#include "check_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "mote/oracle/contract.h"
#include "mote/oracle/report.h"
#include "output.h"

namespace mote::tool {
namespace {

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
      code == 0                ? "passed"
      : code == 1 || code == 3 ? "FAILED"
                               : "NOT JUDGED",
      judged, result.seconds, large, failed);
}

/// The ops of the campaign's random and listed cases, by the names that kernels have.
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
  Heading heading{MOTE_VERSION, campaign.seed, {}, {}, 0};
  for (const BackendEntry& e : campaign.backends) {
    const std::string version = e.backend->version != nullptr ? e.backend->version : "";
    heading.backends.push_back(version.empty() ? e.name() : e.name() + " " + version);
    const std::vector<std::string> contracts = contract_lines(*e.backend, ops_of(campaign));
    heading.contracts.insert(heading.contracts.end(), contracts.begin(), contracts.end());
  }
  return heading;
}

void print_header(const Heading& heading, bool json) {
  if (json) {
    print(nlohmann::ordered_json{{"type", "campaign"},
                                 {"format", kJsonFormat},
                                 {"mote", heading.version},
                                 {"seed", heading.seed},
                                 {"backends", heading.backends},
                                 {"contracts", heading.contracts}}
              .dump() +
          "\n");
  } else {
    print(fmt::format("mote check: seed {}, backends {}\n", heading.seed,
                      fmt::join(heading.backends, ", ")));
    for (const std::string& contract : heading.contracts) print(contract + "\n");
  }
  std::fflush(stdout);  // a crash ends the process without flushing
}

void print_result(const CampaignResult& result, int code, bool json) {
  if (json) {
    print(table_json(result));
    print(coverage_json(result.coverage));
    for (const Failure& f : result.failures) print(failure_json(f));
    print(nlohmann::ordered_json{{"type", "result"}, {"exit", code}, {"seconds", result.seconds}}
              .dump() +
          "\n");
    return;
  }
  print(table_text(result));
  for (const Failure& f : result.failures) print("\n" + failure_text(f));
  print((result.failures.empty() ? "" : "\n") + coverage_text(result.coverage));
  print(verdict_line(result, code));
}

}  // namespace mote::tool
