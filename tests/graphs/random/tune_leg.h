// SPDX-License-Identifier: Apache-2.0
// Measures the kernels of a compiled graph that has run, and looks at its tensors afterwards.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "codegen/random/rng.h"
#include "graph_legs.h"

namespace mote::test {

/// Returns a leg that runs a compiled graph, and then autotune on it. With `is_exact`, the graph's
/// results are the same whichever kernels are chosen, and it runs again.
std::string some_tune_leg(Rng& rng, bool is_exact = false);
/// Returns a tensor of the graph that autotune has written; none if all are what the run has left.
std::optional<std::string> check_tuned(const GraphSubject& subject,
                                       const std::map<std::string, std::string>& settings,
                                       Counts& counts);
std::vector<std::string> counted_by_tune_leg();

}  // namespace mote::test
