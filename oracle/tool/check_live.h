// SPDX-License-Identifier: Apache-2.0
// Prints the output of `mote check` while a campaign runs: failures when they are found, and its
// progress.
#pragma once

#include <set>
#include <string>

#include "mote/oracle/campaign.h"
#include "mote/oracle/report.h"
#include "terminal.h"

namespace mote::tool {

/// The line "12.3 s, 7.7 s left; 812 cases, 3 failed; gemm".
std::string progress_line(const CampaignProgress& progress);

class Live {
 public:
  Live(const Screen& screen, bool json) : screen_(screen), json_(json), status_(!json) {}

  /// Sets the callbacks of the campaign, which this object must outlive.
  void watch(CampaignOptions& campaign);

 private:
  void found(const FoundFailure& met);
  void failure(const Failure& failure);
  void progress(const CampaignProgress& progress);

  Screen screen_;
  bool json_;
  StatusLine status_;
};

}  // namespace mote::tool
