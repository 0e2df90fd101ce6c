// SPDX-License-Identifier: Apache-2.0
// Runs a graph that was compiled for the shapes of its inputs with other ones, and derives its
// gradient for both.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "codegen/random/rng.h"
#include "graph_legs.h"

namespace mote::test {

/// Makes every extent `from` of an input `to`; none if it follows from nothing how other shapes
/// become.
std::optional<SymbolicGraph> with_other_extent(const SymbolicGraph& graph, std::int64_t from,
                                               std::int64_t to);

/// Compiles the graph, mostly with a gradient, and runs it with inputs of its own shapes, of
/// others, and of its own again. What it gives for others is compared with the gradient that is
/// derived for them: in shapes, and in bits where this has the same nodes or arithmetic is exact.
std::string some_shapes_leg(Rng& rng, bool is_exact = false);
std::optional<std::string> check_other_shapes(const GraphSubject& subject,
                                              const std::map<std::string, std::string>& settings,
                                              Counts& counts);

}  // namespace mote::test
