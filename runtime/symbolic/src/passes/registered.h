// SPDX-License-Identifier: Apache-2.0
// The registered passes, and mote's own.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mote/symbolic/pass.h"

namespace mote {

/// The names of the registered passes that provide the attribute, sorted.
std::vector<std::string> providers_of(std::string_view attribute);

/// Does what apply_passes() does to a graph that is thrown away if that fails.
std::vector<PassReport> apply_passes_here(SymbolicGraph& graph, std::span<const std::string> names,
                                          const PassOptions& options);

/// Returns "3 nodes" or "1 node", and "" for 0.
std::string count_of(std::size_t count, const char* noun);
/// Joins the texts that are not empty by ", ".
std::string listed(const std::vector<std::string>& texts);

// The functions of mote's passes: each takes a graph and returns what it changed.
std::string cancel(SymbolicGraph& graph, const PassOptions& options);
std::string fold(SymbolicGraph& graph, const PassOptions& options);
std::string prune(SymbolicGraph& graph, const PassOptions& options);
std::string merge(SymbolicGraph& graph, const PassOptions& options);
std::string replace(SymbolicGraph& graph, const PassOptions& options);

}  // namespace mote
