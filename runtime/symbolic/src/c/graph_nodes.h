// SPDX-License-Identifier: Apache-2.0
// How nodes come into a mote_graph: their tensors, and their handles.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "c/objects.h"
#include "c/symbols.h"

namespace mote::c {

/// Adds the tensor, or returns the placeholder that it is, or what was added for it before.
inline GraphTensor added(mote_graph& graph, const Tensor& tensor) {
  if (const std::optional<GraphTensor> placeholder = graph.placeholder(tensor)) return *placeholder;
  if (const std::optional<GraphTensor> known = graph.known(tensor)) return *known;
  const GraphTensor made = graph.graph.tensor(tensor);
  graph.tensors[tensor.data()].emplace_back(tensor.form(), made);
  return made;
}

/// Adds a tensor for each of the list; a default one stands for NULL.
template <typename Handle>
std::vector<GraphTensor> added(mote_graph& graph, Handle* const* tensors, std::size_t count,
                               const char* what) {
  if (count > 0) given(tensors, what);
  std::vector<GraphTensor> list;
  for (Handle* tensor : std::span(tensors, count))
    list.push_back(tensor == nullptr ? GraphTensor{} : added(graph, tensor_of(tensor)));
  return list;
}

/// Checks that a handle can hold the number of one more node.
inline mote_graph& with_room(mote_graph& graph) {
  if (graph.nodes.size() >> mote_graph::kNumberBits != 0)
    throw StatusError(MOTE_UNSUPPORTED,
                      "graph: it has too many nodes: " + std::to_string(graph.nodes.size()));
  return graph;
}

/// Hands out the node, which was added; number may be null.
inline void keep(mote_graph& graph, GraphNode node, mote_graph_node* number) {
  graph.is_prepared = false;
  const std::size_t count = graph.nodes.size();
  graph.nodes.push_back(node);
  if (number != nullptr)
    *number = graph.mark << mote_graph::kNumberBits | static_cast<mote_graph_node>(count);
}

}  // namespace mote::c
