// SPDX-License-Identifier: Apache-2.0
// Derives how the free sizes of a program follow from the shapes of its inputs.
#pragma once

#include <set>
#include <vector>

#include "mote/uops/program.h"

namespace mote {

/// Returns a rule for each of `sizes`, in an order in which they can be applied. Prefers axes whose
/// extent is linear in the size with a factor of parameters and constants, in the order of the
/// inputs; then broadcast axes; then factors that mention other sizes. Sizes that do not follow
/// remain in `sizes`.
std::vector<SizeRule> derive_size_rules(const std::vector<Uop>& inputs, std::set<Symbol>& sizes);

}  // namespace mote
