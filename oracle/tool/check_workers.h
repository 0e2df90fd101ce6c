// SPDX-License-Identifier: Apache-2.0
// A campaign shared among processes.
#pragma once

#include <functional>

#include "mote/oracle/campaign.h"

namespace mote::tool {

/// Each process runs its part of `campaign`, with backends that `plan` finds in it, and writes a
/// journal: that of the campaign with the process's number behind it, or one that is removed in the
/// end. The counts of all of them; `campaign` is told what they find. They end early as it says
/// (max_failures, of all together, and CaseRunOptions::stop). Throws Error where a process ends
/// otherwise than well; the others are ended then.
CampaignResult run_in_workers(const CampaignOptions& campaign, int workers,
                              const std::function<CampaignOptions()>& plan);

}  // namespace mote::tool
