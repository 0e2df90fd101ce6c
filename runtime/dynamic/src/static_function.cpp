// SPDX-License-Identifier: Apache-2.0
// Static graphs in dynamic ones, and the other way round.
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

bool has_control(const SymbolicGraph& graph) {
  return std::ranges::any_of(graph.nodes(), [](const NodeInfo& node) {
    return !node.removed && node.kind == NodeKind::control;
  });
}

/// A graph, and the tensors between its inputs and outputs that the gradient reads.
struct KeepingGraph {
  SymbolicGraph graph;
  std::vector<TensorSymbol> read;
};

/// Returns the part of the graph that outputs and the tensors need.
KeepingGraph way_forward(const SymbolicGraph& graph, const std::vector<TensorSymbol>& read) {
  KeepingGraph made{SymbolicGraph(graph.name(), graph.registry()), {}};
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
  if (of.empty() || wrt.empty()) return {std::move(graph), {}};
  std::vector<TensorSymbol> gradients;
  try {
    const TrialScope trial;  // other functions will read the tapes
    gradients = gradient(copy, of, wrt);
  } catch (const StatusError& error) {
    if (error.status() != MOTE_UNSUPPORTED) throw;
    return {std::move(graph), {}};  // to ask for the gradient is the error
  }
  std::vector<TensorSymbol> read;
  for (const SavedTensor& tensor : saved(copy, of, gradients)) {
    const SymbolInfo& info = copy.info(tensor.tensor);
    const bool is_read = std::ranges::any_of(tensor.readers, &SavedReader::reads_data);
    if (is_read && info.kind == SymbolOrigin::tensor && info.producer != kNoIndex &&
        !copy.is_output(tensor.tensor))
      read.push_back(tensor.tensor);
  }
  if (has_control(copy)) return way_forward(copy, read);
  for (TensorSymbol& tensor : read) tensor = graph.at(tensor.index);
  return {std::move(graph), std::move(read)};
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
    if (keeps) {
      KeepingGraph keeping = with_read_tensors(std::move(complete), values);
      complete = std::move(keeping.graph);
      outputs = complete.outputs();
      outputs.insert(outputs.end(), keeping.read.begin(), keeping.read.end());
    }
    const bool has_tape = outputs.size() > visible && has_control(complete);
    const std::vector<TensorSymbol> given = inputs_of(complete);
    auto work = std::make_shared<trace::GraphWork>(std::move(complete), given, outputs);
    work->has_tape = has_tape;
    work->visible_outputs = visible;
    known = &state_->graphs.add(std::move(structure), {.work = std::move(work)});
  }
  const std::shared_ptr<trace::GraphWork> work = known->work;
  std::vector<Variable> variables;
  for (const Ref<Value>& result : state_->run_graph(lock, work, values, is_traced))
    variables.push_back(state_->give(result));
  return variables;
}

namespace {

using VariableFunction =
    std::function<std::vector<Variable>(DynamicGraph& graph, std::span<const Variable> inputs)>;

/// Returns the function of inputs and gradients of outputs that computes the gradients with respect
/// to the inputs in `wanted`. Bit k of `given`: the gradient of output k is the next input.
VariableFunction gradient_of(VariableFunction function, std::size_t input_count, TensorMask wanted,
                             std::vector<bool> given) {
  return [=](DynamicGraph& graph, std::span<const Variable> all) {
    std::vector<Variable> inputs(all.begin(),
                                 all.begin() + static_cast<std::ptrdiff_t>(input_count));
    std::vector<Variable> wrt;
    for (std::size_t k = 0; k < input_count; ++k) {
      if (!is_in(wanted, k)) continue;
      if (!inputs[k].is_traced()) inputs[k] = graph.variable(inputs[k].value());
      wrt.push_back(inputs[k]);
    }
    const std::vector<Variable> outputs = function(graph, inputs);
    std::vector<Variable> of;
    for (std::size_t k = 0; k < outputs.size() && k < given.size(); ++k)
      if (given[k]) of.push_back(outputs[k]);
    return graph.backward(
        of, wrt,
        {.seeds = {all.begin() + static_cast<std::ptrdiff_t>(input_count), all.end()},
         .is_traced = true});
  };
}

void check_outputs(const std::string& name, std::span<const Variable> made,
                   std::span<const Tensor> outputs) {
  if (made.size() != outputs.size())
    fail(name + ": it must return " + std::to_string(outputs.size()) + " variables, got " +
         std::to_string(made.size()));
  for (std::size_t k = 0; k < made.size(); ++k) {
    const TensorForm form = made[k].form();
    if (form.dtype != outputs[k].dtype() || form.shape != outputs[k].shape())
      fail(name + ": output " + std::to_string(k) + " must be " + describe(outputs[k]) + ", got " +
           to_string(form));
  }
}

}  // namespace

NamedFunction dynamic_function(std::string name, Context& context, VariableFunction function) {
  const auto graph = std::make_shared<DynamicGraph>(context);
  NamedFunction made;
  made.name = name;
  made.run = [=](std::span<const Tensor> inputs, std::span<const Tensor> outputs) {
    const trace::Tracing tracing;
    std::vector<Variable> given;
    for (const Tensor& input : inputs) given.push_back(graph->constant(input));
    const std::vector<Variable> results = function(*graph, given);
    check_outputs(name, results, outputs);
    for (std::size_t k = 0; k < results.size(); ++k) copy(results[k].value(), outputs[k]);
  };
  made.gradient = [=, &context](SymbolicGraph& symbolic, const FunctionCall& call) {
    std::vector<TensorSymbol> inputs(call.inputs.begin(), call.inputs.end());
    std::vector<bool> given;
    for (const TensorSymbol gradient : call.gradients) {
      given.push_back(static_cast<bool>(gradient));
      if (gradient) inputs.push_back(gradient);
    }
    std::vector<TensorSymbol> gradients(call.inputs.size());
    std::vector<TensorSymbol> outputs;
    TensorMask wanted = 0;
    for (std::size_t k = 0; k < call.inputs.size(); ++k) {
      // A view may repeat elements; its gradient does not.
      const TensorForm& given_form = symbolic.form(call.inputs[k]);
      const TensorForm form(given_form.dtype, given_form.shape,
                            checked_strides(given_form.dtype, given_form.shape), given_form.device);
      if (!is_in(call.wanted, k) || !is_real(form.dtype)) continue;
      wanted |= mask_bit(k);
      gradients[k] = symbolic.tensor(form);
      outputs.push_back(gradients[k]);
    }
    symbolic.call(dynamic_function(name + ".grad", context,
                                   gradient_of(function, call.inputs.size(), wanted, given)),
                  inputs, outputs);
    return gradients;
  };
  made.shapes = [=, &context](std::span<const TensorForm> inputs) {
    DynamicGraph deferred(context, {.deferred = true});
    std::vector<Variable> given;
    for (const TensorForm& form : inputs)
      given.push_back(deferred.zeros(
          {form.dtype, form.shape, checked_strides(form.dtype, form.shape), form.device}));
    std::vector<AxisList> shapes;
    for (const Variable& output : function(deferred, given)) shapes.push_back(output.form().shape);
    return shapes;
  };
  return made;
}

}  // namespace mote
