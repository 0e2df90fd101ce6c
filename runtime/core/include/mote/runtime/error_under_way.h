// SPDX-License-Identifier: Apache-2.0
// Turns what a caller's code threw into a status and a text for the runtime's errors.
#pragma once

#include <string>
#include <utility>

#include "mote/base/export.h"
#include "mote/runtime/status.h"

namespace MOTE_API mote {

/// Returns the status and the text of the exception that is handled now, of whatever type it is.
std::pair<mote_status, std::string> error_under_way();

}  // namespace mote
