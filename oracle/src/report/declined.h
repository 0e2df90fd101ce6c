// SPDX-License-Identifier: Apache-2.0
// The cases that backends declined in a campaign, and why, for the first screen and as JSON; and
// the notes about cases that passed.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "mote/oracle/campaign.h"

namespace mote {

/// How much was declined, and of the rows of which some was taken the reasons by their counts;
/// empty where nothing was declined.
std::string declined_text(const std::vector<Row>& rows, const Screen& screen = {});
nlohmann::ordered_json declined_json(const Row& row);

/// Given cases that passed though they could not have failed.
std::string notes_text(const std::vector<Row>& rows, const Screen& screen = {});

}  // namespace mote
