// SPDX-License-Identifier: Apache-2.0
// A node's program gives its outputs. A view reads the nearest symbol behind it that has a value; a
// tensor that views have written is put together from those that the reader touches.
#include "graph/symbol_values.h"

#include "graph/call_values.h"
#include "mote/base/error.h"

namespace mote {

SymbolValues::SymbolValues(const SymbolicGraph& graph, const NodeForms& forms)
    : graph_(graph), forms_(forms) {}

const Uop& SymbolValues::read(std::uint32_t symbol) {
  if (const auto known = values_.find(symbol); known != values_.end()) return known->second;
  return values_[symbol] = part_of_base(symbol);
}

Uop SymbolValues::part_of_base(std::uint32_t symbol) {
  std::uint32_t from = symbol;
  while (graph_.symbols()[from].kind == SymbolOrigin::view) {
    from = graph_.symbols()[from].base;
    const SymbolInfo& info = graph_.symbols()[from];
    const bool is_whole = info.producer != kNoIndex || info.kind == SymbolOrigin::input ||
                          info.kind == SymbolOrigin::constant;
    if (is_whole) return element_at(values_.at(from), form(symbol).shape, index_in(from, symbol));
  }
  return element_at(assembled(from, symbol), form(symbol).shape, index_in(from, symbol));
}

/// Returns the root with the elements that nodes have written and the reader reads.
Uop SymbolValues::assembled(std::uint32_t root, std::uint32_t reader) const {
  Uop value = filled_with(0, form(root).dtype, form(root).shape);
  const auto parts = written_.find(root);
  if (parts == written_.end()) return value;
  const ViewRegion region = graph_.region(graph_.at(reader));
  for (const std::uint32_t part : parts->second) {
    if (!overlap(graph_.region(graph_.at(part)), region)) continue;
    const ElementIndex to = index_in(root, part);
    value = scatter(ScatterOp::set, value, values_.at(part),
                    std::vector<IndexText>(to.begin(), to.end()));
  }
  return value;
}

/// Returns the index in the symbol `ancestor` of each element of its view `symbol`.
ElementIndex SymbolValues::index_in(std::uint32_t ancestor, std::uint32_t symbol) const {
  ElementIndex index = loop_index(form(symbol).rank());
  while (symbol != ancestor) {
    const std::uint32_t base = graph_.symbols()[symbol].base;
    index = viewed_index(graph_.view_step(graph_.at(symbol)), form(base).shape, form(symbol).shape,
                         index);
    symbol = base;
  }
  return index;
}

void SymbolValues::run(std::uint32_t index) {
  const NodeInfo& node = graph_.nodes()[index];
  std::vector<const TensorForm*> forms;
  for (const std::uint32_t y : node.outputs) forms.push_back(y == kNoIndex ? nullptr : &form(y));
  std::vector<Uop> results;
  switch (node.kind) {
    case NodeKind::command: {
      std::vector<InlinedTensor> inputs;
      for (const std::uint32_t x : node.inputs)
        inputs.push_back(x == kNoIndex ? InlinedTensor{} : InlinedTensor{&form(x), read(x)});
      const auto form = forms_.find(index);
      results = call_values(*node.command, inputs, forms,
                            form == forms_.end() ? kDirect : std::string_view(form->second));
      break;
    }
    case NodeKind::copy: {
      const std::uint32_t x = node.inputs.front();
      const TensorForm& y = *forms.front();
      const ElementIndex from = repeated_index(form(x).shape, loop_index(y.rank()));
      results = {cast(element_at(read(x), y.shape, from), y.dtype)};
      break;
    }
    case NodeKind::fill:
      results = {filled_with(node.value, forms.front()->dtype, forms.front()->shape)};
      break;
    case NodeKind::function:
      throw Error("the code of a function is no program");
    case NodeKind::control:
      throw Error("a loop or a branch of a graph is no program");
  }
  for (std::size_t k = 0; k < node.outputs.size(); ++k) {
    if (node.outputs[k] == kNoIndex) continue;
    set(node.outputs[k], results[k]);
    written_[graph_.symbols()[node.outputs[k]].root].push_back(node.outputs[k]);
  }
}

}  // namespace mote
