// SPDX-License-Identifier: Apache-2.0
// Shares a campaign among processes.
#pragma once

#include <functional>

#include "mote/oracle/campaign.h"

namespace mote::tool {

/// Runs a part of `campaign` in each process, with backends that `plan` finds there, and merges the
/// results; the callbacks of `campaign` get what they find. Each process writes a journal: the
/// campaign's path followed by the process's number, or a temporary file. The processes end early
/// as `campaign` says (max_failures, of all together, and CaseRunOptions::stop). Throws Error if a
/// process fails; the others are then ended.
CampaignResult run_in_workers(const CampaignOptions& campaign, int workers,
                              const std::function<CampaignOptions()>& plan);

}  // namespace mote::tool
