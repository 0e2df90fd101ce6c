// SPDX-License-Identifier: Apache-2.0
// Shapes that are known later than the nodes that depend on them: an input gets its form, and what
// follows from it is inferred, in loops and branches too.
#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "check_devices.h"
#include "check_function.h"
#include "control/check_control.h"
#include "fail.h"
#include "mote/symbolic/dependencies.h"
#include "mote/symbolic/symbolic_graph.h"

namespace mote {

void SymbolicGraph::set_form(TensorSymbol input, const TensorForm& form) {
  const std::uint32_t index = checked(input);
  if (symbols_[index].kind != SymbolOrigin::input)
    fail_graph(text(input) + " is no input, so that its form follows from others");
  if (symbols_[index].has_form && symbols_[index].form == form) return;
  if (symbols_[index].has_form)
    fail_graph("the form of " + text(input) + " is " + to_string(symbols_[index].form) +
               " already, got " + to_string(form));
  if (symbols_[index].form->dtype != form.dtype)
    fail_graph(text(input) + " has the dtype " +
               std::string(mote::name(symbols_[index].form->dtype)) + ", got " + to_string(form));
  const SharedForm before = symbols_[index].form;
  symbols_[index].form = forms_.of(form);
  symbols_[index].has_form = true;
  try {
    infer_later(index);
  } catch (...) {
    symbols_[index].has_form = false;
    symbols_[index].form = before;
    throw;
  }
  ++version_;
}

/// Infers forms that follow from one that has become known, and takes all of it back if it ends
/// before keep().
class LaterForms {
 public:
  LaterForms(SymbolicGraph& graph, std::uint32_t input)
      : graph_(graph), is_new_(graph.symbol_count()) {
    is_new_[input] = true;
  }
  LaterForms(const LaterForms&) = delete;
  LaterForms& operator=(const LaterForms&) = delete;
  ~LaterForms() {
    if (is_kept_) return;
    for (const auto& [symbol, form] : forms_before_) {
      graph_.symbols_[symbol].has_form = false;
      graph_.symbols_[symbol].form = form;
    }
    for (auto& [node, control] : graphs_before_) graph_.nodes_[node].control = std::move(control);
  }

  void infer(std::uint32_t index) {
    const NodeInfo& node = graph_.nodes()[index];
    const auto reads_new = [&](std::uint32_t symbol) {
      return symbol != kNoIndex && is_new_[symbol];
    };
    if (!std::ranges::any_of(node.inputs, reads_new)) return;
    if (node.kind == NodeKind::command) infer_command(index);
    if (node.kind == NodeKind::control) infer_control(index);
    if (node.kind == NodeKind::function)
      check_function(graph_, *node.function, node.inputs, node.outputs);
  }
  void keep() { is_kept_ = true; }

 private:
  void set(std::uint32_t symbol, const TensorForm& form) {
    SymbolInfo& info = graph_.symbols_[symbol];
    forms_before_.emplace_back(symbol, info.form);
    info.form = graph_.forms_.of(form);
    info.has_form = true;
    is_new_[symbol] = true;
  }

  void infer_command(std::uint32_t index) {
    const NodeInfo& node = graph_.nodes()[index];
    std::optional<DType> dtype;
    for (const std::uint32_t output : node.outputs)
      if (output != kNoIndex && !dtype) dtype = graph_.symbols()[output].form->dtype;
    const auto* const forms = graph_.inferred(*node.command, node.inputs, dtype);
    if (forms == nullptr) return;
    check_devices(graph_, *node.command, node.inputs, {});
    for (std::size_t k = 0; k < node.outputs.size(); ++k) {
      if (node.outputs[k] == kNoIndex) continue;
      const SymbolInfo& output = graph_.symbols()[node.outputs[k]];
      TensorForm form = (*forms)[k];
      if (output.has_form) {
        if (output.form->dtype != form.dtype || output.form->shape != form.shape)
          fail_graph(graph_.text(graph_.node_at(index)) + " gives " + to_string(form) + ", but " +
                     graph_.text(graph_.at(node.outputs[k])) + " is " + to_string(output.form));
        continue;
      }
      for (const std::uint32_t in : node.inputs)
        if (in != kNoIndex) form.device = graph_.symbols()[in].form->device;
      set(node.outputs[k], form);
    }
  }

  /// Forms go into the node's graphs, and out of them.
  void infer_control(std::uint32_t index) {
    NodeInfo& node = graph_.nodes_[index];
    graphs_before_.emplace_back(index, node.control);
    try {
      node.control = with_later_forms(graph_, node);
      check_control(graph_, node);
    } catch (const StatusError& e) {
      throw StatusError(e.status(), graph_.text(graph_.node_at(index)) + ": " + e.what());
    }
    for (std::size_t k = 0; k < node.outputs.size(); ++k) {
      bool is_known = false;
      const SharedForm form = result_form(*node.control, k, is_known);
      if (is_known && !graph_.symbols()[node.outputs[k]].has_form) set(node.outputs[k], form);
    }
  }

  SymbolicGraph& graph_;
  std::vector<bool> is_new_;
  std::vector<std::pair<std::uint32_t, SharedForm>> forms_before_;
  std::vector<std::pair<std::uint32_t, std::shared_ptr<const ControlInfo>>> graphs_before_;
  bool is_kept_ = false;
};

/// Infers the forms that follow from the input's, which has become known, and checks those that
/// were given. If some do not fit, none is set.
void SymbolicGraph::infer_later(std::uint32_t input) {
  LaterForms later(*this, input);
  for (const std::uint32_t index : topological_order(*this)) later.infer(index);
  later.keep();
}

}  // namespace mote
