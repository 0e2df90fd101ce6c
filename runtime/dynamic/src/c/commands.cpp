// SPDX-License-Identifier: Apache-2.0
// The functions of mote/mote_dynamic.h that run commands and graphs, and those of gradients.
#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include "c/handles.h"
#include "c/objects.h"
#include "c/symbols.h"
#include "mote/runtime/device.h"

using namespace mote;     // NOLINT: C functions follow
using namespace mote::c;  // NOLINT

namespace {

BackwardOptions backward_options_of(const mote_backward_options* given_options,
                                    std::size_t of_count, std::size_t wrt_count) {
  BackwardOptions options;
  if (given_options == nullptr) return options;
  const mote_backward_options known = sized(*given_options, offsetof(mote_backward_options, into));
  if (known.seeds != nullptr) options.seeds = variables_of(known.seeds, of_count, "options.seeds");
  if (known.into != nullptr) options.into = variables_of(known.into, wrt_count, "options.into");
  options.is_traced = known.is_traced != 0;
  return options;
}

}  // namespace

mote_status mote_dynamic_run(mote_dynamic* graph, const mote_command* command,
                             const mote_variable* const* inputs, size_t input_count,
                             const DLDataType* dtype, mote_variable** outputs,
                             size_t output_count) {
  return guarded(__func__, [&] {
    DynamicGraph& in = given(graph, "graph").graph;
    const Command& what = given(command, "command").command;
    check_count(what.definition(), input_count, what.definition().input_count, "inputs");
    check_count(what.definition(), output_count, what.definition().output_count, "outputs");
    if (output_count > 0) given(outputs, "outputs");
    std::optional<DType> of_outputs;
    if (dtype != nullptr) of_outputs = dtype_of(*dtype);
    const std::vector<Variable> results =
        in.run_all(what, references(inputs, input_count, "inputs"), of_outputs);
    NewHandles(std::span(results).first(output_count)).give(outputs);
  });
}

mote_status mote_dynamic_run_to(mote_dynamic* graph, mote_variable* output,
                                const mote_command* command, const mote_variable* const* inputs,
                                size_t input_count) {
  return guarded(__func__, [&] {
    DynamicGraph& in = given(graph, "graph").graph;
    const Command& what = given(command, "command").command;
    check_count(what.definition(), input_count, what.definition().input_count, "inputs");
    in.run_to(variable_of(output, "output"), what, references(inputs, input_count, "inputs"));
  });
}

mote_status mote_dynamic_run_in_place(mote_dynamic* graph, mote_variable* x,
                                      const mote_command* command,
                                      const mote_variable* const* others, size_t other_count) {
  return guarded(__func__, [&] {
    DynamicGraph& in = given(graph, "graph").graph;
    const Command& what = given(command, "command").command;
    check_count(what.definition(), other_count + 1, what.definition().input_count, "inputs");
    in.run_in_place(variable_of(x, "x"), what, references(others, other_count, "others"));
  });
}

mote_status mote_dynamic_convert(mote_dynamic* graph, const mote_variable* x, DLDataType dtype,
                                 const char* device, mote_variable** y) {
  return guarded(__func__, [&] {
    auto& result = given(y, "y");
    DynamicGraph& in = given(graph, "graph").graph;
    const Variable& from = variable_of(x, "x");
    const TensorForm form = from.form();
    const DLDevice on = device != nullptr ? Device::find(device).dl() : form.device;
    const DType to = dtype_of(dtype);
    result = new_handle(in.convert(from, {to, form.shape, checked_strides(to, form.shape), on}));
  });
}

mote_status mote_static_function_create(const mote_symbolic* graph, const mote_symbol* outputs,
                                        size_t count, mote_static_function** function) {
  return guarded(__func__, [&] {
    auto& result = given(function, "function");
    const SymbolicGraph& of = given(graph, "graph").graph;
    SymbolicGraph copy(of);
    if (count > 0) {
      std::vector<TensorSymbol> asked;
      for (const TensorSymbol symbol : symbols_of(outputs, count, "outputs")) {
        of.info(symbol);  // throws if it is none of the graph's
        asked.push_back(copy.at(symbol.index));
      }
      copy.set_outputs(asked);
    }
    const std::size_t output_count = copy.outputs().size();
    result = new mote_static_function{StaticFunction(std::move(copy)), output_count};
  });
}

void mote_static_function_free(mote_static_function* function) { delete function; }

mote_status mote_dynamic_run_static(mote_dynamic* graph, const mote_static_function* function,
                                    const mote_variable* const* inputs, size_t input_count,
                                    mote_variable** outputs, size_t output_count) {
  return guarded(__func__, [&] {
    DynamicGraph& in = given(graph, "graph").graph;
    const mote_static_function& what = given(function, "function");
    if (output_count != what.output_count)
      throw StatusError(MOTE_INVALID, "static function " + what.function.graph().name() +
                                          ": it has " + std::to_string(what.output_count) +
                                          " outputs, room is for " + std::to_string(output_count));
    given(outputs, "outputs");
    const std::vector<Variable> results =
        in.run(what.function, references(inputs, input_count, "inputs"));
    NewHandles(results).give(outputs);
  });
}

mote_status mote_dynamic_backward(mote_dynamic* graph, const mote_variable* const* of,
                                  size_t of_count, const mote_variable* const* wrt,
                                  size_t wrt_count, const mote_backward_options* options,
                                  mote_variable** gradients) {
  return guarded(__func__, [&] {
    DynamicGraph& in = given(graph, "graph").graph;
    if (wrt_count > 0) given(gradients, "gradients");
    const std::vector<Variable> from = variables_of(of, of_count, "of");
    const std::vector<Variable> to = variables_of(wrt, wrt_count, "wrt");
    const std::vector<Variable> results =
        in.backward(from, to, backward_options_of(options, of_count, wrt_count));
    NewHandles(results).give(gradients);
  });
}

mote_status mote_dynamic_checkpoint(mote_dynamic* graph, mote_dynamic_work work, void* argument,
                                    const mote_variable* const* inputs, size_t input_count,
                                    mote_variable** outputs, size_t output_count) {
  return guarded(__func__, [&] {
    DynamicGraph& in = given(graph, "graph").graph;
    if (work == nullptr) throw StatusError(MOTE_INVALID, "work is NULL");
    if (output_count > 0) given(outputs, "outputs");
    const auto function = [&](std::span<const Variable> variables) {
      return run_work(work, argument, "checkpoint", in, variables, output_count);
    };
    const std::vector<Variable> results =
        in.checkpoint(function, variables_of(inputs, input_count, "inputs"));
    NewHandles(results).give(outputs);
  });
}

mote_status mote_dynamic_has_effect(mote_dynamic* graph, const mote_variable* x,
                                    const mote_variable* y, int32_t* has_effect) {
  return guarded(__func__, [&] {
    auto& result = given(has_effect, "has_effect");
    const DynamicGraph& in = given(graph, "graph").graph;
    result = in.has_effect(variable_of(x, "x"), variable_of(y, "y")) ? 1 : 0;
  });
}
