// SPDX-License-Identifier: Apache-2.0
// Defines the errors of mote. The caller's mistake throws mote::Error, whose text gives the op, the
// subject, the actual and the expected value; a broken invariant throws mote::InternalError, which
// says that the bug is ours; an expected "no" is a Reason. Nothing in mote aborts. Each layer that
// knows more adds it in front ("while lowering conv2d: …").
#pragma once

#include <stdexcept>
#include <string>

#include "mote/base/export.h"

namespace MOTE_API mote {

/// A mistake of the caller: bad input, a malformed program, an unknown name. Its text is one line.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A broken invariant of mote itself.
class InternalError : public std::logic_error {
 public:
  explicit InternalError(const std::string& what)
      : std::logic_error("internal error (a bug in mote, please report it): " + what) {}
};

/// The reason why a request was declined.
struct Reason {
  std::string text;
};

}  // namespace mote
