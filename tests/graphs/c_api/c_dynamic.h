// SPDX-License-Identifier: Apache-2.0
// Handles of mote/mote_dynamic.h for tests, and short ways to make and look at variables.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <vector>

#include "graphs/c_api/c_graphs.h"
#include "mote/mote_dynamic.h"

namespace mote::test {

using DynamicHandle = Handle<mote_dynamic, mote_dynamic_free>;
using VariableHandle = Handle<mote_variable, mote_variable_free>;
using StaticFunctionHandle = Handle<mote_static_function, mote_static_function_free>;
using FunctionHandle = Handle<mote_graph_function, mote_graph_function_free>;
using Given = std::vector<const mote_variable*>;

inline DynamicHandle made_dynamic(mote_context* context, bool deferred = false) {
  mote_dynamic_options options = {};
  options.size = sizeof(options);
  options.deferred = deferred ? 1 : 0;
  DynamicHandle graph;
  graph.set([&](mote_dynamic** g) { return mote_dynamic_create(context, &options, g); });
  return graph;
}

/// Makes a variable of that shape whose elements are all `value`.
inline VariableHandle made_variable(mote_dynamic* graph, const std::vector<std::int64_t>& shape,
                                    double value) {
  const TensorHandle tensor = made_tensor(shape, value);
  VariableHandle variable;
  variable.set([&](mote_variable** v) { return mote_dynamic_variable(graph, tensor, v); });
  return variable;
}

inline CommandHandle command_of(const char* text) {
  CommandHandle command;
  command.set([&](mote_command** c) { return mote_command_parse(text, c); });
  return command;
}

/// Runs a command with one output.
inline VariableHandle ran(mote_dynamic* graph, const char* command, const Given& inputs) {
  const CommandHandle what = command_of(command);
  VariableHandle output;
  output.set([&](mote_variable** v) {
    return mote_dynamic_run(graph, what, inputs.data(), inputs.size(), nullptr, v, 1);
  });
  return output;
}

inline std::vector<double> values_of(const mote_variable* variable) {
  TensorHandle tensor;
  tensor.set([&](mote_tensor** t) { return mote_variable_value(variable, t); });
  return elements(tensor);
}

inline double item_of(const mote_variable* variable) {
  double value = -77;
  expect(mote_variable_item(variable, &value));
  return value;
}

/// Returns the gradient of the variable with respect to one other.
inline VariableHandle gradient_of(mote_dynamic* graph, const mote_variable* of,
                                  const mote_variable* wrt,
                                  const mote_backward_options* options = nullptr) {
  VariableHandle gradient;
  gradient.set(
      [&](mote_variable** v) { return mote_dynamic_backward(graph, &of, 1, &wrt, 1, options, v); });
  return gradient;
}

inline mote_dynamic_statistics statistics_of(mote_dynamic* graph) {
  mote_dynamic_statistics statistics = {};
  statistics.size = sizeof(statistics);
  expect(mote_dynamic_get_statistics(graph, &statistics));
  return statistics;
}

}  // namespace mote::test
