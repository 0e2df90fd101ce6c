// SPDX-License-Identifier: Apache-2.0
// What `mote check --require` asks for.
#pragma once

#include <string>
#include <vector>

#include "mote/oracle/backends.h"
#include "mote/oracle/campaign.h"

namespace mote::tool {

constexpr int kNothingJudged = 4;
constexpr int kNoBackend = 77;

/// What a campaign has to have done, beside passing.
struct Requirements {
  std::vector<std::string> backends;  ///< that have to judge a case
  double coverage = 0;                ///< percent of the cells that are not ruled out
};

/// Of "openblas" or "coverage=90%". Throws Error for a name that no backend has, and for what is no
/// whole percentage.
Requirements requirements_of(const std::vector<std::string>& texts, const Backends& backends);

/// The exit code with what is required, which is printed where it is missing: a mismatch or a crash
/// says more.
int with_required(int code, const Requirements& required, const CampaignResult& result);

}  // namespace mote::tool
