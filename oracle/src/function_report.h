// SPDX-License-Identifier: Apache-2.0
// A campaign in one text.
#pragma once

#include "mote/oracle/campaign.h"
#include "mote/oracle/function.h"

namespace mote {

FunctionReport report_of(const CampaignResult& result);

}  // namespace mote
