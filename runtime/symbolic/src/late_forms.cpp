// SPDX-License-Identifier: Apache-2.0
// Shapes that are known later than the nodes that depend on them: an input gets its form, and what
// follows from it is inferred.
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "check_devices.h"
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

/// Infers the forms that follow from the input's, which has become known, and checks those that
/// were given. If some do not fit, none is set.
void SymbolicGraph::infer_later(std::uint32_t input) {
  std::vector<bool> is_new(symbols_.size());
  is_new[input] = true;
  std::vector<std::pair<std::uint32_t, SharedForm>> before;
  const auto infer_node = [&](std::uint32_t index) {
    const NodeInfo& node = nodes_[index];
    std::optional<DType> dtype;
    for (const std::uint32_t output : node.outputs)
      if (output != kNoIndex && !dtype) dtype = symbols_[output].form->dtype;
    const auto forms = inferred(*node.command, node.inputs, dtype);
    if (!forms) return;
    check_devices(*this, *node.command, node.inputs, {});
    for (std::size_t k = 0; k < node.outputs.size(); ++k) {
      if (node.outputs[k] == kNoIndex) continue;
      SymbolInfo& output = symbols_[node.outputs[k]];
      TensorForm form = (*forms)[k];
      if (output.has_form) {
        if (output.form->dtype != form.dtype || output.form->shape != form.shape)
          fail_graph(text(node_at(index)) + " gives " + to_string(form) + ", but " +
                     text(at(node.outputs[k])) + " is " + to_string(output.form));
        continue;
      }
      for (const std::uint32_t in : node.inputs)
        if (in != kNoIndex) form.device = symbols_[in].form->device;
      before.emplace_back(node.outputs[k], output.form);
      output.form = forms_.of(form);
      output.has_form = true;
      is_new[node.outputs[k]] = true;
    }
  };
  try {
    for (const std::uint32_t index : topological_order(*this)) {
      const NodeInfo& node = nodes_[index];
      if (node.kind != NodeKind::command) continue;
      const auto reads_new = [&](std::uint32_t symbol) {
        return symbol != kNoIndex && is_new[symbol];
      };
      if (std::ranges::any_of(node.inputs, reads_new)) infer_node(index);
    }
  } catch (...) {
    for (const auto& [symbol, form] : before) {
      symbols_[symbol].has_form = false;
      symbols_[symbol].form = form;
    }
    throw;
  }
}

}  // namespace mote
