// SPDX-License-Identifier: Apache-2.0
// The functions of mote/mote_rewriting.h for passes and replacements of the program's own.
#include <utility>

#include "c/symbols.h"
#include "mote/symbolic/dependencies.h"
#include "mote/symbolic/pass.h"
#include "mote/symbolic/replace.h"

using namespace mote;     // NOLINT: C functions follow
using namespace mote::c;  // NOLINT

namespace {

/// Returns the first symbol that the node writes.
TensorSymbol first_output(const SymbolicGraph& graph, std::uint32_t node) {
  for (const std::uint32_t output : graph.nodes()[node].outputs)
    if (output != kNoIndex) return graph.at(output);
  return {};
}

/// Runs a pass of a C program on a handle that has the graph for this time.
std::string run_pass(const mote_pass& pass, const std::string& name, SymbolicGraph& graph) {
  mote_symbolic handle{std::move(graph), {}};
  const mote_status status = pass.run(pass.argument, &handle);
  graph = std::move(handle.graph);
  if (status != MOTE_OK)
    throw StatusError(status, name + ": its function failed: " + mote_last_error());
  return "";
}

}  // namespace

mote_status mote_symbolic_nodes(const mote_symbolic* graph, mote_symbol* symbols, size_t room,
                                size_t* count) {
  return guarded(__func__, [&] {
    const SymbolicGraph& of = given(graph, "graph").graph;
    std::vector<TensorSymbol> all;
    for (const std::uint32_t node : topological_order(of)) all.push_back(first_output(of, node));
    give_symbols(all, symbols, room, count);
  });
}

mote_status mote_symbolic_node_command(mote_symbolic* graph, mote_symbol written,
                                       const char** command) {
  return guarded(__func__, [&] {
    mote_symbolic& of = given(graph, "graph");
    const auto& known = of.graph.info(writer_of(of.graph, written)).command;
    auto& result = given(command, "command");
    of.text = known ? to_string(*known) : "";
    result = known ? of.text.c_str() : nullptr;
  });
}

mote_status mote_symbolic_node_inputs(const mote_symbolic* graph, mote_symbol written,
                                      mote_symbol* inputs, size_t room, size_t* count) {
  return guarded(__func__, [&] {
    const SymbolicGraph& of = given(graph, "graph").graph;
    std::vector<TensorSymbol> all;
    for (const std::uint32_t input : of.info(writer_of(of, written)).inputs)
      all.push_back(input == kNoIndex ? TensorSymbol{} : of.at(input));
    give_symbols(all, inputs, room, count);
  });
}

mote_status mote_symbolic_replace_uses(mote_symbolic* graph, mote_symbol from, mote_symbol to) {
  return guarded(__func__,
                 [&] { given(graph, "graph").graph.replace_uses(symbol_of(from), symbol_of(to)); });
}

mote_status mote_symbolic_remove(mote_symbolic* graph, mote_symbol written) {
  return guarded(__func__, [&] {
    SymbolicGraph& of = given(graph, "graph").graph;
    of.remove(writer_of(of, written));
  });
}

mote_status mote_register_pass(const mote_pass* pass) {
  return guarded(__func__, [&] {
    const mote_pass given_pass = sized(given(pass, "pass"));
    if (given_pass.run == nullptr) throw StatusError(MOTE_INVALID, "pass.run is NULL");
    const std::string name = &given(given_pass.name, "pass.name");
    register_pass({.name = name,
                   .summary = optional_text(given_pass.summary),
                   .run = [given_pass, name](SymbolicGraph& graph, const PassOptions&) {
                     return run_pass(given_pass, name, graph);
                   }});
  });
}

mote_status mote_register_replacement(const mote_replacement* replacement) {
  return guarded(__func__, [&] {
    const mote_replacement row = sized(given(replacement, "replacement"));
    register_replacement({.name = &given(row.name, "replacement.name"),
                          .pattern = &given(row.pattern, "replacement.pattern"),
                          .by = &given(row.by, "replacement.by"),
                          .is_exact = row.is_exact != 0,
                          .reason = optional_text(row.reason)});
  });
}
