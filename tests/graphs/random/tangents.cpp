// SPDX-License-Identifier: Apache-2.0
#include "tangents.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "exact_numbers.h"
#include "graph_data.h"
#include "mote/runtime/command.h"
#include "mote/runtime/status.h"
#include "mote/symbolic/dependencies.h"
#include "mote/symbolic/evaluate.h"
#include "mote/symbolic/gradient.h"

namespace mote::test {
namespace {

constexpr double kStep = 0x1p-10;

Tensor row_major(DType dtype, const AxisList& shape) {
  const Tensor x(dtype, shape);
  if (x.element_count() > 0) fill(x, 0);
  return x;
}

class DirectionalDerivative {
 public:
  DirectionalDerivative(const SymbolicGraph& graph, const std::vector<TensorBinding>& values,
                        const std::vector<TensorBinding>& directions)
      : graph_(graph), values_(graph.symbol_count()), tangents_(graph.symbol_count()) {
    for (const auto& [symbol, value] : values) values_[symbol.index] = value;
    for (const auto& [symbol, direction] : directions) tangents_[symbol.index] = direction;
  }

  std::vector<Tensor> run(const std::vector<TensorSymbol>& of) {
    for (const std::uint32_t node : topological_order(graph_)) add(graph_.nodes()[node]);
    std::vector<Tensor> tangents;
    for (const TensorSymbol symbol : of) tangents.push_back(clone(tangent(symbol.index)));
    return tangents;
  }

 private:
  Tensor through(std::vector<std::optional<Tensor>>& of, std::uint32_t symbol, bool is_tangent) {
    std::optional<Tensor>& found = of[symbol];
    if (found) return *found;
    const SymbolInfo& info = graph_.symbols()[symbol];
    if (info.kind == SymbolOrigin::view) {
      const Tensor base = through(of, info.base, is_tangent);
      found = apply(graph_.view_step(graph_.at(symbol)), base);
    } else if (info.kind == SymbolOrigin::constant && !is_tangent) {
      found = graph_.value(graph_.at(symbol));
    } else {
      found = memory_of(info.form);
    }
    return *found;
  }
  /// Returns memory in the form's layout, which views of it rely on, filled with 0.
  Tensor memory_of(const TensorForm& form) {
    const auto bytes = checked_span(form.dtype, form.shape, form.strides);
    const Tensor& memory = memory_.emplace_back(row_major(DType::u8, {bytes}));
    return Tensor::over(memory.data(), form.dtype, form.shape, form.strides);
  }
  Tensor value(std::uint32_t symbol) { return through(values_, symbol, false); }
  Tensor tangent(std::uint32_t symbol) { return through(tangents_, symbol, true); }
  bool is_smooth(std::uint32_t symbol) const {
    return symbol != kNoIndex && graph_.symbols()[symbol].form->dtype == DType::f64;
  }

  void add(const NodeInfo& node) {
    switch (node.kind) {
      case NodeKind::fill:
        fill(value(node.outputs[0]), node.value);
        return;
      case NodeKind::copy:
        copy(value(node.inputs[0]), value(node.outputs[0]));
        if (is_smooth(node.inputs[0]) && is_smooth(node.outputs[0]))
          copy(tangent(node.inputs[0]), tangent(node.outputs[0]));
        return;
      case NodeKind::command:
        add_command(node);
        return;
      case NodeKind::function:
        throw Undecided{"a caller's function"};
      case NodeKind::control:
        throw Undecided{"a loop or a branch"};
    }
  }

  std::vector<Tensor> results(const NodeInfo& node, const std::vector<Tensor>& inputs) {
    std::vector<const Tensor*> read;
    for (std::size_t k = 0; k < inputs.size(); ++k)
      read.push_back(node.inputs[k] == kNoIndex ? nullptr : &inputs[k]);
    std::vector<Tensor> outputs(node.outputs.size());
    std::vector<Tensor*> written;
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      written.push_back(nullptr);
      if (node.outputs[k] == kNoIndex) continue;
      const TensorForm& form = graph_.symbols()[node.outputs[k]].form;
      outputs[k] = row_major(form.dtype, form.shape);
      written.back() = &outputs[k];
    }
    mote::run(*node.command, read, written);
    return outputs;
  }

