// SPDX-License-Identifier: Apache-2.0
// The contents of a random graph, by name, so that a generator that degenerates shows.
#pragma once

#include <string>
#include <vector>

#include "graph_legs.h"

namespace mote::test {

/// Adds one for each feature that the graph has, and for each op ("op add") and dtype ("f32").
void count_features(const SymbolicGraph& graph, Counts& counts);
/// The features that a run of some hundred graphs must meet.
std::vector<std::string> graph_features();
/// Returns "op NAME" for each op of the catalogue that has kernels, gradients too.
std::vector<std::string> op_features();

}  // namespace mote::test
