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
  mote_graph_function_gradient gradient;  ///< null: it has none, or the next one
  mote_graph_function_traced_gradient traced_gradient;
  Context* context;  ///< of traced_gradient
  std::shared_ptr<CodeArgument> argument;
};

/// Which tensors a gradient reads and writes.
struct GradientTensors {
  std::size_t inputs;
  std::vector<bool> has_seed;   ///< by output
  std::vector<bool> is_wanted;  ///< by input
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
NamedFunction gradient_node(const TensorCode& code, const GradientTensors& of) {
  const auto run = [code, of](std::span<const Tensor> reads, std::span<const Tensor> writes) {
    std::vector<const mote_tensor*> inputs, outputs, seeds;
    std::vector<mote_tensor*> gradients;
    std::size_t next = 0;
    for (std::size_t k = 0; k < of.inputs; ++k) inputs.push_back(tensor_handle(reads[next++]));
    for (std::size_t k = 0; k < of.has_seed.size(); ++k)
      outputs.push_back(tensor_handle(reads[next++]));
    for (const bool has : of.has_seed)
      seeds.push_back(has ? tensor_handle(reads[next++]) : nullptr);
    next = 0;
    for (const bool wanted : of.is_wanted)
      gradients.push_back(wanted ? tensor_handle(writes[next++]) : nullptr);
    check_status(code.gradient(code.argument->get(), inputs.data(), inputs.size(), outputs.data(),
                               seeds.data(), outputs.size(), gradients.data()),
                 code.name + ".grad");
  };
  return {.name = code.name + ".grad", .run = run};
}

/// Makes handles of the variables, empty ones null, and returns what the code makes of them.
template <typename Call>
std::vector<Variable> with_handles(const std::string& name, DynamicGraph& graph,
                                   std::span<const Variable> variables, std::size_t made_count,
                                   const Call& call) {
  mote_dynamic handle{graph};
  std::vector<mote_variable> handles;
  handles.reserve(variables.size());
  std::vector<const mote_variable*> pointers;
  for (const Variable& variable : variables) {
    handles.push_back({variable});
    pointers.push_back(variable ? &handles.back() : nullptr);
  }
  std::vector<mote_variable*> made(made_count);
  std::vector<Variable> results(made_count);
  const mote_status status = call(&handle, pointers.data(), made.data());
  for (std::size_t k = 0; k < made_count; ++k) {
    if (made[k] != nullptr) results[k] = made[k]->variable;
    mote_variable_free(made[k]);
  }
  check_status(status, name);
  return results;
}

/// Returns the gradient that the code made for input k, or zeros.
Variable checked_gradient(const std::string& name, DynamicGraph& graph, const Variable& made,
                          const Variable& input, std::size_t k) {
  const TensorForm form = input.form();
  if (!made)
    return graph.zeros(
        {form.dtype, form.shape, checked_strides(form.dtype, form.shape), form.device});
  const TensorForm got = made.form();
  if (got.dtype != form.dtype || got.shape != form.shape)
    throw StatusError(MOTE_INVALID, name + ": the gradient of input " + std::to_string(k) +
                                        " must be " + to_string(form) + ", got " + to_string(got));
  return made;
}

/// Makes the same node from code on variables, which has gradients in turn.
NamedFunction traced_gradient_node(const TensorCode& code, const GradientTensors& of) {
  const auto run = [code, of](DynamicGraph& graph, std::span<const Variable> reads) {
    const std::size_t before_seeds = of.inputs + of.has_seed.size();
    std::vector<Variable> all(reads.begin(),
                              reads.begin() + static_cast<std::ptrdiff_t>(before_seeds));
    std::size_t next = before_seeds;
    for (const bool has : of.has_seed) all.push_back(has ? reads[next++] : Variable());
    const std::string name = code.name + ".grad";
    const std::vector<Variable> made = with_handles(
        name, graph, all, of.inputs,
        [&](mote_dynamic* handle, const mote_variable* const* given, mote_variable** gradients) {
          return code.traced_gradient(code.argument->get(), handle, given, of.inputs,
                                      given + of.inputs, given + before_seeds, of.has_seed.size(),
                                      gradients);
        });
    std::vector<Variable> wanted;
    for (std::size_t k = 0; k < of.inputs; ++k)
      if (of.is_wanted[k]) wanted.push_back(checked_gradient(name, graph, made[k], reads[k], k));
    return wanted;
  };
  return dynamic_function(code.name + ".grad", *code.context, run);
}

std::vector<TensorSymbol> add_gradient(const TensorCode& code, SymbolicGraph& graph,
                                       const FunctionCall& call) {
  std::vector<TensorSymbol> reads(call.inputs.begin(), call.inputs.end());
  reads.insert(reads.end(), call.outputs.begin(), call.outputs.end());
  GradientTensors of{call.inputs.size(), {}, {}};
  for (const TensorSymbol seed : call.gradients) {
    of.has_seed.push_back(static_cast<bool>(seed));
    if (seed) reads.push_back(seed);
  }
  std::vector<TensorSymbol> gradients(call.inputs.size()), writes;
  for (std::size_t k = 0; k < call.inputs.size(); ++k) {
    const TensorForm form = graph.form(call.inputs[k]);
    of.is_wanted.push_back(is_in(call.wanted, k) && is_real(form.dtype));
    if (!of.is_wanted.back()) continue;
    gradients[k] = graph.tensor(
        {form.dtype, form.shape, checked_strides(form.dtype, form.shape), form.device});
    writes.push_back(gradients[k]);
  }
  if (!writes.empty())
    graph.call(code.gradient != nullptr ? gradient_node(code, of) : traced_gradient_node(code, of),
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
  if (code.gradient != nullptr || code.traced_gradient != nullptr)
    made.gradient = [code](SymbolicGraph& graph, const FunctionCall& call) {
      return add_gradient(code, graph, call);
    };
  return made;
}

/// Makes a function of the code, which releases its argument from now on.
void give_function(const TensorCode& code, void (*release)(void* argument),
                   mote_graph_function*& function) {
  if (code.work == nullptr) throw StatusError(MOTE_INVALID, "work is NULL");
  auto made = std::make_unique<mote_graph_function>();
  made->function = std::make_shared<const NamedFunction>(named_function(code));
  code.argument->release_with(release);
  function = made.release();
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
  return with_handles(
      name, graph, inputs, output_count,
      [&](mote_dynamic* handle, const mote_variable* const* given, mote_variable** outputs) {
        return work(argument, handle, given, inputs.size(), outputs, output_count);
      });
}

}  // namespace mote::c

mote_status mote_graph_function_create(const char* name, mote_node_work work,
                                       mote_graph_function_gradient gradient, void* argument,
                                       void (*release)(void* argument),
                                       mote_graph_function** function) {
  return guarded(__func__, [&] {
    give_function({.name = &given(name, "name"),
                   .work = work,
                   .gradient = gradient,
                   .traced_gradient = nullptr,
                   .context = nullptr,
                   .argument = std::make_shared<CodeArgument>(argument)},
                  release, given(function, "function"));
  });
}

mote_status mote_graph_function_create_traced(mote_context* context, const char* name,
                                              mote_node_work work,
                                              mote_graph_function_traced_gradient gradient,
                                              void* argument, void (*release)(void* argument),
                                              mote_graph_function** function) {
  return guarded(__func__, [&] {
    if (gradient == nullptr) throw StatusError(MOTE_INVALID, "gradient is NULL");
    give_function({.name = &given(name, "name"),
                   .work = work,
                   .gradient = nullptr,
                   .traced_gradient = gradient,
                   .context = &given(context, "context").context,
                   .argument = std::make_shared<CodeArgument>(argument)},
                  release, given(function, "function"));
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
