// SPDX-License-Identifier: Apache-2.0
// What `mote check` prints before and after a campaign.
#pragma once

#include "mote/oracle/campaign.h"
#include "reports/reports.h"

namespace mote::tool {

Heading heading_of(const CampaignOptions& campaign);
void print_header(const Heading& heading, bool json);
/// Rows, failures, coverage and the verdict.
void print_result(const CampaignResult& result, int code, bool json);

}  // namespace mote::tool
