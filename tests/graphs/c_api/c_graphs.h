// SPDX-License-Identifier: Apache-2.0
// A small network for tests of mote/mote_graphs.h, and its handles.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "mote/mote.h"
#include "runtime/faults/c_handle.h"

namespace mote::test {

using SymbolicHandle = Handle<mote_symbolic, mote_symbolic_free>;
using ExecutableHandle = Handle<mote_executable, mote_executable_free>;
using GraphHandle = Handle<mote_graph, mote_graph_free>;

inline const DLDataType kReal = {kDLFloat, 32, 1};

inline constexpr const char* kMlp =
    "graph mlp(x f32[4,3], w1 f32[3,8], w2 f32[8,2]) -> (sums)\n"
    "  h = matmul(x, w1)\n"
    "  a = tanh(h)\n"
    "  z = matmul(a, w2)\n"
    "  sums = sum(z, axis=0)\n";

inline TensorHandle made_tensor(const std::vector<std::int64_t>& shape, double value) {
  TensorHandle tensor;
  const auto rank = static_cast<std::int32_t>(shape.size());
  tensor.set([&](mote_tensor** t) { return mote_tensor_create(kReal, rank, shape.data(), t); });
  expect(mote_tensor_fill_real(tensor, value));
  return tensor;
}

inline ContextHandle made_context(const mote_context_options* options = nullptr) {
  ContextHandle context;
  context.set([&](mote_context** c) { return mote_context_create(options, c); });
  return context;
}

inline SymbolicHandle parsed(const char* text = kMlp) {
  SymbolicHandle graph;
  graph.set([&](mote_symbolic** g) { return mote_symbolic_parse(text, g); });
  return graph;
}

inline mote_symbol named(const mote_symbolic* graph, const char* name) {
  mote_symbol symbol = MOTE_NO_SYMBOL;
  expect(mote_symbolic_find(graph, name, &symbol));
  return symbol;
}

inline std::string text_of(mote_symbolic* graph) {
  const char* text = nullptr;
  expect(mote_symbolic_text(graph, &text));
  return text;
}

inline ExecutableHandle compiled(const mote_symbolic* graph, mote_context* context,
                                 const mote_compile_options* options = nullptr) {
  ExecutableHandle executable;
  executable.set(
      [&](mote_executable** e) { return mote_symbolic_compile(graph, options, context, e); });
  return executable;
}

/// Returns the elements of an f32 or f64 tensor of any rank, in row-major order.
inline std::vector<double> elements(const mote_tensor* tensor) {
  std::vector<double> values;
  std::vector<std::int64_t> index(static_cast<std::size_t>(tensor->dl.ndim), 0);
  while (true) {
    values.push_back(0);
    expect(mote_tensor_real_at(tensor, index.data(), &values.back()));
    std::size_t axis = index.size();
    while (axis > 0 && ++index[axis - 1] == tensor->dl.shape[axis - 1]) index[--axis] = 0;
    if (axis == 0) return values;
  }
}

inline std::vector<double> output_of(const mote_executable* executable, mote_symbol symbol) {
  TensorHandle tensor;
  tensor.set([&](mote_tensor** t) { return mote_executable_output(executable, symbol, t); });
  return elements(tensor);
}

}  // namespace mote::test
