// SPDX-License-Identifier: Apache-2.0
// Says which ops and cases a campaign is asked to check.
#pragma once

#include <memory>
#include <vector>

#include "mote/oracle/campaign.h"

namespace mote {

using Targets = std::vector<std::shared_ptr<const Target>>;

/// True if a backend has a kernel for the target.
bool offers(const std::vector<BackendEntry>& backends, const Target& target);

/// True if the case's op and dtype are checked, and the case is in this shard.
bool is_asked_for(const CampaignOptions& options, const Case& c, const Targets& targets);

}  // namespace mote
