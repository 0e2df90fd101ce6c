// SPDX-License-Identifier: Apache-2.0
// Reports the cases that backends declined in a campaign, and why, for the terminal and as JSON;
// and the notes about cases that passed.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "mote/oracle/campaign.h"

namespace mote {

/// The number of declined cases, and the reasons by their counts for rows that accepted some; empty
/// if nothing was declined.
std::string declined_text(const std::vector<Row>& rows, const Screen& screen = {});
nlohmann::ordered_json declined_json(const Row& row);

/// The given cases that passed although they could not have failed.
std::string notes_text(const std::vector<Row>& rows, const Screen& screen = {});

}  // namespace mote
