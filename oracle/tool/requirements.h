// SPDX-License-Identifier: Apache-2.0
// The requirements of `mote check --require`.
#pragma once

#include <string>
#include <vector>

#include "mote/oracle/backends.h"
#include "mote/oracle/campaign.h"

namespace mote::tool {

constexpr int kNothingJudged = 4;
constexpr int kNoBackend = 77;

/// The requirements on a campaign besides passing.
struct Requirements {
  std::vector<std::string> backends;  ///< each must judge a case
  double coverage = 0;                ///< the least percentage of the cells that are not ruled out
};

/// Parses "openblas" or "coverage=90%". Throws Error for a name that no backend has, and for an
/// invalid percentage.
Requirements requirements_of(const std::vector<std::string>& texts, const Backends& backends);

/// The exit code with the requirements, which prints those that are not met; the code of a mismatch
/// or a crash is kept.
int with_required(int code, const Requirements& required, const CampaignResult& result);

}  // namespace mote::tool
