// SPDX-License-Identifier: Apache-2.0
// Errors of the symbolic layer.
#pragma once

#include <string>

#include "mote/runtime/status.h"

namespace mote {

/// Throws StatusError "symbolic graph: what".
[[noreturn]] inline void fail_graph(const std::string& what, mote_status status = MOTE_INVALID) {
  throw StatusError(status, "symbolic graph: " + what);
}

}  // namespace mote
