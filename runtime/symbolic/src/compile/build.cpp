// SPDX-License-Identifier: Apache-2.0
#include "compile/build.h"

#include <cstring>

#include "fail.h"
#include "mote/base/dlpack.h"
#include "mote/memory/plan.h"

namespace mote {
namespace {

class GraphBuilder {
 public:
  GraphBuilder(const SymbolicGraph& symbolic, const Steps& steps, const Blocks& blocks,
               const MemoryPlan& plan, const Tensor& arena)
      : symbolic_(symbolic), steps_(steps), blocks_(blocks), plan_(plan) {
    built_.tensors.resize(symbolic.symbol_count());
    built_.arena = arena;
  }

  BuiltGraph build(std::span<const std::uint32_t> kept) {
    for (const Step& step : steps_.steps) add(step);
    for (const std::uint32_t symbol : kept) tensor(symbol);
    return std::move(built_);
  }

 private:
  std::string name_of(std::uint32_t symbol) const { return symbolic_.text(symbolic_.at(symbol)); }

  /// Returns the tensor of a symbol, which is made when it is first asked for.
  GraphTensor tensor(std::uint32_t symbol) {
    if (symbol == kNoIndex) return {};
    GraphTensor& made = built_.tensors[symbol];
    if (made != GraphTensor{}) return made;
    const SymbolInfo& info = symbolic_.symbols()[symbol];
    if (info.root == symbol) return made = root(symbol);
    const GraphTensor of = tensor(info.root);
    const auto size = static_cast<std::int64_t>(size_of(info.form->dtype));
    // A view without elements begins nowhere.
    const std::int64_t begin = element_count(info.form) == 0 ? 0 : info.offset * size;
    return built_.tensors[symbol] = built_.graph.view(of, begin, info.form, name_of(symbol));
  }

  GraphTensor root(std::uint32_t symbol) {
    const SymbolInfo& info = symbolic_.symbols()[symbol];
    const TensorForm& form = info.form;
    switch (blocks_.owner[symbol]) {
      case Owner::caller:
        return built_.graph.placeholder(form, name_of(symbol));
      case Owner::plan: {
        const std::uint32_t block = blocks_.block[symbol];
        if (block == kNoIndex)
          throw InternalError("symbol " + name_of(symbol) + " has no block of the plan");
        auto* memory = static_cast<std::byte*>(built_.arena.data()) + plan_.offsets[block];
        return built_.graph.tensor(
            Tensor::over(memory, form.dtype, form.shape, form.strides, form.device),
            name_of(symbol));
      }
      case Owner::constant:
        break;
    }
    if (info.kind == SymbolOrigin::constant)
      return built_.graph.constant(symbolic_.value(symbolic_.at(symbol)), name_of(symbol));
    const Tensor zeros(form.dtype, form.shape);
    fill(zeros, 0);
    return built_.graph.constant(zeros, name_of(symbol));
  }

  std::vector<GraphTensor> tensors(std::span<const std::uint32_t> symbols) {
    std::vector<GraphTensor> list;
    for (const std::uint32_t symbol : symbols) list.push_back(tensor(symbol));
    return list;
  }

  void add(const Step& step) {
    switch (step.kind) {
      case StepKind::zeros:
        built_.graph.fill(tensor(step.index), 0, {.name = "zeros of " + name_of(step.index)});
        return;
      case StepKind::poison:
        add_poison(step.index);
        return;
      case StepKind::node:
        add_node(step.index);
        return;
    }
  }

  void add_poison(std::uint32_t symbol) {
    const auto poison = [](std::span<const Tensor>, std::span<const Tensor> writes) {
      const std::span<std::byte> memory = memory_of(writes[0].dl());
      std::memset(memory.data(), 0xFF, memory.size());  // NaN in all reals
    };
    built_.graph.call(poison, {}, {tensor(symbol)}, {.name = "poison of " + name_of(symbol)});
  }

  void add_node(std::uint32_t index) {
    const NodeInfo& node = symbolic_.nodes()[index];
    const std::vector<GraphTensor> inputs = tensors(node.inputs);
    const std::vector<GraphTensor> outputs = tensors(node.outputs);
    NodeOptions options{.name = node.name};
    if (options.name.empty())
      for (const std::uint32_t output : node.outputs)
        if (output != kNoIndex && options.name.empty()) options.name = name_of(output);
    switch (node.kind) {
      case NodeKind::command:
        built_.graph.add(*node.command, inputs, outputs, options);
        return;
      case NodeKind::copy:
        built_.graph.copy(inputs[0], outputs[0], options);
        return;
      case NodeKind::fill:
        built_.graph.fill(outputs[0], node.value, options);
        return;
      case NodeKind::function:
        built_.graph.call(node.function->run, inputs, outputs, options);
        return;
    }
  }

  const SymbolicGraph& symbolic_;
  const Steps& steps_;
  const Blocks& blocks_;
  const MemoryPlan& plan_;
  BuiltGraph built_;
};

}  // namespace

BuiltGraph build_graph(const SymbolicGraph& symbolic, const Steps& steps, const Blocks& blocks,
                       const MemoryPlan& plan, std::span<const std::uint32_t> kept,
                       const Tensor& arena) {
  return GraphBuilder(symbolic, steps, blocks, plan, arena).build(kept);
}

}  // namespace mote
