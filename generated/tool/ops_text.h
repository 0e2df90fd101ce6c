// SPDX-License-Identifier: Apache-2.0
// The table of ops (mote/base/ops.h) as C.
#pragma once

#include <string>
#include <vector>

#include "mote/macroops/catalogue.h"

namespace mote {

/// Returns the table under that name. The records are sorted by name.
std::string ops_text(const std::vector<const OpRecord*>& records, const std::string& table);

}  // namespace mote
