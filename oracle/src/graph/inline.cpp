// SPDX-License-Identifier: Apache-2.0
// Walks the nodes that the outputs need in their order, names what is read and what is asked for,
// and makes the program.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <set>
#include <string>

#include "graph/symbol_values.h"
#include "mote/oracle/graph_program.h"
#include "mote/runtime/status.h"
#include "mote/symbolic/dependencies.h"
#include "mote/uops/element.h"
#include "mote/uops/language.h"

namespace mote {
namespace {

Shape constant_shape(const AxisList& extents) {
  Shape shape;
  for (const std::int64_t extent : extents) shape.emplace_back(Expr(extent));
  return shape;
}

/// Gives names that a program may have.
class ProgramNames {
 public:
  ProgramNames() {
    const LanguageWords words = language_words();
    for (const auto* list : {&words.statements, &words.operators, &words.functions,
                             &words.reductions, &words.forms, &words.scatter_ops, &words.constants,
                             &words.dtypes, &words.joints, &words.index_functions})
      taken_.insert(list->begin(), list->end());
  }

  std::string make(std::string name) {
    std::ranges::replace_if(
        name, [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
    if (name.empty() || std::isdigit(static_cast<unsigned char>(name.front())) != 0)
      name = "x_" + name;
    if (std::isdigit(static_cast<unsigned char>(name.back())) != 0) name += '_';
    while (!taken_.insert(name).second) name += '_';
    return name;
  }

 private:
  std::set<std::string, std::less<>> taken_;
};

class GraphInliner {
 public:
  GraphInliner(const SymbolicGraph& graph, const NodeForms& forms)
      : graph_(graph), values_(graph, forms) {}

  std::variant<GraphProgram, Reason> run(std::span<const TensorSymbol> outputs) {
    std::vector<std::uint32_t> nodes;
    const std::vector<bool> needed = ancestors(graph_, outputs);
    for (const std::uint32_t node : topological_order(graph_))
      if (needed[node]) nodes.push_back(node);
    if (nodes.size() > kMaxInlinedNodes)
      return Reason{fmt::format("{}: {} nodes, at most {} become one program", graph_.name(),
                                nodes.size(), kMaxInlinedNodes)};
    give_inputs(nodes, outputs);
    for (const std::uint32_t node : nodes)
      if (const auto reason = run(node)) return *reason;
    try {
      return finish(outputs);
    } catch (const Error& e) {
      return Reason{graph_.name() + ": " + e.what()};
    }
  }

 private:
  /// Gives the inputs and constants that the nodes and the outputs read their values.
  void give_inputs(std::span<const std::uint32_t> nodes, std::span<const TensorSymbol> outputs) {
    std::set<std::uint32_t> roots;
    for (const std::uint32_t node : nodes)
      for (const std::uint32_t x : graph_.nodes()[node].inputs)
        if (x != kNoIndex) roots.insert(graph_.symbols()[x].root);
    for (const TensorSymbol y : outputs) roots.insert(graph_.info(y).root);
    for (const std::uint32_t root : roots) give(root);
  }

  void give(std::uint32_t symbol) {
    const SymbolInfo& info = graph_.symbols()[symbol];
    const TensorSymbol handle = graph_.at(symbol);
    if (info.kind == SymbolOrigin::constant && info.form->element_count() == 1) {
      const Array one = array_of(graph_.value(handle));
      return values_.set(symbol, filled_with(one.values.front(), one.dtype, info.form->shape));
    }
    if (info.kind != SymbolOrigin::input && info.kind != SymbolOrigin::constant) return;
    const Uop x = input(names_.make(graph_.text(handle)), graph_.form(handle).dtype,
                        constant_shape(info.form->shape));
    inputs_.push_back(x);
    symbols_.push_back(handle);
    values_.set(symbol, x);
  }

  std::optional<Reason> run(std::uint32_t node) {
    try {
      values_.run(node);
    } catch (const Error& e) {
      return Reason{graph_.text(graph_.node_at(node)) + ": " + e.what()};
    }
    return std::nullopt;
  }

  GraphProgram finish(std::span<const TensorSymbol> outputs) {
    ProgramSpec spec;
    spec.name = names_.make(graph_.name());
    for (const TensorSymbol y : outputs)
      spec.outputs.push_back({names_.make(graph_.text(y)), values_.read(y.index)});
    const std::vector<Uop> uops = topological(mote::roots(spec.outputs));
    if (uops.size() > kMaxInlinedUops)
      throw Error(
          fmt::format("{} uops, at most {} become one program", uops.size(), kMaxInlinedUops));
    std::set<const UopNode*> read;
    for (const Uop& u : uops) read.insert(u.id());
    GraphProgram result;
    for (std::size_t k = 0; k < inputs_.size(); ++k) {
      if (!read.contains(inputs_[k].id())) continue;
      spec.inputs.push_back(inputs_[k]);
      result.inputs.push_back(symbols_[k]);
    }
    result.program = make_program(std::move(spec));
    return result;
  }

  const SymbolicGraph& graph_;
  SymbolValues values_;
  ProgramNames names_;
  std::vector<Uop> inputs_;
  std::vector<TensorSymbol> symbols_;
};

}  // namespace

std::variant<GraphProgram, Reason> program_of(const SymbolicGraph& graph,
                                              std::span<const TensorSymbol> outputs,
                                              const NodeForms& forms) {
  return GraphInliner(graph, forms).run(outputs);
}

std::variant<GraphProgram, Reason> program_of(const SymbolicGraph& graph,
                                              std::initializer_list<TensorSymbol> outputs) {
  return program_of(graph, std::span(outputs.begin(), outputs.size()));
}

Array array_of(const Tensor& tensor) {
  const Tensor dense = clone(tensor);
  const AxisList shape = dense.shape();
  Array array{dense.dtype(), {shape.begin(), shape.end()}, {}};
  const std::int64_t count = dense.element_count();
  for (std::int64_t k = 0; k < count; ++k)
    array.values.push_back(load_element(dense.data(), dense.dtype(), k));
  return array;
}

std::vector<Array> input_arrays(const SymbolicGraph& graph, const GraphProgram& inlined,
                                std::span<const TensorBinding> bindings) {
  std::vector<Array> arrays;
  for (const TensorSymbol x : inlined.inputs) {
    if (graph.info(x).kind == SymbolOrigin::constant) {
      arrays.push_back(array_of(graph.value(x)));
      continue;
    }
    const auto bound = std::ranges::find(bindings, x, &TensorBinding::first);
    if (bound == bindings.end())
      throw StatusError(MOTE_INVALID, "input " + graph.text(x) + " is not bound");
    arrays.push_back(array_of(bound->second));
  }
  return arrays;
}

}  // namespace mote
