// SPDX-License-Identifier: Apache-2.0
// With --json a failure is a line when it is found; the complete failure, with its count, comes at
// the end.
#include "check_live.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <optional>

#include "output.h"

namespace mote::tool {
namespace {

constexpr double kMinute = 60;

std::string duration_text(double seconds) {
  if (seconds < kMinute) return fmt::format("{:.1f} s", seconds);
  const auto whole = static_cast<std::int64_t>(seconds + 0.5);
  if (whole < 3600) return fmt::format("{} m {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} m", whole / 3600, whole % 3600 / 60);
}

/// The remaining time, by the time limit or by the time of the cases so far.
std::optional<double> seconds_left(const CampaignProgress& p) {
  std::optional<double> left;
  if (p.until_s) left = std::max(*p.until_s - p.seconds, 0.0);
  if (p.planned > 0 && p.cases > 0) {
    const auto open = static_cast<double>(std::max<std::int64_t>(p.planned - p.cases, 0));
    const double by_cases = p.seconds / static_cast<double>(p.cases) * open;
    left = std::min(left.value_or(by_cases), by_cases);
  }
  return left;
}

}  // namespace

std::string progress_line(const CampaignProgress& p) {
  std::string text = duration_text(p.seconds);
  if (p.until_s) text += " of " + duration_text(*p.until_s);
  if (const auto left = seconds_left(p)) text += fmt::format(", {} left", duration_text(*left));
  text += fmt::format("; {}{} cases, {} failed", p.cases,
                      p.planned > 0 ? fmt::format(" of {}", p.planned) : "", p.failed);
  if (p.failures > 0) text += fmt::format(" in {} way{}", p.failures, p.failures == 1 ? "" : "s");
  if (!p.op.empty()) text += fmt::format("; {}{}", p.shrinking ? "making smaller " : "", p.op);
  return text;
}

void Live::watch(CampaignOptions& campaign) {
  // If failures are not made smaller, the complete failure follows at once.
  if (campaign.shrink_s.value_or(1) > 0)
    campaign.found = [this](const FoundFailure& met) { found(met); };
  campaign.failure = [this](const Failure& f) { failure(f); };
  campaign.progress = [this](const CampaignProgress& p) { progress(p); };
}

void Live::found(const FoundFailure& met) {
  status_.clear();
  print(json_ ? found_json(met) : "\n" + found_text(met, screen_));
  std::fflush(stdout);
}

void Live::failure(const Failure& failure) {
  if (json_) return;
  status_.clear();
  print(failure_text(failure, {.screen = screen_, .counted = false}));
  std::fflush(stdout);
}

void Live::progress(const CampaignProgress& progress) {
  if (status_.is_due()) status_.show(progress_line(progress));
}

}  // namespace mote::tool
