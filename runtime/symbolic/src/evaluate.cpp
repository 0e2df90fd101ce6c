// SPDX-License-Identifier: Apache-2.0
// Evaluates a graph node by node: each root gets memory of its own, each view is a view of it.
#include "mote/symbolic/evaluate.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "fail.h"
#include "mote/base/dtype.h"
#include "mote/symbolic/dependencies.h"

namespace mote {
namespace {

bool is_row_major(const TensorForm& form) {
  return form.strides == checked_strides(form.dtype, form.shape);
}

/// Returns a tensor of that form that owns its memory.
Tensor allocate(const TensorForm& form) {
  if (is_row_major(form)) return {form.dtype, form.shape};
  std::int64_t lowest = 0;
  for (int axis = 0; axis < form.shape.size(); ++axis)
    lowest += std::min<std::int64_t>(
        0, std::max<std::int64_t>(0, form.shape[axis] - 1) * form.strides[axis]);
  if (lowest < 0) fail_graph("evaluate: a tensor of negative strides: " + to_string(form));
  const auto bytes = checked_span(form.dtype, form.shape, form.strides);
  const auto size = static_cast<std::int64_t>(size_of(form.dtype));
  // The tensor's deleter frees the memory, which a tensor of one axis owns.
  struct Owner {
    DLManagedTensor* memory;
    std::vector<std::int64_t> shape;
    std::vector<std::int64_t> strides;
    DLManagedTensor managed;
  };
  DLManagedTensor* memory = export_dlpack(Tensor(form.dtype, {bytes / size}));
  auto* owner = new Owner{memory,
                          {form.shape.begin(), form.shape.end()},
                          {form.strides.begin(), form.strides.end()},
                          {}};
  owner->managed.dl_tensor = memory->dl_tensor;
  owner->managed.dl_tensor.ndim = form.shape.size();
  owner->managed.dl_tensor.shape = owner->shape.data();
  owner->managed.dl_tensor.strides = owner->strides.data();
  owner->managed.manager_ctx = owner;
  owner->managed.deleter = [](DLManagedTensor* self) {
    auto* kept = static_cast<Owner*>(self->manager_ctx);
    kept->memory->deleter(kept->memory);
    delete kept;
  };
  return import_dlpack(&owner->managed);
}

/// Fills memory with values that no node is likely to give.
void poison(const Tensor& memory) {
  if (is_real(memory.dtype())) return fill(memory, std::numeric_limits<double>::quiet_NaN());
  fill(memory, memory.dtype() == DType::u8 || memory.dtype() == DType::boolean
                   ? integer_range(memory.dtype()).greatest
                   : integer_range(memory.dtype()).least);
}

class Evaluator {
 public:
  Evaluator(const SymbolicGraph& graph, std::span<const TensorBinding> bindings,
            const RunOptions& options)
      : graph_(graph), options_(options), tensors_(graph.symbol_count()) {
    for (const auto& [symbol, tensor] : bindings) bind(symbol, tensor);
  }

  void run(std::span<const TensorSymbol> outputs) {
    const std::vector<bool> needed = ancestors(graph_, outputs);
    for (const std::uint32_t node : topological_order(graph_))
      if (needed[node]) run(node);
  }

  /// Returns the symbol's tensor: its memory is made when it is first asked for.
  const Tensor& tensor(std::uint32_t symbol) {
    std::vector<std::uint32_t> steps;
    while (!tensors_[symbol] && graph_.symbols()[symbol].kind == SymbolOrigin::view) {
      steps.push_back(symbol);
      symbol = graph_.symbols()[symbol].base;
    }
    if (!tensors_[symbol]) tensors_[symbol] = root(symbol);
    for (; !steps.empty(); steps.pop_back()) {
      tensors_[steps.back()] = apply(graph_.view_step(graph_.at(steps.back())), *tensors_[symbol]);
      symbol = steps.back();
    }
    return *tensors_[symbol];
  }

 private:
  void bind(TensorSymbol symbol, const Tensor& tensor) {
    if (graph_.info(symbol).kind != SymbolOrigin::input)
      fail_graph("evaluate: " + graph_.text(symbol) + " is no input, so that it cannot be bound");
    const TensorForm& form = graph_.form(symbol);
    if (tensor.dtype() != form.dtype || tensor.shape() != form.shape)
      fail_graph("evaluate: " + graph_.text(symbol) + " is " + to_string(form) + ", got " +
                 describe(tensor));
    if (tensor.strides() == form.strides) {
      tensors_[symbol.index] = tensor;
      return;
    }
    const Tensor copied = allocate(form);
    copy(tensor, copied);
    tensors_[symbol.index] = copied;
  }

  Tensor root(std::uint32_t symbol) const {
    const TensorSymbol handle = graph_.at(symbol);
    switch (graph_.symbols()[symbol].kind) {
      case SymbolOrigin::constant:
        return graph_.value(handle);
      case SymbolOrigin::input:
        fail_graph("evaluate: input " + graph_.text(handle) + " is not bound");
      default:
        break;
    }
    const Tensor memory = allocate(graph_.form(handle));
    if (graph_.symbols()[symbol].kind == SymbolOrigin::zeros)
      fill(memory, 0);
    else
      poison(memory);
    return memory;
  }

  void run(std::uint32_t index) {
    const NodeInfo& node = graph_.nodes()[index];
    std::vector<Tensor> inputs(node.inputs.size());
    std::vector<Tensor> outputs(node.outputs.size());
    std::vector<const Tensor*> read(inputs.size());
    std::vector<Tensor*> written(outputs.size());
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      if (node.inputs[k] == kNoIndex) continue;
      inputs[k] = tensor(node.inputs[k]);
      read[k] = &inputs[k];
    }
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      if (node.outputs[k] == kNoIndex) continue;
      outputs[k] = tensor(node.outputs[k]);
      written[k] = &outputs[k];
    }
    try {
      switch (node.kind) {
        case NodeKind::command:
          return mote::run(*node.command, read, written, options_);
        case NodeKind::copy:
          return copy(inputs.front(), outputs.front());
        case NodeKind::fill:
          return fill(outputs.front(), node.value);
        case NodeKind::function:
          return node.function->run(inputs, outputs);
      }
    } catch (const StatusError& e) {
      throw StatusError(e.status(), graph_.text(graph_.node_at(index)) + ": " + e.what());
    }
  }

  const SymbolicGraph& graph_;
  const RunOptions& options_;
  std::vector<std::optional<Tensor>> tensors_;
};

}  // namespace

std::vector<Tensor> evaluate(const SymbolicGraph& graph, std::span<const TensorBinding> bindings,
                             std::span<const TensorSymbol> outputs, const RunOptions& options) {
  Evaluator evaluator(graph, bindings, options);
  evaluator.run(outputs);
  std::vector<Tensor> tensors;
  for (const TensorSymbol symbol : outputs) tensors.push_back(evaluator.tensor(symbol.index));
  return tensors;
}

std::vector<Tensor> evaluate(const SymbolicGraph& graph,
                             std::initializer_list<TensorBinding> bindings,
                             std::initializer_list<TensorSymbol> outputs,
                             const RunOptions& options) {
  return evaluate(graph, std::span(bindings.begin(), bindings.size()),
                  std::span(outputs.begin(), outputs.size()), options);
}

}  // namespace mote
