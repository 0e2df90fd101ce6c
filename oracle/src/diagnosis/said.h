// SPDX-License-Identifier: Apache-2.0
// A value as a person writes it, in the op's own names: x[r, n]/sqrt(sum_k(x[r, k]^2)/N + eps).
#pragma once

#include <string>
#include <utility>

#include "mote/uops/uop.h"

namespace mote::diagnosis {

/// A part of a formula and the part in its place as text, each at most a line: nodes that lie deep
/// inside become "…".
std::pair<std::string, std::string> said(const Uop& value, const Uop& instead);
/// One of them.
std::string said(const Uop& value);

}  // namespace mote::diagnosis
