// SPDX-License-Identifier: Apache-2.0
// Prints the output of `mote check` before and after a campaign.
#pragma once

#include "mote/oracle/campaign.h"
#include "mote/oracle/screen.h"
#include "reports/reports.h"

namespace mote::tool {

Heading heading_of(const CampaignOptions& campaign);
void print_header(const Heading& heading, const Screen& screen, bool json);
/// Prints rows, the number of occurrences of each failure, coverage and the verdict; with JSON also
/// the failures.
void print_result(const CampaignResult& result, int code, const Screen& screen, bool json);

}  // namespace mote::tool
