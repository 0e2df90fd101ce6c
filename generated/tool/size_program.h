// SPDX-License-Identifier: Apache-2.0
// The extent of an axis as the steps of a stack machine (mote/base/ops.h), in C.
#pragma once

#include <string>

#include "mote/uops/expr.h"

namespace mote {

/// Returns the initialisers of the steps, "{MOTE_SIZE_NAME, "H", 0}, …", MOTE_SIZE_END included.
std::string size_program(const Expr& extent);

}  // namespace mote
