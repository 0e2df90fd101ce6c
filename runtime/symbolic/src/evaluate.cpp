// SPDX-License-Identifier: Apache-2.0
// Evaluates a graph node by node: each root gets memory of its own, each view is a view of it.
#include "mote/symbolic/evaluate.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "device_index.h"
#include "fail.h"
#include "mote/base/dtype.h"
#include "mote/graph/control.h"
#include "mote/runtime/device.h"
#include "mote/runtime/error_under_way.h"
#include "mote/symbolic/control.h"
#include "mote/symbolic/dependencies.h"

namespace mote {
namespace {

/// Returns a tensor of that form that owns its memory, on its device.
Tensor allocate(const TensorForm& form) {
  const std::optional<Device> device = Device::of(form.device);
  if (!device && !form.is_on_host())
    fail_graph("evaluate: no plug-in that was loaded offers the device of " + to_string(form),
               MOTE_UNSUPPORTED);
  if (form.is_row_major())
    return device ? Tensor(form.dtype, form.shape, *device) : Tensor(form.dtype, form.shape);
  const auto size = static_cast<std::int64_t>(size_of(form.dtype));
  const AxisList all = {form.bytes() / size};
  return Tensor::within(device ? Tensor(form.dtype, all, *device) : Tensor(form.dtype, all), 0,
                        form);
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
      : graph_(graph),
        options_(options),
        tensors_(graph.symbol_count()),
        is_done_(graph.node_count()),
        owner_(loop_owner()) {
    for (const auto& [symbol, tensor] : bindings) bind(symbol, tensor);
  }

  void run(std::span<const TensorSymbol> outputs) {
    const std::vector<bool> needed = ancestors(graph_, outputs);
    for (const std::uint32_t node : topological_order(graph_)) {
      if (!needed[node] || is_done_[node]) continue;
      run(node);
      is_done_[node] = true;
    }
  }

  /// Runs the functions without outputs that have not run, and what they need.
  void run_effects() {
    std::vector<TensorSymbol> asked;
    std::vector<std::uint32_t> effects;
    for (std::uint32_t k = 0; k < graph_.node_count(); ++k) {
      const NodeInfo& node = graph_.nodes()[k];
      const auto is_absent = [](std::uint32_t output) { return output == kNoIndex; };
      if (node.removed || node.kind != NodeKind::function || is_done_[k] ||
          !std::ranges::all_of(node.outputs, is_absent))
        continue;
      effects.push_back(k);
      for (const std::uint32_t input : node.inputs)
        if (input != kNoIndex) asked.push_back(graph_.at(input));
    }
    run(asked);
    for (const std::uint32_t k : effects) run(k);
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
    if (tensor.dtype() != form.dtype || tensor.shape() != form.shape ||
        !is_same_device(tensor.device(), form.device))
      fail_graph("evaluate: " + graph_.text(symbol) + " is " + to_string(form) + ", got " +
                 to_string(tensor.form()));
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
        case NodeKind::control:
          return node.control->is_loop ? run_while(node, inputs, outputs)
                                       : run_case_of(node, inputs, outputs);
      }
    } catch (...) {
      const auto [status, what] = error_under_way();
      throw StatusError(status, graph_.text(graph_.node_at(index)) + ": " + what);
    }
  }

  /// Returns copies of what a graph of the node is given.
  static std::vector<TensorBinding> copies(const SymbolicGraph& sub,
                                           std::span<const Tensor> given) {
    const std::vector<std::uint32_t> inputs = input_indices(sub);
    std::vector<TensorBinding> bindings;
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      const Tensor own = allocate(sub.symbols()[inputs[k]].form);
      copy(given[k], own);
      bindings.emplace_back(sub.at(inputs[k]), own);
    }
    return bindings;
  }

  void run_while(const NodeInfo& node, const std::vector<Tensor>& inputs,
                 const std::vector<Tensor>& outputs) const {
    const ControlInfo& control = *node.control;
    std::vector<Tensor> state = inputs;
    std::vector<std::int64_t> counters(loop_counters().begin(), loop_counters().end());
    counters.push_back(0);
    const LoopScope scope(counters, owner_);
    if (control.has_counter) state.emplace_back(DType::i64, AxisList{});
    for (std::int64_t count = 0;; ++count) {
      counters.back() = count;
      if (control.has_counter) state.back().set({}, count);
      const SymbolicGraph& body = control.graphs[0];
      const std::vector<TensorSymbol> next = body.outputs();
      Evaluator iteration(body, copies(body, state), options_);
      iteration.run(std::span(&next.back(), 1));
      if (decision_of(iteration.tensor(next.back().index)) == 0) break;
      if (count >= control.limit)
        fail_graph("the condition holds after " + std::to_string(count) +
                       " iterations, and the limit is " + std::to_string(control.limit),
                   MOTE_FAILED);
      iteration.run(next);
      iteration.run_effects();
      for (std::size_t k = 0; k + 1 < next.size(); ++k) state[k] = iteration.tensor(next[k].index);
    }
    for (std::size_t k = 0; k < outputs.size(); ++k) copy(state[k], outputs[k]);
  }

  void run_case_of(const NodeInfo& node, const std::vector<Tensor>& inputs,
                   const std::vector<Tensor>& outputs) const {
    const ControlInfo& control = *node.control;
    const std::int64_t index = decision_of(inputs[0]);
    if (index >= static_cast<std::int64_t>(control.graphs.size()))
      fail_graph("there is no branch " + std::to_string(index) + ", it has " +
                 std::to_string(control.graphs.size()));
    if (index < 0) {
      for (std::size_t k = 0; k < outputs.size(); ++k) {
        if (node.inputs[1 + k] == kNoIndex)
          fail_graph("no branch has the index " + std::to_string(index) +
                     ", and nothing stands for output " + std::to_string(k));
        copy(inputs[1 + k], outputs[k]);
      }
      return;
    }
    const auto branch = static_cast<std::size_t>(index);
    const SymbolicGraph& graph = control.graphs[branch];
    Evaluator chosen(graph, copies(graph, std::span(inputs).subspan(first_input(node, branch))),
                     options_);
    const std::vector<TensorSymbol> given = graph.outputs();
    chosen.run(given);
    chosen.run_effects();
    for (std::size_t k = 0; k < outputs.size(); ++k)
      copy(chosen.tensor(given[k].index), outputs[k]);
  }

  static std::int64_t decision_of(const Tensor& tensor) {
    if (tensor.device().device_type == kDLCPU) return tensor.reshape({}).integer_at({});
    const Tensor fetched(tensor.dtype(), tensor.shape());
    copy(tensor, fetched);
    return fetched.reshape({}).integer_at({});
  }

  const SymbolicGraph& graph_;
  const RunOptions& options_;
  std::vector<std::optional<Tensor>> tensors_;
  std::vector<bool> is_done_;  ///< by node
  std::uint64_t owner_;
};

}  // namespace

std::vector<Tensor> evaluate(const SymbolicGraph& graph, std::span<const TensorBinding> bindings,
                             std::span<const TensorSymbol> outputs, const RunOptions& options) {
  const LoopOwner owner;
  const LoopScope scope({}, owner.number());
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
