// SPDX-License-Identifier: Apache-2.0
// Static graphs in dynamic ones.
#include <algorithm>
#include <atomic>
#include <utility>

#include "control/splice.h"
#include "fail.h"
#include "gradient/tape.h"
#include "mote/symbolic/control.h"
#include "mote/symbolic/dependencies.h"
#include "mote/symbolic/gradient.h"
#include "state.h"

namespace mote {

using trace::fail;
using trace::Lock;
using trace::Ref;
using trace::Value;

struct StaticFunction::Shared {
  SymbolicGraph graph;
  std::uint64_t id;
};

namespace {

std::uint64_t next_function() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

std::vector<TensorSymbol> inputs_of(const SymbolicGraph& graph) {
  std::vector<TensorSymbol> inputs;
  for (const std::uint32_t k : input_indices(graph)) inputs.push_back(graph.at(k));
  return inputs;
}

/// Returns the graph for inputs of these forms; a symbol has the same index.
SymbolicGraph with_inputs(const SymbolicGraph& graph, std::span<Value* const> values) {
  SymbolicGraph complete(graph);
  const std::vector<TensorSymbol> inputs = inputs_of(graph);
  std::vector<std::pair<TensorSymbol, TensorForm>> changed;
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    const TensorForm& form = values[k]->form->form;
    const TensorSymbol input = complete.at(inputs[k].index);
    if (!graph.info(inputs[k]).has_form)
      complete.set_form(input, form);
    else if (graph.form(inputs[k]) != form)
      changed.emplace_back(input, form);
  }
  return changed.empty() ? complete : complete.with_forms(changed);
}

/// True if the graph has loops, branches or functions that keep something when it is
/// differentiated.
bool may_keep(const SymbolicGraph& graph) {
  return std::ranges::any_of(graph.nodes(), [](const NodeInfo& node) {
    const bool is_code = node.kind == NodeKind::function && node.function->keeping;
    return !node.removed && (is_code || node.kind == NodeKind::control);
  });
}

/// A graph, and the tensors between its inputs and outputs that the gradient reads.
struct KeepingGraph {
  SymbolicGraph graph;
  std::vector<TensorSymbol> read;
  bool has_tape = false;      ///< some of them are tokens
  TensorMask read_outputs{};  ///< the outputs that the gradient reads
};

/// Returns the part of the graph that outputs and the tensors need.
KeepingGraph way_forward(const SymbolicGraph& graph, const std::vector<TensorSymbol>& read) {
  KeepingGraph made{SymbolicGraph(graph.name(), graph.registry()), {}, !read.empty()};
  std::vector<TensorSymbol> symbols(graph.symbol_count());
  for (const std::uint32_t k : input_indices(graph))
    symbols[k] = made.graph.input(graph.symbols()[k].name, graph.symbols()[k].form);
  std::vector<TensorSymbol> asked = graph.outputs();
  asked.insert(asked.end(), read.begin(), read.end());
  const std::vector<bool> needed = ancestors(graph, asked);
  symbols = splice(
      made.graph, graph, std::move(symbols), [&](std::uint32_t node) { return needed[node]; },
      asked);
  std::vector<TensorSymbol> outputs;
  for (const TensorSymbol output : graph.outputs()) outputs.push_back(symbols[output.index]);
  made.graph.set_outputs(outputs);
  for (const TensorSymbol tensor : read) made.read.push_back(symbols[tensor.index]);
  return made;
}

/// Adds what the gradient reads. Loops get tapes, whose tokens are such tensors.
KeepingGraph with_read_tensors(SymbolicGraph graph, std::span<Value* const> values) {
  SymbolicGraph copy(graph);
  std::vector<TensorSymbol> of, wrt;
  for (const TensorSymbol output : copy.outputs())
    if (is_real(copy.form(output).dtype)) of.push_back(output);
  const std::vector<TensorSymbol> inputs = inputs_of(copy);
  for (std::size_t k = 0; k < inputs.size(); ++k)
    if (values[k]->is_traced) wrt.push_back(inputs[k]);
  if (of.empty() || wrt.empty()) return {std::move(graph), {}, false};
  std::vector<TensorSymbol> gradients;
  try {
    const TrialScope trial;  // other functions will read the tapes
    gradients = gradient(copy, of, wrt);
  } catch (const StatusError& error) {
    if (error.status() != MOTE_UNSUPPORTED) throw;
    return {std::move(graph), {}, false};  // to ask for the gradient is the error
  }
  std::vector<TensorSymbol> read;
  TensorMask read_outputs{};
  for (const SavedTensor& tensor : saved(copy, of, gradients)) {
    const SymbolInfo& info = copy.info(tensor.tensor);
    const bool is_read = std::ranges::any_of(tensor.readers, &SavedReader::reads_data);
    if (is_read && info.kind == SymbolOrigin::tensor && info.producer != kNoIndex &&
        !copy.is_output(tensor.tensor))
      read.push_back(tensor.tensor);
    for (std::size_t k = 0; is_read && k < copy.outputs().size(); ++k)
      if (copy.outputs()[k] == tensor.tensor) read_outputs |= mask_bit(k);
  }
  if (may_keep(graph)) {
    KeepingGraph made = way_forward(copy, read);
    made.read_outputs = read_outputs;
    return made;
  }
  for (TensorSymbol& tensor : read) tensor = graph.at(tensor.index);
  return {std::move(graph), std::move(read), false, read_outputs};
}

}  // namespace

