// SPDX-License-Identifier: Apache-2.0
// Runs a campaign of one op against one mutant, stopped by its first failure.
#include "mote/oracle/mutants.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "mote/base/error.h"

namespace mote {
namespace {

Mutant parse_mutant(const std::string& line) {
  std::istringstream words(line);
  Mutant m;
  std::string file, defect;
  words >> m.name >> file >> defect >> m.op >> m.needs;
  std::getline(words >> std::ws, m.text);
  if (m.text.empty()) throw Error("expected name, file, defect, op, needs and text");
  if (m.needs == "-") m.needs.clear();
  m.twin = defect.ends_with("correct");  // a file with several has names like f16_correct
  return m;
}

/// The factor on the number of cases for a twin that declined all: a kernel of 3x3 convolutions
/// takes one in some hundred.
constexpr std::int64_t kMoreCases = 50;

std::int64_t cases_run(const CampaignResult& result) {
  std::int64_t cases = 0;
  for (const Row& row : result.rows)
    for (std::size_t v = 0; v < kVerdicts; ++v) {
      const auto verdict = static_cast<Verdict>(v);
      const bool ran = verdict != Verdict::declined && verdict != Verdict::skipped;
      if (ran) cases += row.count(verdict);
    }
  return cases;
}

}  // namespace

std::vector<Mutant> read_mutants(const std::string& path) {
  std::ifstream stream(path);
  if (!stream) throw Error(fmt::format("{}: cannot be read", path));
  std::vector<Mutant> mutants;
  int number = 0;
  for (std::string line; std::getline(stream, line);) {
    ++number;
    if (line.empty() || line.front() == '#') continue;
    try {
      mutants.push_back(parse_mutant(line));
    } catch (const Error& e) {
      throw Error(fmt::format("{}: line {}: {}", path, number, e.what()));
    }
  }
  if (mutants.empty()) throw Error(fmt::format("{}: lists no mutant", path));
  return mutants;
}

std::string_view name(MutantState state) {
  switch (state) {
    case MutantState::killed:
      return "killed";
    case MutantState::survived:
      return "survived";
    case MutantState::passed:
      return "passed";
    case MutantState::false_alarm:
      return "false alarm";
    case MutantState::unjudged:
      return "unjudged";
  }
  return "unknown";
}

MutantResult measure(const Mutant& mutant, const MutantOptions& options) {
  MutantResult result;
  result.mutant = mutant;
  if (!mutant.needs.empty() && !options.offered.contains(mutant.needs)) {
    result.state = MutantState::survived;
    result.note = "needs " + mutant.needs;
    return result;
  }
  const std::string path = fmt::format("{}/{}.so", options.folder, mutant.name);
  const Backends backends = find_backends({path}, options.run.isolation.get());
  CampaignOptions campaign;
  campaign.ops = {mutant.op};
  campaign.backends = select_backends(backends, {mutant.name}).chosen;
  campaign.seed = options.seed;
  campaign.max_failures = 1;
  campaign.shrink_s = options.shrink_s;
  campaign.run = options.run;
  if (mutant.twin) {
    campaign.count = options.count;
  } else {
    campaign.budget_s = options.budget_s;
  }
  CampaignResult found = run_campaign(campaign);
  if (mutant.twin && cases_run(found) == 0) {
    campaign.count = options.count * kMoreCases;
    found = run_campaign(campaign);
  }
  result.cases = cases_run(found);
  result.seconds = found.seconds;
  if (!found.failures.empty()) {
    result.failure = std::move(found.failures.front());
    result.seconds = result.failure->found_after_s;
    result.state = mutant.twin ? MutantState::false_alarm : MutantState::killed;
  } else if (std::ranges::any_of(found.rows, &Row::declines_late)) {
    result.state = mutant.twin ? MutantState::false_alarm : MutantState::killed;
  } else if (result.cases > 0) {
    result.state = mutant.twin ? MutantState::passed : MutantState::survived;
  } else {
    result.note = "no case was judged";
  }
  return result;
}

bool as_expected(const MutantResult& result) {
  const bool not_looked_for = result.state == MutantState::survived && !result.note.empty();
  return result.state == MutantState::killed || result.state == MutantState::passed ||
         not_looked_for;
}

}  // namespace mote
