// SPDX-License-Identifier: Apache-2.0
// The text of the error that a call throws.
#pragma once

#include <functional>
#include <string>

#include "mote/runtime/status.h"

namespace mote::test {

/// Returns the StatusError's text; empty if the call throws none.
inline std::string error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const StatusError& e) {
    return e.what();
  }
  return "";
}

}  // namespace mote::test
