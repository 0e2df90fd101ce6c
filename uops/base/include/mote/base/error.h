// SPDX-License-Identifier: Apache-2.0
// Errors. The caller's mistake throws mote::Error, whose text says op, what, got, expected; a
// broken invariant throws mote::InternalError, which says that the bug is ours; an expected "no" is
// a Reason. Nothing in mote aborts. Each border that knows more adds it in front ("while lowering
// conv2d: …").
#pragma once

#include <stdexcept>
#include <string>

#include "mote/base/export.h"

namespace MOTE_API mote {

/// A mistake of the caller: bad input, a malformed program, an unknown name. One line.
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

/// Why something that may be declined was declined.
struct Reason {
  std::string text;
};

}  // namespace mote
