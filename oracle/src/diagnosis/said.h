// SPDX-License-Identifier: Apache-2.0
// A value as a person writes it, in the op's own names: x[r, n]/sqrt(sum_k(x[r, k]^2)/N + eps).
#pragma once

#include <string>
#include <utility>

#include "mote/uops/uop.h"

namespace mote::diagnosis {

/// What stands in a formula and what stands there instead, each at most a line: what lies deep
/// inside is left out as "…".
std::pair<std::string, std::string> said(const Uop& value, const Uop& instead);
/// One of them.
std::string said(const Uop& value);

}  // namespace mote::diagnosis
