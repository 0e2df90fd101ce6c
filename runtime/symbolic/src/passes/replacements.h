// SPDX-License-Identifier: Apache-2.0
// The patterns of the table of replacements, read with a registry's ops.
#pragma once

#include <vector>

#include "passes/pattern.h"

namespace mote {

/// Returns the patterns whose ops the registry has; those that are not exact only if asked for.
std::vector<Pattern> patterns_of(const Registry& registry, bool inexact);

}  // namespace mote
