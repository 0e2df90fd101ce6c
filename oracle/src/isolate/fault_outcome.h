// SPDX-License-Identifier: Apache-2.0
// From how a worker ended to a verdict: which tensor an address that it touched is beside.
#pragma once

#include "mote/oracle/run.h"
#include "site.h"
#include "worker.h"

namespace mote::isolate {

/// `current` is the site of the call; `earlier`, where there is one, that of calls before it on
/// the same case. `limit_s` is what a call may take.
Outcome outcome_of_ending(const Answer& answer, const Site& current, const Site* earlier,
                          double limit_s);

}  // namespace mote::isolate
