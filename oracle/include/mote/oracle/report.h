// SPDX-License-Identifier: Apache-2.0
// What a campaign found, as text for people and as lines of JSON.
#pragma once

#include <functional>
#include <string>

#include "mote/base/export.h"
#include "mote/oracle/campaign.h"

namespace MOTE_API mote {

/// The table op × dtype × backend.
std::string table_text(const CampaignResult& result);
/// The table, and failures, after so many cases: what is left when the subject then crashes.
std::string progress_text(const CampaignResult& result, std::int64_t cases);
std::string progress_json(const CampaignResult& result, std::int64_t cases);
/// One failure: what, where, expected and got, the smallest case, how to replay it.
std::string failure_text(const Failure& failure);
/// The same, where another command than replay_command() runs a case again.
std::string failure_text(const Failure& failure,
                         const std::function<std::string(const Case&)>& replay);
/// The first differing elements: "y[0,3]: expected 6, got 0".
std::string differences_text(const Outcome& outcome, std::size_t most);

/// The version of the lines of JSON: it grows when a field goes or changes its meaning, not when
/// one comes. docs/reports.md describes them.
constexpr int kJsonFormat = 1;

/// Lines of JSON, each with a newline.
std::string table_json(const CampaignResult& result);
std::string failure_json(const Failure& failure);
std::string outcome_json(const Case& c, const Outcome& outcome);

}  // namespace mote
