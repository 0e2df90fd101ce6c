// SPDX-License-Identifier: Apache-2.0
// The tensors that the way back reads from the way forward.
#include <map>

#include "fail.h"
#include "gradient/reads_data.h"
#include "mote/symbolic/dependencies.h"
#include "mote/symbolic/gradient.h"

namespace mote {

bool reads_data(const SymbolicGraph& graph, const NodeInfo& node, std::size_t input) {
  return reads_data(graph.registry().column(kGradientOf), node, input);
}

bool reads_data(const Column<OpGradient>& gradient_of, const NodeInfo& node, std::size_t input) {
  if (node.kind == NodeKind::function) return !node.function->reads_shapes_alone;
  if (node.kind != NodeKind::command) return true;
  const OpGradient* row = gradient_of.find(node.command->op());
  return row == nullptr || is_in((*row)->reads, input);
}

std::vector<SavedTensor> saved(const SymbolicGraph& graph, std::span<const TensorSymbol> of,
                               std::span<const TensorSymbol> gradients) {
  const std::vector<bool> forward = ancestors(graph, of);
  const std::vector<bool> needed = ancestors(graph, gradients);
  const IndexLists written = writers(graph);
  std::map<std::uint32_t, SavedTensor> found;
  for (std::uint32_t index = 0; index < graph.node_count(); ++index) {
    if (!needed[index] || forward[index]) continue;
    const NodeInfo& node = graph.nodes()[index];
    for (std::size_t k = 0; k < node.inputs.size(); ++k) {
      if (node.inputs[k] == kNoIndex) continue;
      const std::uint32_t root = graph.symbols()[node.inputs[k]].root;
      bool is_forward = graph.symbols()[root].kind == SymbolOrigin::input;
      for (const std::uint32_t writer : written[root]) is_forward = is_forward || forward[writer];
      if (!is_forward) continue;
      SavedTensor& tensor = found[root];
      tensor.readers.push_back({graph.node_at(index), k, reads_data(graph, node, k)});
    }
  }
  std::vector<SavedTensor> list;
  for (auto& [root, tensor] : found) {
    const TensorForm& form = graph.form(graph.at(root));
    tensor.tensor = graph.at(root);
    tensor.bytes = checked_span(form.dtype, form.shape, form.strides);
    list.push_back(std::move(tensor));
  }
  return list;
}

std::vector<SavedTensor> saved(const SymbolicGraph& graph, std::initializer_list<TensorSymbol> of,
                               std::initializer_list<TensorSymbol> gradients) {
  return saved(graph, std::span(of.begin(), of.size()),
               std::span(gradients.begin(), gradients.size()));
}

std::string to_text(const SymbolicGraph& graph, std::span<const SavedTensor> saved) {
  std::string text;
  for (const SavedTensor& tensor : saved) {
    text += graph.text(tensor.tensor) + " " + to_string(graph.form(tensor.tensor)) + " " +
            std::to_string(tensor.bytes) + " bytes:";
    const char* separator = " ";
    for (const SavedReader& reader : tensor.readers) {
      text += separator + graph.text(reader.node) +
              (reader.reads_data ? " reads it" : " needs its shape");
      separator = ", ";
    }
    text += "\n";
  }
  return text;
}

}  // namespace mote
