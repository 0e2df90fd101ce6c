// SPDX-License-Identifier: Apache-2.0
// Writes a case as one C file that compiles alone: `cc bug.c -ldl -lm && ./a.out libmine.so` calls
// the plug-in's kernel on the case's data, prints the wrong elements, and exits with 1 if there are
// any. It needs nothing of mote except the plug-in.
#pragma once

#include <string>

#include "mote/base/export.h"
#include "mote/base/kernel.h"
#include "mote/oracle/case.h"

namespace MOTE_API mote {

/// The C text of a case for `backend`; the contract of its kernel gives the error bound. Throws
/// Error for a case with more than kMaxStandalone elements, and if the reference or the error bound
/// fails.
std::string standalone_c(const Case& c, const mote_backend& backend);
constexpr std::int64_t kMaxStandalone = 200'000;

}  // namespace mote
