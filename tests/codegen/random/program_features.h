// SPDX-License-Identifier: Apache-2.0
// What a program contains, so that a generator that degenerates is seen.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "mote/uops/program.h"

namespace mote::test {

/// The names of all features that features_of can give.
std::vector<std::string> all_features();
std::set<std::string> features_of(const Program& p);
/// Nodes that compute: all but inputs, scalars and parameters.
int computing_nodes(const Program& p);

}  // namespace mote::test
