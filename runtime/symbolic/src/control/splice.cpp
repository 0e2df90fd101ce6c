// SPDX-License-Identifier: Apache-2.0
#include "control/splice.h"

#include "mote/runtime/status.h"
#include "mote/symbolic/control.h"
#include "mote/symbolic/dependencies.h"

namespace mote {
namespace {

class Splicer {
 public:
  Splicer(SymbolicGraph& to, const SymbolicGraph& from, std::span<const TensorSymbol> given)
      : to_(to), from_(from), symbols_(from.symbol_count()), nodes_(from.node_count()) {
    const std::vector<std::uint32_t> inputs = input_indices(from);
    for (std::size_t k = 0; k < inputs.size(); ++k) symbols_[inputs[k]] = given[k];
  }

  std::vector<TensorSymbol> run() {
    for (const std::uint32_t node : topological_order(from_)) add(node);
    for (const std::uint32_t output : from_.output_indices()) symbol(output);
    return std::move(symbols_);
  }

 private:
  TensorSymbol symbol(std::uint32_t k) {
    if (k == kNoIndex) return {};
    std::vector<std::uint32_t> views;
    for (; !symbols_[k] && from_.symbols()[k].kind == SymbolOrigin::view;
         k = from_.symbols()[k].base)
      views.push_back(k);
    if (!symbols_[k]) symbols_[k] = root(k);
    TensorSymbol made = symbols_[k];
    for (; !views.empty(); views.pop_back())
      made = symbols_[views.back()] = to_.view(made, from_.view_step(from_.at(views.back())));
    return made;
  }

  TensorSymbol root(std::uint32_t k) {
    const SymbolInfo& info = from_.symbols()[k];
    switch (info.kind) {
      case SymbolOrigin::constant:
        return to_.constant({}, from_.value(from_.at(k)));
      case SymbolOrigin::zeros:
        return to_.zeros(info.form);
      case SymbolOrigin::tensor:
        return to_.tensor(info.form);
      case SymbolOrigin::input:
      case SymbolOrigin::view:
        break;
    }
    throw InternalError("a graph that is put into another lacks an input");
  }

  void add(std::uint32_t index) {
    const NodeInfo& node = from_.nodes()[index];
    std::vector<TensorSymbol> inputs, outputs;
    for (const std::uint32_t k : node.inputs) inputs.push_back(symbol(k));
    for (const std::uint32_t k : node.outputs) outputs.push_back(symbol(k));
    NodeSymbol& made = nodes_[index];
    switch (node.kind) {
      case NodeKind::command:
        made = to_.write(*node.command, inputs, outputs);
        break;
      case NodeKind::copy:
        made = to_.copy(inputs[0], outputs[0]);
        break;
      case NodeKind::fill:
        made = to_.fill(outputs[0], node.value);
        break;
      case NodeKind::function:
        made = to_.call(*node.function, inputs, outputs);
        break;
      case NodeKind::control:
        made = to_.add_control_like(node, inputs, outputs);
        break;
    }
    for (const std::uint32_t before : node.after)
      if (nodes_[before]) to_.order(nodes_[before], made);
  }

  SymbolicGraph& to_;
  const SymbolicGraph& from_;
  std::vector<TensorSymbol> symbols_;
  std::vector<NodeSymbol> nodes_;
};

}  // namespace

std::vector<TensorSymbol> splice(SymbolicGraph& to, const SymbolicGraph& from,
                                 std::span<const TensorSymbol> given) {
  return Splicer(to, from, given).run();
}

}  // namespace mote
