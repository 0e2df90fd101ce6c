// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "mote/macroops/catalogue.h"

namespace mote {

/// Returns a C++ header that has a function of variables of a dynamic graph for each op that is no
/// gradient.
std::string functions_text(const std::vector<const OpRecord*>& records);

}  // namespace mote
