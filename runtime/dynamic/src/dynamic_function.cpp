// SPDX-License-Identifier: Apache-2.0
// Code that uses a dynamic graph, as a function node of static graphs. When the node is
// differentiated it keeps the trace of its code, and its way back differentiates that; gradients of
// this gradient run the code again.
#include <atomic>
#include <optional>
#include <utility>

#include "fail.h"
#include "gradient/tape.h"
#include "gradient/tape_store.h"
#include "mote/dynamic/dynamic_graph.h"
#include "mote/runtime/device.h"
#include "state.h"

namespace mote {

using trace::fail;

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

/// Code on a dynamic graph.
struct DynamicCode {
  std::string name;
  Context* context;
  DynamicGraph graph;
  VariableFunction function;
  std::atomic<int> readers{0};  ///< the functions that read what it keeps
};
using Code = std::shared_ptr<DynamicCode>;

/// The traced inputs and outputs of one run of the code.
struct KeptTrace {
  std::vector<Variable> inputs, outputs;
};

void copy_outputs(const std::string& name, std::span<const Variable> made,
                  std::span<const Tensor> outputs) {
  check_outputs(name, made, outputs);
  for (std::size_t k = 0; k < made.size(); ++k) copy(made[k].value(), outputs[k]);
}

/// Variables over the memory of a node's inputs, for a run of the code. What the code has kept of
/// them at its end gets memory of its own, as that of the node is another's afterwards.
class LentInputs {
 public:
  LentInputs(DynamicCode& code, std::span<const Tensor> inputs) : code_(code), inputs_(inputs) {
    for (const Tensor& input : inputs) given_.push_back(code.graph.constant(input));
  }
  std::span<const Variable> given() const { return given_; }
  void take_back() {
    given_.clear();
    trace::State& state = trace::State::of(code_.graph);
    const trace::Lock lock(state.mutex);
    state.give_own_memory(inputs_);
  }

