// SPDX-License-Identifier: Apache-2.0
// The runtime's errors, which carry the status that they have at the C ABI.
#pragma once

#include <string>

#include "mote/base/error.h"
#include "mote/base/export.h"
#include "mote/base/kernel.h"

namespace MOTE_API mote {

class StatusError : public Error {
 public:
  /// Makes the message one line: a control character from a file or a caller becomes "\x0A".
  StatusError(mote_status status, const std::string& what);
  mote_status status() const { return status_; }

 private:
  mote_status status_;
};

}  // namespace mote
