// SPDX-License-Identifier: Apache-2.0
// The ways to compute a graph that must agree with its nodes run one by one. Each is a line of text
// that replays: "rebuilt", "text", "pass merge,fold", "compile streams=2 order=greedy".
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "graph_subject.h"

namespace mote::test {

/// Counts of what was met, by name.
using Counts = std::map<std::string, std::int64_t>;

/// Returns the legs for a graph of that seed: some always, the settings of others drawn.
std::vector<std::string> legs_for(std::uint64_t seed);

/// Returns the legs for a graph of exact ops on integers.
std::vector<std::string> exact_legs_for(std::uint64_t seed);

/// Returns the difference between what the leg gives and what is expected; none if they agree.
/// `counts` gets what the leg has met. Throws Error for a text that is no leg.
std::optional<std::string> check_leg(const GraphSubject& subject, const std::string& leg,
                                     Counts& counts);
/// The names of all that legs count, and of how many graphs each needs on average at most.
std::vector<std::string> counted_by_legs();

}  // namespace mote::test
