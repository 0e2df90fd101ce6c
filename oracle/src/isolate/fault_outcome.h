// SPDX-License-Identifier: Apache-2.0
// Turns the end of a worker into a verdict: it finds the tensor that is nearest to a touched
// address.
#pragma once

#include "mote/oracle/run.h"
#include "site.h"
#include "worker.h"

namespace mote::isolate {

/// The time limit of a call.
struct CallTime {
  double limit_s = 0;
  double warm_up_s = 0;  ///< additional time, if it was the first of its process
};

/// `current` is the site of the call; `earlier`, if not null, that of earlier calls on the same
/// case.
Outcome outcome_of_ending(const Answer& answer, const Site& current, const Site* earlier,
                          const CallTime& given);

}  // namespace mote::isolate
