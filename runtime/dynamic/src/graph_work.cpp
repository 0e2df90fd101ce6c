// SPDX-License-Identifier: Apache-2.0
#include "graph_work.h"

#include <algorithm>
#include <atomic>
#include <unordered_set>
#include <utility>

#include "mote/symbolic/control.h"
#include "mote/symbolic/dependencies.h"

namespace mote::trace {
namespace {

std::uint64_t next_id() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

bool has_function(const SymbolicGraph& graph) {
  return std::ranges::any_of(graph.nodes(), [](const NodeInfo& node) {
    if (node.removed) return false;
    return node.kind == NodeKind::function || node.kind == NodeKind::control;
  });
}

/// Returns symbols of the same values, each in memory that nothing else is in: what is an input, a
/// constant, a view, written by parts, or asked for twice, is copied.
std::vector<TensorSymbol> in_own_memory(SymbolicGraph& graph,
                                        const std::vector<TensorSymbol>& outputs) {
  std::unordered_set<std::uint32_t> taken;
  std::vector<TensorSymbol> own;
  for (const TensorSymbol symbol : outputs) {
    const SymbolInfo info = graph.info(symbol);
    const bool is_plain = info.kind == SymbolOrigin::tensor && info.producer != kNoIndex &&
                          graph.nodes()[info.producer].kind == NodeKind::command;
    if (is_plain && taken.insert(symbol.index).second) {
      own.push_back(symbol);
      continue;
    }
    const TensorForm& form = *info.form;
    // Elements of a view may lie far apart, in memory that is not theirs.
    const TensorSymbol copy =
        graph.tensor(form.is_row_major() || info.kind == SymbolOrigin::tensor
                         ? form
                         : TensorForm(form.dtype, form.shape,
                                      checked_strides(form.dtype, form.shape), form.device));
    graph.copy(symbol, copy);
    own.push_back(copy);
  }
  return own;
}

}  // namespace

GraphWork::GraphWork(SymbolicGraph of, std::vector<TensorSymbol> in, std::vector<TensorSymbol> out)
    : id(next_id()),
      graph(std::move(of)),
      inputs(std::move(in)),
      outputs(in_own_memory(graph, out)),
      asked(std::move(out)),
      has_functions(has_function(graph)),
      visible_outputs(outputs.size()) {
  graph.set_outputs(outputs);
}

RunningGraph::RunningGraph(GraphWork& of, Context& context)
    : work(of), compiled(std::move(of.compiled)) {
  if (compiled != nullptr) return;
  compiled = std::make_unique<CompiledWork>(CompiledWork{
      compile(work.graph, {.outputs = work.outputs, .bound = work.outputs, .describes = false},
              context),
      {}});
  compiled->bound.resize(work.inputs.size() + work.outputs.size());
  const CompileReport& report = compiled->executable.report();
  work.planned_bytes = report.arena_bytes + report.workspace_bytes;
  is_new_ = true;
}

void RunningGraph::run(std::span<const Tensor* const> inputs, std::span<const Tensor> outputs) {
  // The executable keeps what is bound to it: memory without an owner, which outlives only the run.
  const auto bind = [&](TensorSymbol symbol, const Tensor& tensor, const void*& bound) {
    if (bound == tensor.data() && bound != nullptr) return;
    bound = nullptr;
    compiled->executable.bind(symbol, Tensor::over(tensor.data(), tensor.dtype(), tensor.shape(),
                                                   tensor.strides(), tensor.device()));
    bound = tensor.data();
  };
  for (std::size_t k = 0; k < inputs.size(); ++k)
    if (inputs[k] != nullptr) bind(work.inputs[k], *inputs[k], compiled->bound[k]);
  for (std::size_t k = 0; k < outputs.size(); ++k)
    bind(work.outputs[k], outputs[k], compiled->bound[inputs.size() + k]);
  compiled->executable.run();
}

RunningGraph::~RunningGraph() {
  if (work.compiled == nullptr) work.compiled = std::move(compiled);
}

}  // namespace mote::trace
