// SPDX-License-Identifier: Apache-2.0
// The other backends on the smallest case of a failure.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "mote/oracle/campaign.h"

namespace mote {

/// Each of the backends but the case's own. None where the case cannot be prepared.
std::vector<Peer> peers_on(const Case& c, const std::vector<BackendEntry>& backends,
                           const CaseRunOptions& options);

/// [{"backend": …, "verdict": …, "reason": …}], in reports and in journals.
nlohmann::ordered_json peers_json(const std::vector<Peer>& peers);

}  // namespace mote
