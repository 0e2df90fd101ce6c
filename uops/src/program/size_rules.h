// SPDX-License-Identifier: Apache-2.0
// How the free sizes of a program follow from the shapes of its inputs.
#pragma once

#include <set>
#include <vector>

#include "mote/uops/program.h"

namespace mote {

/// A rule for each of `sizes`, in an order in which they can be applied. Prefers axes whose extent
/// is linear in the size with a factor of parameters and constants, in the order of the inputs;
/// then broadcast axes; then factors that mention other sizes. Left in `sizes`: what does not
/// follow.
std::vector<SizeRule> derive_size_rules(const std::vector<Uop>& inputs, std::set<Symbol>& sizes);

}  // namespace mote
