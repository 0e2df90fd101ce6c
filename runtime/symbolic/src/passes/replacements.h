// SPDX-License-Identifier: Apache-2.0
// The patterns of the table of replacements, read with a registry's ops.
#pragma once

#include <memory>
#include <vector>

#include "passes/pattern.h"

namespace mote {

using Patterns = std::shared_ptr<const std::vector<Pattern>>;
/// Returns the patterns whose ops the registry has; those that are not exact only if asked for. The
/// texts of the global registry's are read once.
Patterns patterns_of(const Registry& registry, bool inexact);

}  // namespace mote
