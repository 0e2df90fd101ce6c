// SPDX-License-Identifier: Apache-2.0
// Compiles a graph with given options and runs it, also after a run on other values.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "codegen/random/rng.h"
#include "graph_legs.h"
#include "mote/symbolic/compile.h"

namespace mote::test {

/// "streams=2 order=greedy memory=planned …".
std::string some_compile_settings(Rng& rng);
/// Compiles a graph that has the subject's symbols and computes its outputs.
std::optional<std::string> check_compiled(const GraphSubject& subject, const SymbolicGraph& graph,
                                          const std::map<std::string, std::string>& settings,
                                          Counts& counts);

// For other legs that compile.

Context& shared_context();
/// Returns the setting of that name, or the other text.
std::string setting(const std::map<std::string, std::string>& settings, const std::string& name,
                    const std::string& otherwise);
CompileOptions options_of(const SymbolicGraph& graph,
                          const std::map<std::string, std::string>& settings);
/// Compiles the graph, and binds memory to the outputs that the options name.
Executable compiled(const SymbolicGraph& graph, const CompileOptions& options, Context& context);
std::vector<Tensor> outputs_of(const SymbolicGraph& graph, const Executable& executable);
/// Returns the values of the inputs that `forms` has, for the same symbols of another graph.
std::vector<TensorBinding> inputs_of(const SymbolicGraph& forms, const SymbolicGraph& handles,
                                     const GraphData& data);

}  // namespace mote::test
