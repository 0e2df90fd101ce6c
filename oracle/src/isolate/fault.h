// SPDX-License-Identifier: Apache-2.0
// Reports a signal that would end a worker to the process that judges.
#pragma once

#include "protocol.h"

namespace mote::isolate {

/// Sends signals to that socket as a Reply, from now on. It is called before each call, since a
/// subject may have changed the handlers.
void report_faults(int socket);
/// Sets the phase that reports give.
void set_phase(Phase next);

}  // namespace mote::isolate
