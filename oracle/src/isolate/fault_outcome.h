// SPDX-License-Identifier: Apache-2.0
// From how a worker ended to a verdict: which tensor an address that it touched is beside.
#pragma once

#include "mote/oracle/run.h"
#include "site.h"
#include "worker.h"

namespace mote::isolate {

/// The time that a call was given.
struct CallTime {
  double limit_s = 0;
  double warm_up_s = 0;  ///< beyond that, where it was the first of its process
};

/// `current` is the site of the call; `earlier`, where there is one, that of calls before it on
/// the same case.
Outcome outcome_of_ending(const Answer& answer, const Site& current, const Site* earlier,
                          const CallTime& given);

}  // namespace mote::isolate
