// SPDX-License-Identifier: Apache-2.0
// Prints the result of a campaign as text for people and as lines of JSON.
#pragma once

#include <functional>
#include <string>

#include "mote/base/export.h"
#include "mote/oracle/campaign.h"
#include "mote/oracle/screen.h"

namespace MOTE_API mote {

/// The table op × dtype × backend, the meaning of its columns, and the cases that were not judged.
/// Columns that are 0 everywhere are left out; rows whose cases were all declined share one line.
std::string table_text(const CampaignResult& result, const Screen& screen = {});
/// The table and the failures after that number of cases, to be printed if the subject then
/// crashes.
std::string progress_text(const CampaignResult& result, std::int64_t cases);
std::string progress_json(const CampaignResult& result, std::int64_t cases);
/// A failure when it is found: its verdict, and the case.
std::string found_text(const FoundFailure& found, const Screen& screen = {});
struct FailureStyle {
  Screen screen = {};
  bool counted = true;  ///< says how often it was seen, which is known at the end of the campaign
  /// Returns the command that runs a case again; null: replay_command().
  std::function<std::string(const Case&)> replay = nullptr;
};
/// One failure: its verdict, the first differences, the smallest case, and the command that replays
/// it.
std::string failure_text(const Failure& failure, const FailureStyle& style = {});
/// A line with the number of occurrences, for the end of a report that has shown the rest.
std::string failure_line(const Failure& failure, const Screen& screen = {});
/// A line about faults that this machine cannot show; empty if there are none.
std::string machine_text();
/// The first differing elements: "y[0,3]: expected 6, got 0".
std::string differences_text(const Outcome& outcome, std::size_t most);

/// The version of the JSON lines: it grows when a field goes or changes its meaning, not when a
/// field is added. docs/reports.md describes them.
constexpr int kJsonFormat = 2;

/// Each returns lines of JSON, each with a newline.
std::string table_json(const CampaignResult& result);
std::string found_json(const FoundFailure& found);
std::string failure_json(const Failure& failure);
std::string outcome_json(const Case& c, const Outcome& outcome);

}  // namespace mote