StaticFunction::StaticFunction(SymbolicGraph graph) {
  if (graph.outputs().empty())
    fail("static function " + graph.name() + ": the graph has no outputs");
  shared_ = std::make_shared<Shared>(std::move(graph), next_function());
}

const SymbolicGraph& StaticFunction::graph() const { return shared_->graph; }

std::vector<Variable> DynamicGraph::run(const StaticFunction& function,
                                        std::initializer_list<VariableRef> inputs) {
  return run(function, std::span(inputs.begin(), inputs.size()));
}

std::vector<Variable> DynamicGraph::run(const StaticFunction& function,
                                        std::span<const VariableRef> inputs) {
  const SymbolicGraph& graph = function.shared_->graph;
  const std::string text = "static function " + graph.name();
  Lock lock(state_->mutex);
  state_->forget_on_the_way();
  const std::vector<TensorSymbol> symbols = inputs_of(graph);
  if (symbols.size() != inputs.size())
    fail(text + ": it has " + std::to_string(symbols.size()) + " inputs, got " +
         std::to_string(inputs.size()));
  std::vector<Value*> values;
  trace::Structure structure{trace::kStatic, function.shared_->id};
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    Value* value = state_->operand(inputs[k].get(), text.c_str());
    if (value == nullptr) fail(text + ": input " + graph.text(symbols[k]) + " is left out");
    if (graph.info(symbols[k]).form->dtype != value->form->form.dtype)
      fail(text + ": input " + graph.text(symbols[k]) + " must be of " +
           std::string(name(graph.info(symbols[k]).form->dtype)) + ", got " +
           to_string(value->form->form));
    values.push_back(value);
    structure.push_back(value->form->id);
    structure.push_back(value->is_traced ? 1 : 0);
  }
  const bool is_traced = state_->traces(values);
  const bool keeps = is_traced && !state_->defers(values);
  structure.push_back(keeps ? 1 : 0);
  const trace::CachedGraph* known = state_->graphs.find(structure);
  if (known == nullptr) {
    SymbolicGraph complete = with_inputs(graph, values);
    std::vector<TensorSymbol> outputs = complete.outputs();
    const std::size_t visible = outputs.size();
    bool has_tape = false;
    TensorMask read_outputs{};
    if (keeps) {
      KeepingGraph keeping = with_read_tensors(std::move(complete), values);
      complete = std::move(keeping.graph);
      has_tape = keeping.has_tape;
      read_outputs = keeping.read_outputs;
      outputs = complete.outputs();
      outputs.insert(outputs.end(), keeping.read.begin(), keeping.read.end());
    }
    const std::vector<TensorSymbol> given = inputs_of(complete);
    auto work = std::make_shared<trace::GraphWork>(std::move(complete), given, outputs);
    work->has_tape = has_tape;
    work->visible_outputs = visible;
    work->read_outputs = read_outputs;
    known = &state_->graphs.add(std::move(structure), {.work = std::move(work)});
  }
  const std::shared_ptr<trace::GraphWork> work = known->work;
  std::vector<Variable> variables;
  for (const Ref<Value>& result : state_->run_graph(lock, work, values, is_traced))
    variables.push_back(state_->give(result));
  return variables;
}

}  // namespace mote