 private:
  DynamicCode& code_;
  std::span<const Tensor> inputs_;
  std::vector<Variable> given_;
};

void run_code(DynamicCode& code, std::span<const Tensor> inputs, std::span<const Tensor> outputs) {
  const trace::Tracing tracing;
  LentInputs lent(code, inputs);
  try {
    copy_outputs(code.name, code.function(code.graph, lent.given()), outputs);
  } catch (...) {
    lent.take_back();
    throw;
  }
  lent.take_back();
}

/// Returns the elements in memory that nothing else has, row-major, where they are.
Tensor own_copy(const Tensor& x) {
  const std::optional<Device> device = Device::of(x.device());
  const Tensor own = device ? Tensor(x.dtype(), x.shape(), *device) : Tensor(x.dtype(), x.shape());
  copy(x, own);
  return own;
}

/// Runs the code and keeps its trace; the last output says where.
void run_and_keep(DynamicCode& code, std::span<const Tensor> inputs,
                  std::span<const Tensor> outputs) {
  const trace::Tracing tracing;
  auto kept = std::make_shared<KeptTrace>();
  for (const Tensor& input : inputs)
    kept->inputs.push_back(is_real(input.dtype()) ? code.graph.variable(own_copy(input))
                                                  : code.graph.constant(own_copy(input)));
  kept->outputs = code.function(code.graph, kept->inputs);
  copy_outputs(code.name, kept->outputs, outputs.first(outputs.size() - 1));
  const double token = TapeStore::of_run()->keep_object(std::move(kept));
  outputs.back().set({}, static_cast<std::int64_t>(token));
}

/// The gradients that a node computes.
struct Asked {
  std::size_t inputs;
  TensorMask wanted;
  std::vector<bool> given;  ///< by output: its gradient is there
};

/// Computes gradients by the trace that the last input names; gradients are before it.
void differentiate_kept(DynamicCode& code, const Asked& asked, std::span<const Tensor> inputs,
                        std::span<const Tensor> outputs) {
  const trace::Tracing tracing;
  const auto token = static_cast<double>(inputs.back().integer_at({}));
  const auto kept = std::static_pointer_cast<const KeptTrace>(
      TapeStore::of_run()->object(token, code.readers.load()));
  std::vector<Variable> of, wrt, seeds;
  for (std::size_t k = 0; k < kept->outputs.size() && k < asked.given.size(); ++k)
    if (asked.given[k]) of.push_back(kept->outputs[k]);
  for (std::size_t k = 0; k < asked.inputs; ++k)
    if (is_in(asked.wanted, k)) wrt.push_back(kept->inputs[k]);
  for (const Tensor& seed : inputs.subspan(asked.inputs, of.size()))
    seeds.push_back(code.graph.constant(seed));
  copy_outputs(code.name + ".grad", code.graph.backward(of, wrt, {.seeds = seeds}), outputs);
}

NamedFunction function_of(const Code& code, bool keeps);

/// Returns the function of inputs, gradients and, if there is one, a token.
NamedFunction gradient_function(const Code& code, const Asked& asked, bool has_token) {
  NamedFunction plain =
      dynamic_function(code->name + ".grad", *code->context,
                       gradient_of(code->function, asked.inputs, asked.wanted, asked.given));
  if (!has_token) return plain;
  if (!TrialScope::is_in_one()) ++code->readers;
  NamedFunction made = plain;
  made.keeping = {};
  made.run = [code, asked](std::span<const Tensor> inputs, std::span<const Tensor> outputs) {
    differentiate_kept(*code, asked, inputs, outputs);
  };
  made.gradient = [plain](SymbolicGraph& symbolic, const FunctionCall& call) {
    return plain.gradient(symbolic, {.inputs = call.inputs.first(call.inputs.size() - 1),
                                     .outputs = call.outputs,
                                     .gradients = call.gradients,
                                     .wanted = call.wanted});
  };
  made.shapes = [plain](std::span<const TensorForm> inputs) {
    return plain.shapes(inputs.first(inputs.size() - 1));
  };
  return made;
}

std::vector<TensorSymbol> add_gradient(const Code& code, SymbolicGraph& symbolic,
                                       const FunctionCall& call, bool has_token) {
  const std::size_t count = call.outputs.size() - (has_token ? 1 : 0);
  Asked asked{call.inputs.size(), 0, {}};
  std::vector<TensorSymbol> inputs(call.inputs.begin(), call.inputs.end());
  for (const TensorSymbol gradient : call.gradients.first(count)) {
    asked.given.push_back(static_cast<bool>(gradient));
    if (gradient) inputs.push_back(gradient);
  }
  std::vector<TensorSymbol> gradients(call.inputs.size());
  std::vector<TensorSymbol> outputs;
  for (std::size_t k = 0; k < call.inputs.size(); ++k) {
    // A view may repeat elements; its gradient does not.
    const TensorForm& given_form = symbolic.form(call.inputs[k]);
    const TensorForm form(given_form.dtype, given_form.shape,
                          checked_strides(given_form.dtype, given_form.shape), given_form.device);
    if (!is_in(call.wanted, k) || !is_real(form.dtype)) continue;
    asked.wanted |= mask_bit(k);
    gradients[k] = symbolic.tensor(form);
    outputs.push_back(gradients[k]);
  }
  if (has_token) inputs.push_back(call.outputs.back());
  symbolic.call(gradient_function(code, asked, has_token), inputs, outputs);
  return gradients;
}

std::vector<AxisList> shapes_of(const DynamicCode& code, std::span<const TensorForm> inputs) {
  DynamicGraph deferred(*code.context, {.deferred = true});
  std::vector<Variable> given;
  for (const TensorForm& form : inputs)
    given.push_back(deferred.zeros(
        {form.dtype, form.shape, checked_strides(form.dtype, form.shape), form.device}));
  std::vector<AxisList> shapes;
  for (const Variable& output : code.function(deferred, given))
    shapes.push_back(output.form().shape);
  return shapes;
}

NamedFunction function_of(const Code& code, bool keeps) {
  NamedFunction made;
  made.name = code->name;
  made.run = [code, keeps](std::span<const Tensor> inputs, std::span<const Tensor> outputs) {
    if (keeps)
      run_and_keep(*code, inputs, outputs);
    else
      run_code(*code, inputs, outputs);
  };
  made.gradient = [code, keeps](SymbolicGraph& symbolic, const FunctionCall& call) {
    return add_gradient(code, symbolic, call, keeps);
  };
  made.shapes = [code, keeps](std::span<const TensorForm> inputs) {
    std::vector<AxisList> shapes = shapes_of(*code, inputs);
    if (keeps) shapes.emplace_back();
    return shapes;
  };
  if (!keeps) made.keeping = [code] { return function_of(code, true); };
  return made;
}

}  // namespace

NamedFunction dynamic_function(std::string name, Context& context, VariableFunction function) {
  if (!function) fail(name + ": there is no function");
  const Code code(
      new DynamicCode{std::move(name), &context, DynamicGraph(context), std::move(function)});
  return function_of(code, false);
}

}  // namespace mote
