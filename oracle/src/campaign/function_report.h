// SPDX-License-Identifier: Apache-2.0
// Summarises a campaign in one text.
#pragma once

#include <functional>
#include <string>

#include "mote/oracle/campaign.h"
#include "mote/oracle/function.h"

namespace mote {

/// `replay` writes the command that runs a case again.
FunctionReport report_of(const CampaignResult& result,
                         const std::function<std::string(const Case&)>& replay = replay_command);

}  // namespace mote
