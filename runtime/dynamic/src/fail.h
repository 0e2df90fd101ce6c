// SPDX-License-Identifier: Apache-2.0
// Errors of dynamic graphs.
#pragma once

#include <string>

#include "mote/runtime/status.h"

namespace mote::trace {

/// Throws StatusError "dynamic graph: what".
[[noreturn]] inline void fail(const std::string& what, mote_status status = MOTE_INVALID) {
  throw StatusError(status, "dynamic graph: " + what);
}

}  // namespace mote::trace
