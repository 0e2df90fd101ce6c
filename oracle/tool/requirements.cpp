// SPDX-License-Identifier: Apache-2.0
#include "requirements.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "mote/oracle/coverage.h"
#include "mote/oracle/quantity.h"

namespace mote::tool {
namespace {

/// Descriptions of the requirements that are not met.
std::vector<std::string> missed(const Requirements& required, const CampaignResult& result) {
  std::vector<std::string> all;
  for (const std::string& backend : required.backends) {
    const bool judged = std::ranges::any_of(
        result.rows, [&](const Row& row) { return row.backend == backend && row.judged > 0; });
    if (!judged) all.push_back(fmt::format("backend {} judged no case", backend));
  }
  const double percent = sum_of(result.coverage).percent();
  if (percent < required.coverage)
    all.push_back(fmt::format("coverage {:.1f}% of what is not ruled out, expected {}%", percent,
                              required.coverage));
  return all;
}

}  // namespace

Requirements requirements_of(const std::vector<std::string>& texts, const Backends& backends) {
  constexpr std::string_view kCoverage = "coverage=";
  Requirements required;
  for (const std::string& text : texts) {
    if (!text.starts_with(kCoverage)) {
      require_backend_name(backends, text);
      required.backends.push_back(text);
      continue;
    }
    std::string percent = text.substr(kCoverage.size());
    if (percent.ends_with('%')) percent.pop_back();
    required.coverage = static_cast<double>(parse_whole("coverage", percent, 0, 100));
  }
  return required;
}

int with_required(int code, const Requirements& required, const CampaignResult& result) {
  const std::vector<std::string> reasons = missed(required, result);
  for (const std::string& reason : reasons) fmt::print(stderr, "mote: required: {}\n", reason);
  return reasons.empty() || (code != 0 && code != kNoBackend) ? code : kNothingJudged;
}

}  // namespace mote::tool
