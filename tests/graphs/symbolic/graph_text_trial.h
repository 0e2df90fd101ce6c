// SPDX-License-Identifier: Apache-2.0
// What any text of a graph promises: it is an error in one line or a graph that prints as text
// which reads back as the same text; and a small graph is checked, differentiated and run, or that
// is an error in one line.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mote/base/error.h"
#include "mote/runtime/context.h"
#include "mote/runtime/status.h"
#include "mote/symbolic/compile.h"
#include "mote/symbolic/control.h"
#include "mote/symbolic/dependencies.h"
#include "mote/symbolic/evaluate.h"
#include "mote/symbolic/gradient.h"
#include "mote/symbolic/text.h"

namespace mote::test {

/// A promise that was broken.
struct BrokenPromise {
  std::string what;
};

/// Runs it. An Error of one line is as good as none.
template <typename F>
bool runs_or_says_why(F&& work) {
  try {
    work();
    return true;
  } catch (const Error& error) {
    const std::string what = error.what();
    if (what.empty() || what.find('\n') != std::string::npos)
      throw BrokenPromise{"an Error of '" + what + "'"};
    return false;
  } catch (const std::exception& error) {
    throw BrokenPromise{error.what()};
  }
}

inline SymbolicGraph read_with_function(std::string_view text) {
  const NamedFunction f = {.name = "f",
                           .run = [](std::span<const Tensor>, std::span<const Tensor>) {}};
  return parse_graph(text, Registry::global(), std::span(&f, 1));
}

/// True if the graph has few elements and nodes, in loops that are at most two deep.
inline bool is_small(const SymbolicGraph& graph, int depth = 0) {
  constexpr std::int64_t kElements = 10000;
  constexpr std::size_t kNodes = 200;
  std::int64_t elements = 0;
  for (const SymbolInfo& info : graph.symbols()) {
    if (info.removed) continue;
    if (!info.has_form || info.form->bytes() > 8 * kElements) return false;
    elements += info.form->element_count();
  }
  for (const NodeInfo& node : graph.nodes()) {
    if (node.removed || node.kind != NodeKind::control) continue;
    for (const SymbolicGraph& sub : node.control->graphs)
      if (depth == 2 || !is_small(sub, depth + 1)) return false;
  }
  return elements <= kElements && graph.node_count() <= kNodes;
}

/// Makes loops that go on for long an error.
inline void limit_loops(SymbolicGraph& graph) {
  constexpr std::int64_t kIterations = 20;
  for (std::uint32_t k = 0; k < graph.node_count(); ++k) {
    const NodeInfo& node = graph.nodes()[k];
    if (node.removed || node.kind != NodeKind::control) continue;
    auto control = std::make_shared<ControlInfo>(*node.control);
    control->limit = std::min(control->limit, kIterations);
    for (SymbolicGraph& sub : control->graphs) limit_loops(sub);
    graph.set_control(graph.node_at(k), control);
  }
}

inline std::vector<TensorBinding> small_inputs(const SymbolicGraph& graph) {
  std::vector<TensorBinding> inputs;
  for (std::uint32_t k = 0; k < graph.symbol_count(); ++k) {
    const SymbolInfo& info = graph.symbols()[k];
    if (info.removed || info.kind != SymbolOrigin::input) continue;
    const Tensor value(info.form->dtype, info.form->shape);
    fill(value, is_real(info.form->dtype) ? 0.5 : 1.0);
    inputs.emplace_back(graph.at(k), value);
  }
  return inputs;
}

inline void differentiate(SymbolicGraph& graph) {
  std::vector<TensorSymbol> of, wrt;
  for (const TensorSymbol output : graph.outputs())
    if (is_real(graph.form(output).dtype)) of.push_back(output);
  for (std::uint32_t k = 0; k < graph.symbol_count(); ++k)
    if (graph.symbols()[k].kind == SymbolOrigin::input && !graph.symbols()[k].removed &&
        is_real(graph.symbols()[k].form->dtype))
      wrt.push_back(graph.at(k));
  std::vector<TensorSymbol> outputs = gradient(graph, of, wrt);
  const std::vector<TensorSymbol> first = graph.outputs();
  outputs.insert(outputs.end(), first.begin(), first.end());
  graph.set_outputs(outputs);
}

/// Runs the graph in both ways.
inline void run_small(SymbolicGraph graph) {
  static Context context;
  limit_loops(graph);
  const std::vector<TensorBinding> inputs = small_inputs(graph);
  runs_or_says_why([&] { evaluate(graph, inputs, graph.outputs()); });
  runs_or_says_why([&] {
    Executable executable = compile(graph, {}, context);
    executable.run(inputs);
  });
}

/// Throws BrokenPromise. Returns how far the text came: 0 for an error, 1 for a graph, 2 for one
/// that was run, 3 for one with a gradient.
inline int try_graph_text(std::string_view text) {
  int reached = 0;
  std::optional<SymbolicGraph> graph;
  if (!runs_or_says_why([&] { graph = read_with_function(text); })) return reached;
  ++reached;
  const std::string printed = to_text(*graph);
  std::string again;
  if (!runs_or_says_why([&] { again = to_text(read_with_function(printed)); }) || again != printed)
    throw BrokenPromise{"printed as\n" + printed + "\nwhich reads back as\n" + again};
  if (!runs_or_says_why([&] { verify(*graph); }) || !is_small(*graph)) return reached;
  ++reached;
  run_small(*graph);
  SymbolicGraph with_gradient = *graph;
  if (!runs_or_says_why([&] { differentiate(with_gradient); })) return reached;
  ++reached;
  if (is_small(with_gradient)) run_small(with_gradient);
  return reached;
}

}  // namespace mote::test
