// SPDX-License-Identifier: Apache-2.0
// What `mote check` prints before and after a campaign.
#pragma once

#include "mote/oracle/campaign.h"
#include "mote/oracle/screen.h"
#include "reports/reports.h"

namespace mote::tool {

Heading heading_of(const CampaignOptions& campaign);
void print_header(const Heading& heading, const Screen& screen, bool json);
/// Rows, how often each failure was seen, coverage and the verdict. As JSON the failures too.
void print_result(const CampaignResult& result, int code, const Screen& screen, bool json);

}  // namespace mote::tool
