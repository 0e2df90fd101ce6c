// SPDX-License-Identifier: Apache-2.0
// The functions of mote/mote_dynamic.h that call the caller's code: on tensors, with a gradient,
// and on variables.
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "c/handles.h"
#include "c/objects.h"
#include "c/symbols.h"
#include "mote/base/tensor_mask.h"

using namespace mote;     // NOLINT: C functions follow
using namespace mote::c;  // NOLINT

namespace {

/// The argument of the caller's code, which is released when nothing can call that any more.
class CodeArgument {
 public:
  explicit CodeArgument(void* argument) : argument_(argument) {}
  ~CodeArgument() {
    if (release_ != nullptr) release_(argument_);
  }
  CodeArgument(const CodeArgument&) = delete;
  CodeArgument& operator=(const CodeArgument&) = delete;
  void* get() const { return argument_; }
  /// From now on it is released; before, on an error, it is still the caller's.
  void release_with(void (*release)(void*)) { release_ = release; }

 private:
  void* argument_;
  void (*release_)(void*) = nullptr;
};

struct TensorCode {
  std::string name;
  mote_node_work work;
  mote_graph_function_gradient gradient;
  std::shared_ptr<CodeArgument> argument;
};

void check_status(mote_status status, const std::string& name) {
  if (status != MOTE_OK) throw StatusError(status, name + ": the caller's code failed");
}

// A Tensor is its mote_tensor (asserted in tensor.h).
mote_tensor* tensor_handle(const Tensor& tensor) {
  return reinterpret_cast<mote_tensor*>(const_cast<Tensor*>(&tensor));  // NOLINT
}

/// Makes the node that computes the gradients of some inputs from all inputs and outputs and from
/// the gradients of some outputs.
NamedFunction gradient_node(const TensorCode& code, std::size_t input_count,
                            std::vector<bool> has_seed, std::vector<bool> is_wanted) {
  const auto run = [code, input_count, has_seed, is_wanted](std::span<const Tensor> reads,
                                                            std::span<const Tensor> writes) {
    std::vector<const mote_tensor*> inputs, outputs, seeds;
    std::vector<mote_tensor*> gradients;
    std::size_t next = 0;
    for (std::size_t k = 0; k < input_count; ++k) inputs.push_back(tensor_handle(reads[next++]));
    for (std::size_t k = 0; k < has_seed.size(); ++k)
      outputs.push_back(tensor_handle(reads[next++]));
    for (const bool has : has_seed) seeds.push_back(has ? tensor_handle(reads[next++]) : nullptr);
    next = 0;
    for (const bool wanted : is_wanted)
      gradients.push_back(wanted ? tensor_handle(writes[next++]) : nullptr);
    check_status(code.gradient(code.argument->get(), inputs.data(), inputs.size(), outputs.data(),
                               seeds.data(), outputs.size(), gradients.data()),
                 code.name + ".grad");
  };
  return {.name = code.name + ".grad", .run = run};
}

std::vector<TensorSymbol> add_gradient(const TensorCode& code, SymbolicGraph& graph,
                                       const FunctionCall& call) {
  std::vector<TensorSymbol> reads(call.inputs.begin(), call.inputs.end());
  reads.insert(reads.end(), call.outputs.begin(), call.outputs.end());
  std::vector<bool> has_seed, is_wanted;
  for (const TensorSymbol seed : call.gradients) {
    has_seed.push_back(static_cast<bool>(seed));
    if (seed) reads.push_back(seed);
  }
  std::vector<TensorSymbol> gradients(call.inputs.size()), writes;
  for (std::size_t k = 0; k < call.inputs.size(); ++k) {
    const TensorForm form = graph.form(call.inputs[k]);
    is_wanted.push_back(is_in(call.wanted, k) && is_real(form.dtype));
    if (!is_wanted.back()) continue;
    gradients[k] = graph.tensor(
        {form.dtype, form.shape, checked_strides(form.dtype, form.shape), form.device});
    writes.push_back(gradients[k]);
  }
  if (!writes.empty())
    graph.call(gradient_node(code, call.inputs.size(), std::move(has_seed), std::move(is_wanted)),
               reads, writes);
  return gradients;
}

NamedFunction named_function(const TensorCode& code) {
  NamedFunction made;
  made.name = code.name;
  made.run = [code](std::span<const Tensor> reads, std::span<const Tensor> writes) {
    std::vector<const mote_tensor*> inputs;
    std::vector<mote_tensor*> outputs;
    for (const Tensor& tensor : reads) inputs.push_back(tensor_handle(tensor));
    for (const Tensor& tensor : writes) outputs.push_back(tensor_handle(tensor));
    check_status(code.work(code.argument->get(), inputs.data(), inputs.size(), outputs.data(),
                           outputs.size()),
                 code.name);
  };
  if (code.gradient != nullptr)
    made.gradient = [code](SymbolicGraph& graph, const FunctionCall& call) {
      return add_gradient(code, graph, call);
    };
  return made;
}

/// Masks say which gradients are asked for.
void check_input_count(const std::string& name, std::size_t count) {
  if (count > static_cast<std::size_t>(kMaxMasked))
    throw StatusError(MOTE_UNSUPPORTED, name + ": a function has at most " +
                                            std::to_string(kMaxMasked) + " inputs, got " +
                                            std::to_string(count));
}

/// Returns symbols, of which none may be left out.
std::vector<TensorSymbol> function_symbols(const mote_symbol* symbols, std::size_t count,
                                           const char* what) {
  std::vector<TensorSymbol> list = symbols_of(symbols, count, what);
  for (const TensorSymbol symbol : list)
    if (!symbol) throw StatusError(MOTE_INVALID, std::string(what) + ": a symbol is missing");
  return list;
}

}  // namespace

