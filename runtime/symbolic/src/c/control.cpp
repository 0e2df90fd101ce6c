// SPDX-License-Identifier: Apache-2.0
// The functions of mote/mote_graphs.h for loops and branches.
#include "mote/symbolic/control.h"

#include <cstddef>
#include <string>
#include <utility>

#include "c/objects.h"
#include "c/symbols.h"

using namespace mote;     // NOLINT: C functions follow
using namespace mote::c;  // NOLINT

namespace {

/// Throws unless the node has that many outputs.
void check_outputs(const char* what, std::size_t expected, std::size_t given) {
  if (expected != given)
    throw StatusError(MOTE_INVALID, std::string(what) + " has " + std::to_string(expected) +
                                        " outputs, room is for " + std::to_string(given));
}

void hand_out(const SymbolicGraph& graph, NodeSymbol node, mote_symbol* outputs) {
  const ShortList& made = graph.info(node).outputs;
  for (std::size_t k = 0; k < made.size(); ++k) outputs[k] = handle_of(graph.at(made[k]));
}

}  // namespace

mote_status mote_symbolic_add_while(mote_symbolic* graph, const mote_symbolic* body,
                                    const mote_symbol* inputs, size_t input_count,
                                    const mote_while_options* options, mote_symbol* outputs,
                                    size_t output_count) {
  return guarded(__func__, [&] {
    SymbolicGraph& to = given(graph, "graph").graph;
    const SymbolicGraph& inside = given(body, "body").graph;
    if (output_count > 0) given(outputs, "outputs");
    WhileOptions with;
    if (options != nullptr) {
      const mote_while_options known = sized(*options, offsetof(mote_while_options, has_limit));
      with.has_counter = known.has_counter != 0;
      if (known.has_limit != 0) with.limit = known.limit;
      with.checkpoints = known.checkpoints;
    }
    if (!inside.output_indices().empty())
      check_outputs("the while", inside.output_indices().size() - 1, output_count);
    hand_out(to, to.add_while(inside, symbols_of(inputs, input_count, "inputs"), with), outputs);
  });
}

mote_status mote_symbolic_add_case_of(mote_symbolic* graph, mote_symbol index,
                                      const mote_branch* branches, size_t branch_count,
                                      const mote_symbol* otherwise, mote_symbol* outputs,
                                      size_t output_count) {
  return guarded(__func__, [&] {
    SymbolicGraph& to = given(graph, "graph").graph;
    if (branch_count > 0) given(branches, "branches");
    if (output_count > 0) given(outputs, "outputs");
    std::vector<CaseBranch> list;
    for (const mote_branch& branch : std::span(branches, branch_count)) {
      const SymbolicGraph& inside = given(branch.graph, "a branch's graph").graph;
      list.emplace_back(inside, symbols_of(branch.inputs, branch.input_count, "a branch's inputs"));
    }
    if (!list.empty())
      check_outputs("the case..of", list[0].graph->output_indices().size(), output_count);
    const std::vector<TensorSymbol> replaced =
        symbols_of(otherwise, otherwise != nullptr ? output_count : 0, "otherwise");
    hand_out(to, to.add_case_of(symbol_of(index), std::move(list), replaced), outputs);
  });
}
