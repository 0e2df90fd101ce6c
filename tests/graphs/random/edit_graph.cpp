// SPDX-License-Identifier: Apache-2.0
#include "edit_graph.h"

#include <algorithm>

#include "graph_data.h"
#include "graph_subject.h"
#include "mote/runtime/status.h"
#include "mote/symbolic/dependencies.h"

namespace mote::test {
namespace {

class GraphEditor {
 public:
  GraphEditor(const SymbolicGraph& from, const GraphEdit& edit)
      : from_(from),
        edit_(edit),
        to_(from.name(), from.registry()),
        symbols_(from.symbol_count()),
        nodes_(from.node_count()),
        is_needed_(from.node_count(), true) {}

  std::optional<SymbolicGraph> run() {
    if (edit_.is_pruned) find_needed();
    for (const std::uint32_t k : topological_order(from_))
      if (is_needed_[k]) add(k);
    std::vector<TensorSymbol> outputs;
    for (const std::uint32_t output : edit_.outputs.value_or(from_.output_indices())) {
      if (is_token(from_, output)) return std::nullopt;  // its value depends on other loops
      const TensorSymbol symbol = symbol_of(output);
      if (std::ranges::find(outputs, symbol) == outputs.end()) outputs.push_back(symbol);
    }
    to_.set_outputs(outputs);
    if (to_.node_count() == 0) return std::nullopt;
    verify(to_);
    return std::move(to_);
  }

 private:
  std::uint32_t read_instead(std::uint32_t symbol) const {
    for (auto at = edit_.instead.find(symbol); at != edit_.instead.end();
         at = edit_.instead.find(symbol))
      symbol = at->second;
    return symbol;
  }

  /// Marks the nodes that outputs, and nodes that are in order with them, need.
  void find_needed() {
    std::fill(is_needed_.begin(), is_needed_.end(), false);
    std::vector<std::uint32_t> open;
    const IndexLists written = writers(from_);
    const auto need = [&](std::uint32_t symbol) {
      while (true) {
        symbol = read_instead(symbol);
        const SymbolInfo& info = from_.symbols()[symbol];
        if (info.kind != SymbolOrigin::view) break;
        symbol = info.base;
      }
      if (edit_.to_input.contains(symbol)) return;
      for (const std::uint32_t node : written[symbol])
        if (!is_needed_[node]) {
          is_needed_[node] = true;
          open.push_back(node);
        }
    };
    for (const std::uint32_t output : edit_.outputs.value_or(from_.output_indices())) need(output);
    while (!open.empty()) {
      const NodeInfo& node = from_.nodes()[open.back()];
      open.pop_back();
      for (const std::uint32_t input : node.inputs)
        if (input != kNoIndex) need(input);
    }
  }

  TensorForm form_of(std::uint32_t k) const {
    const auto found = edit_.forms.find(k);
    return found == edit_.forms.end() ? *from_.symbols()[k].form : found->second;
  }

  std::string name_of(std::uint32_t k) const {
    const std::string& name = from_.symbols()[k].name;
    return name.empty() ? "n" + std::to_string(k) : name;
  }

  Tensor constant_of(std::uint32_t k) const {
    const Tensor& value = from_.value(from_.at(k));
    const auto found = edit_.forms.find(k);
    if (found == edit_.forms.end()) return value;
    Tensor smaller = value;
    for (int axis = 0; axis < smaller.rank(); ++axis)
      smaller = smaller.slice(axis, 0, found->second.shape[axis]);
    return clone(smaller);
  }

  TensorSymbol view_of(std::uint32_t k) {
    const SymbolInfo& info = from_.symbols()[k];
    const TensorSymbol base = symbol_of(info.base);
    ViewStep step = from_.view_step(from_.at(k));
    const AxisList shape = to_.form(base).shape;
    if (edit_.forms.empty()) return to_.view(base, step, info.name);
    // A smaller tensor has smaller views.
    AxisList& n = step.numbers;
    if (step.kind == ViewKind::slice && n[0] < shape.size() && n[3] > 0) {
      n[1] = std::min(n[1], std::max<std::int64_t>(shape[static_cast<int>(n[0])] - 1, 0));
      const std::int64_t room = shape[static_cast<int>(n[0])] - n[1];
      n[2] = std::min(n[2], (room + n[3] - 1) / n[3]);
    } else if (step.kind == ViewKind::select && n[0] < shape.size()) {
      n[1] = std::min(n[1], shape[static_cast<int>(n[0])] - 1);
    } else if (step.kind == ViewKind::reshape && n.size() == 1) {
      n[0] = element_count(to_.form(base));
    }
    return to_.view(base, step, info.name);
  }

  /// Returns the symbol in the new graph, which is made when it is first needed.
  TensorSymbol symbol_of(std::uint32_t k) {
    k = read_instead(k);
    if (symbols_[k]) return symbols_[k];
    const SymbolInfo& info = from_.symbols()[k];
    if (edit_.to_input.contains(k) || info.kind == SymbolOrigin::input)
      return symbols_[k] = to_.input(name_of(k), {form_of(k).dtype, form_of(k).shape});
    switch (info.kind) {
      case SymbolOrigin::constant:
        return symbols_[k] = to_.constant(name_of(k), constant_of(k));
      case SymbolOrigin::zeros:
        return symbols_[k] = to_.zeros(form_of(k), info.name);
      case SymbolOrigin::view:
        return symbols_[k] = view_of(k);
      default:
        return symbols_[k] = to_.tensor(form_of(k), info.name);
    }
  }