namespace mote::c {

std::vector<Variable> run_work(mote_dynamic_work work, void* argument, const char* name,
                               DynamicGraph& graph, std::span<const Variable> inputs,
                               std::size_t output_count) {
  mote_dynamic handle{graph};
  std::vector<mote_variable> given_variables;
  given_variables.reserve(inputs.size());
  std::vector<const mote_variable*> pointers;
  for (const Variable& input : inputs) {
    given_variables.push_back({input});
    pointers.push_back(input ? &given_variables.back() : nullptr);
  }
  std::vector<mote_variable*> made(output_count);
  std::vector<Variable> outputs(output_count);
  const mote_status status =
      work(argument, &handle, pointers.data(), pointers.size(), made.data(), made.size());
  for (std::size_t k = 0; k < output_count; ++k) {
    if (made[k] != nullptr) outputs[k] = made[k]->variable;
    mote_variable_free(made[k]);
  }
  check_status(status, name);
  return outputs;
}

}  // namespace mote::c

mote_status mote_graph_function_create(const char* name, mote_node_work work,
                                       mote_graph_function_gradient gradient, void* argument,
                                       void (*release)(void* argument),
                                       mote_graph_function** function) {
  return guarded(__func__, [&] {
    auto& result = given(function, "function");
    if (work == nullptr) throw StatusError(MOTE_INVALID, "work is NULL");
    const std::string text = &given(name, "name");
    const auto kept = std::make_shared<CodeArgument>(argument);
    auto made = std::make_unique<mote_graph_function>();
    made->function =
        std::make_shared<const NamedFunction>(named_function({text, work, gradient, kept}));
    kept->release_with(release);
    result = made.release();
  });
}

void mote_graph_function_free(mote_graph_function* function) { delete function; }

mote_status mote_dynamic_call(mote_dynamic* graph, const mote_graph_function* function,
                              const mote_variable* const* inputs, size_t input_count,
                              const mote_form* forms, mote_variable** outputs,
                              size_t output_count) {
  return guarded(__func__, [&] {
    DynamicGraph& in = given(graph, "graph").graph;
    const auto& what = given(function, "function").function;
    if (output_count > 0) {
      given(forms, "forms");
      given(outputs, "outputs");
    }
    check_input_count(what->name, input_count);
    const std::vector<VariableRef> variables = references(inputs, input_count, "inputs");
    for (const VariableRef& variable : variables)
      if (variable.get() == nullptr)
        throw StatusError(MOTE_INVALID, what->name + ": no input may be left out");
    std::vector<TensorForm> asked;
    for (const mote_form& form : std::span(forms, output_count))
      asked.emplace_back(dtype_of(form.dtype), axes_of(form.rank, form.shape, "a form's shape"));
    const std::vector<Variable> results = in.call(what, variables, asked);
    NewHandles(results).give(outputs);
  });
}

mote_status mote_symbolic_call_function(mote_symbolic* graph, const mote_graph_function* function,
                                        const mote_symbol* inputs, size_t input_count,
                                        const mote_symbol* outputs, size_t output_count) {
  return guarded(__func__, [&] {
    SymbolicGraph& in = given(graph, "graph").graph;
    const NamedFunction& what = *given(function, "function").function;
    check_input_count(what.name, input_count);
    in.call(what, function_symbols(inputs, input_count, "inputs"),
            function_symbols(outputs, output_count, "outputs"));
  });
}

mote_status mote_symbolic_call_dynamic(mote_symbolic* graph, mote_context* context,
                                       const char* name, mote_dynamic_work work, void* argument,
                                       void (*release)(void* argument), const mote_symbol* inputs,
                                       size_t input_count, const mote_symbol* outputs,
                                       size_t output_count) {
  return guarded(__func__, [&] {
    SymbolicGraph& in = given(graph, "graph").graph;
    if (work == nullptr) throw StatusError(MOTE_INVALID, "work is NULL");
    const std::string text = &given(name, "name");
    check_input_count(text, input_count);
    const auto kept = std::make_shared<CodeArgument>(argument);
    const auto function = [=](DynamicGraph& dynamic, std::span<const Variable> variables) {
      return run_work(work, kept->get(), text.c_str(), dynamic, variables, output_count);
    };
    in.call(dynamic_function(text, given(context, "context").context, function),
            function_symbols(inputs, input_count, "inputs"),
            function_symbols(outputs, output_count, "outputs"));
    kept->release_with(release);
  });
}
