// SPDX-License-Identifier: Apache-2.0
// The features that a program contains, so that a generator that degenerates shows.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "mote/uops/program.h"

namespace mote::test {

/// Returns the names of all features that features_of can give.
std::vector<std::string> all_features();
std::set<std::string> features_of(const Program& p);
/// Counts the nodes that compute: all except inputs, scalars and parameters.
int computing_nodes(const Program& p);

}  // namespace mote::test
