// SPDX-License-Identifier: Apache-2.0
// Runs the other backends on the smallest case of a failure.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "mote/oracle/campaign.h"

namespace mote {

/// The results of the backends, except the case's own; empty if the case cannot be prepared.
std::vector<Peer> peers_on(const Case& c, const std::vector<BackendEntry>& backends,
                           const CaseRunOptions& options);

/// The list [{"backend": …, "verdict": …, "reason": …}], for reports and journals.
nlohmann::ordered_json peers_json(const std::vector<Peer>& peers);

}  // namespace mote
