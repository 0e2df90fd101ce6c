// SPDX-License-Identifier: Apache-2.0
// A backend whose results have other bits than those of the generated kernels, so that a node that
// gets another kernel than the same node run alone shows it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "codegen/random/rng.h"
#include "graph_legs.h"

namespace mote::test {

/// Returns a leg that compiles with the backend, some graphs after a checkpoint.
std::string some_kernels_leg(Rng& rng);
/// Compares with the nodes run one by one with the backend.
std::optional<std::string> check_kernels(const GraphSubject& subject,
                                         const std::map<std::string, std::string>& settings,
                                         Counts& counts);
std::vector<std::string> counted_by_kernels_leg();

}  // namespace mote::test
