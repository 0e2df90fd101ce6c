// SPDX-License-Identifier: Apache-2.0
// Compiles a graph with given options and runs it, also after a run on other values.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "codegen/random/rng.h"
#include "graph_legs.h"

namespace mote::test {

/// "streams=2 order=greedy memory=planned …".
std::string some_compile_settings(Rng& rng);
/// Compiles a graph that has the subject's symbols and computes its outputs.
std::optional<std::string> check_compiled(const GraphSubject& subject, const SymbolicGraph& graph,
                                          const std::map<std::string, std::string>& settings,
                                          Counts& counts);

/// Makes every extent `from` of an input `to`; none if it follows from nothing how other shapes
/// become.
std::optional<SymbolicGraph> with_other_extent(const SymbolicGraph& graph, std::int64_t from,
                                               std::int64_t to);

/// Compiles the graph, and runs it with inputs of its own shapes, of others, and of its own again.
std::string some_shapes_leg(Rng& rng);
std::optional<std::string> check_other_shapes(const GraphSubject& subject,
                                              const std::map<std::string, std::string>& settings,
                                              Counts& counts);

}  // namespace mote::test
