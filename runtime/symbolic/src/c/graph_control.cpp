// SPDX-License-Identifier: Apache-2.0
// The functions of mote/mote_concrete.h for loops and branches of graphs of operations on tensors.
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "c/graph_nodes.h"
#include "c/objects.h"
#include "c/symbols.h"

using namespace mote;     // NOLINT: C functions follow
using namespace mote::c;  // NOLINT

namespace {

/// Returns the tensor of a graph that a loop or a branch runs, which its nodes must use.
GraphTensor tensor_inside(const mote_graph& graph, const mote_tensor* tensor, const char* what) {
  const Tensor& memory = tensor_of(tensor);
  if (const std::optional<GraphTensor> placeholder = graph.placeholder(memory)) return *placeholder;
  if (const std::optional<GraphTensor> known = graph.known(memory)) return *known;
  throw StatusError(MOTE_INVALID, std::string("graph: ") + what + " " + describe(memory) +
                                      " must be a tensor that a node of the body uses");
}

std::vector<OuterTensor> outer_tensors(mote_graph& around, const mote_graph& inside,
                                       const mote_outer_tensor* tensors, std::size_t count) {
  if (count > 0) given(tensors, "tensors");
  std::vector<OuterTensor> list;
  for (const mote_outer_tensor& pair : std::span(tensors, count)) {
    const Tensor& inner = tensor_of(pair.inner);
    const std::optional<GraphTensor> placeholder = inside.placeholder(inner);
    if (!placeholder)
      throw StatusError(MOTE_INVALID, "graph: the inner tensor " + describe(inner) +
                                          " must be a placeholder of the body or branch");
    list.push_back({added(around, tensor_of(pair.outer)), *placeholder});
  }
  return list;
}

/// Returns the caller's code as a function; none if there is none.
BranchFunction decision_of(mote_graph_decision decide, void* argument) {
  if (decide == nullptr) return {};
  return [decide, argument](LoopCounters counters, std::span<const Tensor>) {
    std::int64_t decision = 0;
    const mote_status status = decide(argument, counters.data(), counters.size(), &decision);
    if (status != MOTE_OK)
      throw StatusError(status, "the code that decides returned status " + std::to_string(status) +
                                    ", expected MOTE_OK");
    return decision;
  };
}

WhileLoop loop_of(const mote_graph& body, const mote_loop_options& options) {
  WhileLoop loop;
  if (options.condition != nullptr)
    loop.condition = tensor_inside(body, options.condition, "the condition");
  if (BranchFunction decide = decision_of(options.decide, options.argument))
    loop.function = [decide = std::move(decide)](LoopCounters counters,
                                                 std::span<const Tensor> reads) {
      return decide(counters, reads) != 0;
    };
  if (options.evaluated_count > 0) given(options.evaluated, "evaluated");
  for (const mote_graph_node node : std::span(options.evaluated, options.evaluated_count))
    loop.evaluated.push_back(node_of(body, node));
  if (options.counter != nullptr)
    loop.counter = tensor_inside(body, options.counter, "the counter");
  if (options.has_limit != 0) loop.limit = options.limit;
  return loop;
}

}  // namespace

mote_status mote_graph_add_while(mote_graph* graph, const mote_graph* body,
                                 const mote_outer_tensor* tensors, size_t tensor_count,
                                 const mote_loop_options* options, mote_graph_node* node) {
  return guarded(__func__, [&] {
    mote_graph& to = with_room(given(graph, "graph"));
    const mote_graph& inside = given(body, "body");
    const mote_loop_options with =
        sized(given(options, "options"), offsetof(mote_loop_options, evaluated));
    const WhileLoop loop = loop_of(inside, with);
    const std::vector<OuterTensor> links = outer_tensors(to, inside, tensors, tensor_count);
    keep(to, to.graph.add_while(Graph(inside.graph), loop, links), node);
  });
}

mote_status mote_graph_add_case_of(mote_graph* graph, const mote_graph_branch* branches,
                                   size_t branch_count, const mote_choice_options* options,
                                   mote_graph_node* node) {
  return guarded(__func__, [&] {
    mote_graph& to = with_room(given(graph, "graph"));
    const mote_choice_options with =
        sized(given(options, "options"), offsetof(mote_choice_options, reads));
    if (branch_count > 0) given(branches, "branches");
    std::vector<GraphBranch> list;
    for (const mote_graph_branch& branch : std::span(branches, branch_count)) {
      const mote_graph& inside = given(branch.graph, "a branch's graph");
      list.push_back(
          {Graph(inside.graph), outer_tensors(to, inside, branch.tensors, branch.tensor_count)});
    }
    CaseOf choice;
    if (with.index != nullptr) choice.index = added(to, tensor_of(with.index));
    choice.function = decision_of(with.decide, with.argument);
    choice.reads = added(to, with.reads, with.read_count, "reads");
    choice.must_run = with.must_run != 0;
    keep(to, to.graph.add_case_of(std::move(list), choice), node);
  });
}
