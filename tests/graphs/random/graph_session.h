// SPDX-License-Identifier: Apache-2.0
// All that is checked for one seed: a random graph, some with their gradient, in several ways, and
// the derivatives of a graph of exact ops.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "graph_legs.h"
#include "shrink_graph.h"

namespace mote::test {

/// The seconds that legs took, by kind.
using LegSeconds = std::map<std::string, double>;

/// Returns the first failure; none if all agrees.
std::optional<GraphFailure> check_seed(std::uint64_t seed, Counts& counts, LegSeconds& seconds);
/// Returns the difference, or "error: " and what the leg throws.
std::optional<std::string> difference_or_error(const GraphSubject& subject, const std::string& leg,
                                               Counts& counts);
/// Makes the failure smaller.
GraphFailure shrunk(const GraphFailure& failure);

}  // namespace mote::test
