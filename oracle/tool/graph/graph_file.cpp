// SPDX-License-Identifier: Apache-2.0
#include "graph/graph_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>

#include "mote/base/error.h"
#include "mote/npz/npz.h"
#include "mote/oracle/fill.h"
#include "mote/runtime/status.h"
#include "mote/symbolic/gradient.h"
#include "mote/symbolic/text.h"

namespace mote::tool {
namespace {

bool is_float(DType dtype) {
  return dtype == DType::f64 || dtype == DType::f32 || dtype == DType::f16 || dtype == DType::bf16;
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

Tensor drawn(const SymbolicGraph& graph, TensorSymbol symbol, std::uint64_t seed) {
  const TensorForm& form = graph.form(symbol);
  const Tensor tensor(form.dtype, form.shape);
  const Tensor flat = tensor.reshape({tensor.element_count()});
  const Filler filler({.kind = FillKind::uniform, .seed = seed},
                      {.name = graph.text(symbol), .dtype = form.dtype, .count = flat.extent(0)},
                      1);
  for (std::int64_t k = 0; k < flat.extent(0); ++k) {
    if (is_float(form.dtype))
      flat.set({k}, filler.real(k));
    else
      flat.set({k}, filler.integer(k) & 1);
  }
  return tensor;
}

void check_form(const SymbolicGraph& graph, TensorSymbol symbol, const Tensor& tensor) {
  const TensorForm& form = graph.form(symbol);
  if (tensor.dtype() != form.dtype || tensor.shape() != form.shape)
    throw Error(fmt::format("{}: expected {}, got {}", graph.text(symbol), to_string(form),
                            describe(tensor)));
}

/// Gives the tensor the strides of the symbol, which may differ from row-major ones.
Tensor laid_out(const SymbolicGraph& graph, TensorSymbol symbol, const Tensor& tensor) {
  check_form(graph, symbol, tensor);
  const TensorForm& form = graph.form(symbol);
  if (tensor.strides() == form.strides) return tensor;
  const std::int64_t bytes = checked_span(form.dtype, form.shape, form.strides);
  const Tensor memory(form.dtype, {bytes / static_cast<std::int64_t>(size_of(form.dtype))});
  const Tensor result = Tensor::within(memory, 0, form);
  copy(tensor, result);
  return result;
}

/// Gives the gradient that name. One that has a name, as two equal ones are the same symbol, is
/// seen by a view of that name.
TensorSymbol named(SymbolicGraph& graph, TensorSymbol gradient, const std::string& name) {
  if (graph.has(name)) return gradient;
  if (graph.info(gradient).name.empty()) {
    graph.rename(gradient, name);
    return gradient;
  }
  AxisList same;
  for (int axis = 0; axis < graph.form(gradient).shape.size(); ++axis) same.push_back(axis);
  return graph.view(gradient, {ViewKind::permute, same}, name);
}

}  // namespace

std::string read_text(const std::string& path) {
  if (path == "-") return {std::istreambuf_iterator<char>(std::cin), {}};
  std::ifstream file(path, std::ios::binary);
  // A folder opens, and cannot be read.
  if (!file || std::filesystem::is_directory(path))
    throw Error(fmt::format("{}: cannot be read", path));
  return {std::istreambuf_iterator<char>(file), {}};
}

SymbolicGraph read_graph(const std::string& path) {
  const std::string text = read_text(path);
  try {
    return parse_graph(text);
  } catch (const StatusError& e) {
    throw Error(fmt::format("{}: {}", path, e.what()));
  }
}

void give_shapes(SymbolicGraph& graph, const std::string& file) {
  for (const auto& [name, tensor] : read_npz(file)) {
    if (!graph.has(name) || graph.info(graph.find(name)).kind != SymbolOrigin::input)
      throw Error(fmt::format("{}: {} has no input '{}'", file, graph.name(), name));
    const TensorSymbol symbol = graph.find(name);
    const SymbolInfo& info = graph.info(symbol);
    if (info.has_form) {
      check_form(graph, symbol, tensor);
      continue;
    }
    if (tensor.dtype() != info.form->dtype)
      throw Error(fmt::format("{}: expected {}[?], got {}", name, mote::name(info.form->dtype),
                              describe(tensor)));
    graph.set_form(symbol, {tensor.dtype(), tensor.shape()});
  }
}

void check_shapes(const SymbolicGraph& graph) {
  for (const SymbolInfo& info : graph.symbols())
    if (!info.removed && info.kind == SymbolOrigin::input && !info.has_form)
      throw Error(fmt::format("{}: the shape of {} is not known: {}[?]; --inputs FILE.npz gives it",
                              graph.name(), info.name, mote::name(info.form->dtype)));
}

void add_gradient(SymbolicGraph& graph, const std::string& wanted) {
  if (wanted.empty()) return;
  const std::size_t colon = std::min(wanted.find(':'), wanted.size());
  const TensorSymbol of = graph.find(wanted.substr(0, colon));
  std::vector<TensorSymbol> wrt;
  if (colon < wanted.size()) {
    for (const std::string& name : split(wanted.substr(colon + 1))) {
      const TensorSymbol symbol = graph.find(name);
      if (std::ranges::find(wrt, symbol) != wrt.end())
        throw Error(fmt::format("--grad {}: {} is named twice", wanted, name));
      wrt.push_back(symbol);
    }
  } else {
    for (std::uint32_t k = 0; k < graph.symbol_count(); ++k) {
      const SymbolInfo& info = graph.symbols()[k];
      if (!info.removed && info.kind == SymbolOrigin::input && is_float(info.form->dtype))
        wrt.push_back(graph.at(k));
    }
  }
  const std::vector<TensorSymbol> gradients = gradient(graph, std::vector{of}, wrt);
  std::vector<TensorSymbol> outputs = graph.outputs();
  for (std::size_t k = 0; k < gradients.size(); ++k) {
    const std::string name = graph.text(of) + "/" + graph.text(wrt[k]);
    outputs.push_back(named(graph, gradients[k], name));
  }
  graph.set_outputs(outputs);
}

GraphInputs graph_inputs(const SymbolicGraph& graph, const std::string& file, std::uint64_t seed) {
  const NamedTensors given = file.empty() ? NamedTensors{} : read_npz(file);
  GraphInputs inputs;
  for (std::uint32_t k = 0; k < graph.symbol_count(); ++k) {
    const SymbolInfo& info = graph.symbols()[k];
    if (info.removed || info.kind != SymbolOrigin::input) continue;
    const auto found = given.find(info.name);
    inputs.some_are_random |= found == given.end();
    const Tensor tensor = found != given.end() ? found->second : drawn(graph, graph.at(k), seed);
    inputs.tensors.emplace_back(graph.at(k), laid_out(graph, graph.at(k), tensor));
  }
  return inputs;
}

void write_text(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file) throw Error(fmt::format("{}: cannot be written", path));
}

}  // namespace mote::tool
