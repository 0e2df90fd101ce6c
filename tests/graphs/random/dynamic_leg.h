// SPDX-License-Identifier: Apache-2.0
// Gives the nodes of a graph to a dynamic graph (dynamic_run.h), whose values and gradients must be
// those of the symbolic graph.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "codegen/random/rng.h"
#include "graph_legs.h"

namespace mote::test {

/// "dynamic deferred=1 memo=4096 …".
std::string some_dynamic_leg(Rng& rng);
/// Returns a leg for a graph of exact ops on integers: gradients are equal whatever the order of
/// sums.
std::string some_exact_dynamic_leg(Rng& rng);
std::optional<std::string> check_dynamic(const GraphSubject& subject,
                                         const std::map<std::string, std::string>& settings,
                                         Counts& counts);
std::vector<std::string> counted_by_dynamic_leg();

}  // namespace mote::test
