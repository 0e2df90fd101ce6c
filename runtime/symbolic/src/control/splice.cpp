// SPDX-License-Identifier: Apache-2.0
#include "control/splice.h"

#include <string_view>
#include <utility>

#include "mote/runtime/status.h"
#include "mote/symbolic/control.h"
#include "mote/symbolic/dependencies.h"
#include "shape_notes.h"

namespace mote {
namespace {

class Splicer {
 public:
  Splicer(SymbolicGraph& to, const SymbolicGraph& from, std::vector<TensorSymbol> symbols)
      : to_(to), from_(from), symbols_(std::move(symbols)), nodes_(from.node_count()) {
    symbols_.resize(from.symbol_count());
  }

  std::vector<TensorSymbol> run(std::span<const std::uint32_t> nodes,
                                std::span<const TensorSymbol> asked) {
    for (const std::uint32_t node : nodes) add(node);
    for (const TensorSymbol one : asked) symbol(one.index);
    for (std::uint32_t k = 0; k < symbols_.size(); ++k)
      if (symbols_[k] && !from_.symbols()[k].removed) note_shapes(k);
    return std::move(symbols_);
  }

 private:
  /// Notes what the shape of symbol k follows from, as far as that is in the graph too. What holds
  /// only for the shape of a symbol that is not holds for the shapes of all inputs.
  void note_shapes(std::uint32_t k) {
    for (const ShapeNote& note : shape_notes(from_, k)) {
      if (symbols_[note.of])
        note_shape(to_, symbols_[k], {note.kind, symbols_[note.of].index, note.groups});
      else if (note.kind == ShapeNoteKind::stays)
        for (const std::uint32_t input : input_indices(to_))
          note_shape(to_, symbols_[k], {note.kind, input});
    }
  }

  TensorSymbol symbol(std::uint32_t k) {
    if (k == kNoIndex) return {};
    std::vector<std::uint32_t> views;
    for (; !symbols_[k] && from_.symbols()[k].kind == SymbolOrigin::view;
         k = from_.symbols()[k].base)
      views.push_back(k);
    if (!symbols_[k]) symbols_[k] = root(k);
    TensorSymbol made = symbols_[k];
    for (; !views.empty(); views.pop_back())
      made = symbols_[views.back()] =
          to_.view(made, from_.view_step(from_.at(views.back())), name_of(views.back()));
    return made;
  }

  /// Returns the symbol's name, unless one of the graph has it.
  std::string_view name_of(std::uint32_t k) const {
    const std::string& name = from_.symbols()[k].name;
    return name.empty() || to_.has(name) ? std::string_view() : std::string_view(name);
  }

  TensorSymbol root(std::uint32_t k) {
    const SymbolInfo& info = from_.symbols()[k];
    switch (info.kind) {
      case SymbolOrigin::constant:
        return to_.constant(name_of(k), from_.value(from_.at(k)));
      case SymbolOrigin::zeros:
        return to_.zeros(info.form, name_of(k));
      case SymbolOrigin::tensor:
        return to_.tensor(info.form, name_of(k));
      case SymbolOrigin::input:
      case SymbolOrigin::view:
        break;
    }
    throw InternalError("a graph that is put into another lacks an input");
  }

  void add(std::uint32_t index) {
    const NodeInfo& node = from_.nodes()[index];
    std::vector<TensorSymbol>& inputs = inputs_;
    std::vector<TensorSymbol>& outputs = outputs_;
    inputs.clear();
    outputs.clear();
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
    if (!node.name.empty()) to_.rename(made, node.name);
    if (node.recomputed != 0) to_.mark_recomputed(made, node.recomputed);
  }

  SymbolicGraph& to_;
  const SymbolicGraph& from_;
  std::vector<TensorSymbol> symbols_;
  std::vector<NodeSymbol> nodes_;
  std::vector<TensorSymbol> inputs_, outputs_;  ///< of the node that is added; they keep their room
};

}  // namespace

std::vector<TensorSymbol> splice(SymbolicGraph& to, const SymbolicGraph& from,
                                 std::span<const TensorSymbol> given) {
  std::vector<TensorSymbol> symbols(from.symbol_count());
  const std::vector<std::uint32_t> inputs = input_indices(from);
  for (std::size_t k = 0; k < inputs.size(); ++k) symbols[inputs[k]] = given[k];
  return splice(
      to, from, std::move(symbols), [](std::uint32_t) { return true; }, from.outputs());
}

std::vector<TensorSymbol> splice(SymbolicGraph& to, const SymbolicGraph& from,
                                 std::vector<TensorSymbol> symbols,
                                 const std::function<bool(std::uint32_t)>& takes,
                                 std::span<const TensorSymbol> asked) {
  std::vector<std::uint32_t> nodes = topological_order(from);
  std::erase_if(nodes, [&](std::uint32_t node) { return !takes(node); });
  return splice(to, from, std::move(symbols), nodes, asked);
}

std::vector<TensorSymbol> splice(SymbolicGraph& to, const SymbolicGraph& from,
                                 std::vector<TensorSymbol> symbols,
                                 std::span<const std::uint32_t> nodes,
                                 std::span<const TensorSymbol> asked) {
  return Splicer(to, from, std::move(symbols)).run(nodes, asked);
}

}  // namespace mote