  void add_command(const NodeInfo& node) {
    std::vector<Tensor> inputs(node.inputs.size());
    for (std::size_t k = 0; k < inputs.size(); ++k)
      if (node.inputs[k] != kNoIndex) inputs[k] = clone(value(node.inputs[k]));
    const std::vector<Tensor> at = results(node, inputs);
    for (std::size_t o = 0; o < at.size(); ++o) {
      if (node.outputs[o] == kNoIndex) continue;
      check_whole(at[o], node.command->definition().name);
      copy(at[o], value(node.outputs[o]));
    }
    for (std::size_t k = 0; k < inputs.size(); ++k)
      if (is_smooth(node.inputs[k])) add_quotients(node, inputs, k, at);
  }

  void add_quotients(const NodeInfo& node, std::vector<Tensor> inputs, std::size_t k,
                     const std::vector<Tensor>& at) {
    const Tensor direction = clone(tangent(node.inputs[k]));
    if (std::ranges::all_of(elements(direction), [](double v) { return v == 0; })) return;
    const Tensor x = inputs[k];
    const auto moved = [&](double step) {
      inputs[k] = clone(x);
      for (std::size_t i = 0; i < elements(x).size(); ++i)
        elements(inputs[k])[i] += step * elements(direction)[i];
      return results(node, inputs);
    };
    const std::vector<Tensor> above = moved(kStep);
    const std::vector<Tensor> below = moved(-kStep);
    for (std::size_t o = 0; o < at.size(); ++o) {
      if (!is_smooth(node.outputs[o])) continue;
      const Tensor sum = clone(tangent(node.outputs[o]));
      for (std::size_t i = 0; i < elements(sum).size(); ++i) {
        const double up = elements(above[o])[i] - elements(at[o])[i];
        const double down = elements(at[o])[i] - elements(below[o])[i];
        // A quadratic's sides differ by 2 (step * direction)^2 c, a kink's by a multiple of step.
        if (std::abs(up - down) >= kStep / 2)
          throw Undecided{std::string("a kink of ") + node.command->definition().name};
        elements(sum)[i] += (up + down) / (2 * kStep);
      }
      check_whole(sum, "the derivative of " + std::string(node.command->definition().name));
      copy(sum, tangent(node.outputs[o]));
    }
  }

  const SymbolicGraph& graph_;
  std::vector<std::optional<Tensor>> values_;
  std::vector<std::optional<Tensor>> tangents_;
  std::vector<Tensor> memory_;
};

}  // namespace

bool is_exact_op(const std::string& op) {
  static const std::set<std::string> exact = {"abs",
                                              "add",

                                              "concat",
                                              "conv1d",
                                              "conv2d",
                                              "conv2d_relu",
                                              "conv3d",
                                              "conv_transpose2d",
                                              "cumsum",
                                              "embedding",
                                              "flip",
                                              "gather",
                                              "gather_elements",
                                              "global_max_pool",
                                              "index_add",
                                              "matmul",
                                              "max",
                                              "max_pool2d",
                                              "max_pool2d_with_indices",
                                              "max_pool3d",
                                              "max_unpool2d",
                                              "min",
                                              "mul",
                                              "neg",
                                              "pad_constant",
                                              "pad_edge",
                                              "pad_reflect",
                                              "pad_wrap",
                                              "reglu",
                                              "relu",
                                              "resize_nearest2d",
                                              "scatter_elements",
                                              "scatter_elements_add",
                                              "scatter_nd",
                                              "scatter_nd_add",
                                              "slice",
                                              "sub",
                                              "sum",
                                              "sumsq",
                                              "tile",
                                              "transpose",
                                              "tril",
                                              "triu",
                                              "where",
                                              "adaptive_max_pool2d"};
  return exact.contains(op);
}

Tangents exact_tangents(const SymbolicGraph& graph, const std::vector<TensorBinding>& values,
                        const std::vector<TensorBinding>& directions,
                        const std::vector<TensorSymbol>& of) {
  try {
    return {DirectionalDerivative(graph, values, directions).run(of), ""};
  } catch (const Undecided& undecided) {
    return {{}, undecided.why};
  }
}

}  // namespace mote::test
