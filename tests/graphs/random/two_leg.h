// SPDX-License-Identifier: Apache-2.0
// Tensors that two compiled graphs have: an output of the one is an input of the other.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "codegen/random/rng.h"
#include "graph_legs.h"

namespace mote::test {

/// Returns a leg that compiles the graph twice, and a third graph that reads what the first gives.
std::string some_two_leg(Rng& rng);
/// Runs them in turn. A tensor of one graph has its values until that graph runs again.
std::optional<std::string> check_two(const GraphSubject& subject,
                                     const std::map<std::string, std::string>& settings,
                                     Counts& counts);
std::vector<std::string> counted_by_two_leg();

}  // namespace mote::test
