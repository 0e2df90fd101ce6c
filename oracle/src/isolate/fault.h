// SPDX-License-Identifier: Apache-2.0
// In a worker: a signal that would end it is reported first.
#pragma once

#include "protocol.h"

namespace mote::isolate {

/// Signals go to that socket as a Reply, from now on; a subject may have changed the handlers, so
/// that this is done before each call.
void report_faults(int socket);
/// What the reports say.
void set_phase(Phase next);

}  // namespace mote::isolate
