// SPDX-License-Identifier: Apache-2.0
// Prints a value as a person writes it, in the op's own names: x[r, n]/sqrt(sum_k(x[r, k]^2)/N +
// eps).
#pragma once

#include <string>
#include <utility>

#include "mote/uops/uop.h"

namespace mote::diagnosis {

/// The texts of a part of a formula and of its replacement, each at most a line: nodes deep inside
/// become "…".
std::pair<std::string, std::string> said(const Uop& value, const Uop& instead);
/// The text of one value.
std::string said(const Uop& value);

}  // namespace mote::diagnosis