  bool is_replaced(std::uint32_t output) const {
    return output == kNoIndex || edit_.to_input.contains(from_.symbols()[output].root);
  }

  void add(std::uint32_t k) {
    const NodeInfo& node = from_.nodes()[k];
    if (std::ranges::all_of(node.outputs, [&](auto o) { return is_replaced(o); })) return;
    std::vector<TensorSymbol> inputs;
    for (const std::uint32_t input : node.inputs)
      inputs.push_back(input == kNoIndex ? TensorSymbol{} : symbol_of(input));
    switch (node.kind) {
      case NodeKind::command:
        nodes_[k] = add_command(node, inputs);
        break;
      case NodeKind::copy:
        nodes_[k] = to_.copy(inputs[0], symbol_of(node.outputs[0]));
        break;
      case NodeKind::fill:
        nodes_[k] = to_.fill(symbol_of(node.outputs[0]), node.value);
        break;
      case NodeKind::function: {
        std::vector<TensorSymbol> outputs;
        for (const std::uint32_t output : node.outputs) outputs.push_back(symbol_of(output));
        nodes_[k] = to_.call(*node.function, inputs, outputs);
        break;
      }
      case NodeKind::control:
        nodes_[k] = add_control(node, inputs);
        break;
    }
    for (const std::uint32_t before : node.after)
      if (nodes_[before] && !edit_.without_order.contains({before, k}))
        to_.order(nodes_[before], nodes_[k]);
    if (!node.name.empty()) to_.rename(nodes_[k], node.name);
  }

  NodeSymbol add_control(const NodeInfo& node, const std::vector<TensorSymbol>& inputs) {
    const NodeSymbol added = to_.add_control_like(node, inputs);
    for (std::size_t o = 0; o < node.outputs.size(); ++o) {
      if (is_replaced(node.outputs[o])) continue;
      if (symbols_[node.outputs[o]]) throw StatusError(MOTE_INVALID, "an output is used before");
      const TensorSymbol given = to_.output(added, o);
      symbols_[node.outputs[o]] = given;
      const std::string& name = from_.symbols()[node.outputs[o]].name;
      if (!name.empty()) to_.rename(given, name);
    }
    return added;
  }

  /// Adds the node with outputs of its own if it writes whole symbols, else with existing ones.
  NodeSymbol add_command(const NodeInfo& node, const std::vector<TensorSymbol>& inputs) {
    std::optional<DType> dtype;
    bool is_whole = true;
    for (const std::uint32_t output : node.outputs) {
      if (output == kNoIndex) continue;
      const SymbolInfo& info = from_.symbols()[output];
      if (!dtype) dtype = info.form->dtype;
      is_whole = is_whole && info.kind == SymbolOrigin::tensor && !symbols_[output] &&
                 info.form->strides == TensorForm(info.form->dtype, info.form->shape).strides;
    }
    if (!is_whole) return write(node, inputs);
    const NodeSymbol added = to_.add_node(*node.command, inputs, dtype);
    for (std::size_t o = 0; o < node.outputs.size(); ++o) {
      const std::uint32_t given = to_.info(added).outputs[o];
      if (node.outputs[o] == kNoIndex) {
        if (given != kNoIndex) to_.leave_out(added, o);
        continue;
      }
      if (given == kNoIndex) throw StatusError(MOTE_INVALID, "an output is missing");
      if (is_replaced(node.outputs[o])) continue;
      symbols_[node.outputs[o]] = to_.at(given);
      const std::string& name = from_.symbols()[node.outputs[o]].name;
      if (!name.empty()) to_.rename(to_.at(given), name);
    }
    return added;
  }

  NodeSymbol write(const NodeInfo& node, const std::vector<TensorSymbol>& inputs) {
    std::vector<TensorSymbol> outputs;
    for (const std::uint32_t output : node.outputs) {
      if (output == kNoIndex) {
        outputs.emplace_back();
      } else if (is_replaced(output)) {
        const TensorForm& form = from_.symbols()[output].form;
        outputs.push_back(to_.tensor({form.dtype, form.shape}));
      } else {
        outputs.push_back(symbol_of(output));
      }
    }
    return to_.write(*node.command, inputs, outputs);
  }

  const SymbolicGraph& from_;
  const GraphEdit& edit_;
  SymbolicGraph to_;
  std::vector<TensorSymbol> symbols_;  ///< by index in the edited graph; none: not made yet
  std::vector<NodeSymbol> nodes_;
  std::vector<bool> is_needed_;
};

}  // namespace

std::optional<SymbolicGraph> edited(const SymbolicGraph& graph, const GraphEdit& edit) {
  try {
    return GraphEditor(graph, edit).run();
  } catch (const StatusError&) {
    return std::nullopt;
  }
}

}  // namespace mote::test
