// SPDX-License-Identifier: Apache-2.0
#include "graph_subject.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "codegen/random/rng.h"
#include "mote/runtime/status.h"
#include "mote/symbolic/control.h"
#include "mote/symbolic/evaluate.h"

namespace mote::test {
namespace {

SymbolicGraph asking_for_more(SymbolicGraph graph, std::uint64_t seed) {
  Rng rng(seed ^ 0xa5);
  std::vector<TensorSymbol> outputs = graph.outputs();
  const std::vector<TensorSymbol> readable = readable_symbols(graph);
  for (int k = rng.below(3); k > 0 && !readable.empty(); --k) {
    const TensorSymbol symbol = rng.pick(readable);
    if (std::ranges::find(outputs, symbol) == outputs.end()) outputs.push_back(symbol);
  }
  graph.set_outputs(outputs);
  return graph;
}

}  // namespace

bool is_token(const SymbolicGraph& graph, std::uint32_t symbol) {
  const std::uint32_t producer = graph.symbols()[symbol].producer;
  if (producer == kNoIndex || graph.nodes()[producer].kind != NodeKind::control) return false;
  const NodeInfo& node = graph.nodes()[producer];
  const SymbolicGraph& body = node.control->graphs[0];
  const auto k = std::ranges::find(node.outputs, symbol) - node.outputs.begin();
  const std::uint32_t inside = body.symbols()[body.output_indices()[std::size_t(k)]].producer;
  return inside != kNoIndex && body.nodes()[inside].kind == NodeKind::function &&
         body.nodes()[inside].function->name.starts_with("tape ");
}

std::vector<TensorSymbol> readable_symbols(const SymbolicGraph& graph) {
  std::vector<TensorSymbol> symbols;
  for (std::uint32_t k = 0; k < graph.symbol_count(); ++k) {
    const SymbolInfo& info = graph.symbols()[k];
    if (info.removed || is_token(graph, info.root)) continue;
    if (info.producer != kNoIndex || graph.symbols()[info.root].producer != kNoIndex)
      symbols.push_back(graph.at(k));
  }
  return symbols;
}

GraphSubject::GraphSubject(const SymbolicGraph& graph, const GraphData& data)
    : graph_(asking_for_more(graph, data.seed)),
      data_(data),
      inputs_(input_values(graph_, data)),
      expected_(evaluate(graph_, bindings_by_index(graph_), graph_.outputs())) {}

std::vector<TensorBinding> GraphSubject::bindings_by_index(const SymbolicGraph& other) const {
  std::vector<TensorBinding> bindings;
  for (const InputValue& input : inputs_)
    if (!other.symbols()[input.symbol].removed)
      bindings.emplace_back(other.at(input.symbol), input.value);
  return bindings;
}

std::vector<TensorBinding> GraphSubject::bindings_by_name(const SymbolicGraph& other) const {
  std::vector<TensorBinding> bindings;
  for (const InputValue& input : inputs_) {
    const std::string& name = graph_.symbols()[input.symbol].name;
    if (other.has(name)) bindings.emplace_back(other.find(name), input.value);
  }
  return bindings;
}

std::optional<std::string> GraphSubject::difference(const std::vector<Tensor>& values) const {
  if (values.size() != expected_.size())
    return std::to_string(values.size()) + " outputs instead of " +
           std::to_string(expected_.size());
  for (std::size_t k = 0; k < values.size(); ++k)
    if (const auto found = bit_difference(expected_[k], values[k]))
      return graph_.text(graph_.outputs()[k]) + *found;
  return std::nullopt;
}

std::optional<std::string> bit_difference(const Tensor& expected, const Tensor& got) {
  if (expected.dtype() != got.dtype() || !(expected.shape() == got.shape()))
    return " is " + describe(got) + " instead of " + describe(expected);
  const Tensor a = clone(expected);
  const Tensor b = clone(got);
  const std::size_t size = size_of(a.dtype());
  const auto* x = static_cast<const std::byte*>(a.data());
  const auto* y = static_cast<const std::byte*>(b.data());
  for (std::int64_t k = 0; k < a.element_count(); ++k) {
    const std::size_t at = static_cast<std::size_t>(k) * size;
    if (std::memcmp(x + at, y + at, size) == 0) continue;
    AxisList index = a.shape();
    std::int64_t rest = k;
    for (int axis = index.size(); axis-- > 0;) {
      index[axis] = rest % a.extent(axis);
      rest /= a.extent(axis);
    }
    if (is_real(a.dtype()) && std::isnan(a.real_at(index)) && std::isnan(b.real_at(index)))
      continue;
    return to_string(index) + " of " + describe(got) + " is " + std::to_string(b.real_at(index)) +
           " instead of " + std::to_string(a.real_at(index));
  }
  return std::nullopt;
}

}  // namespace mote::test
