// SPDX-License-Identifier: Apache-2.0
#include "shapes_leg.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "compile_leg.h"
#include "exact_numbers.h"
#include "mote/runtime/status.h"
#include "mote/symbolic/compile.h"
#include "mote/symbolic/dependencies.h"
#include "mote/symbolic/evaluate.h"
#include "random_graph.h"

namespace mote::test {

std::optional<SymbolicGraph> with_other_extent(const SymbolicGraph& graph, std::int64_t from,
                                               std::int64_t to) {
  std::vector<std::pair<TensorSymbol, TensorForm>> forms;
  for (std::uint32_t k = 0; k < graph.symbol_count(); ++k) {
    const SymbolInfo& info = graph.symbols()[k];
    if (info.removed || info.kind != SymbolOrigin::input) continue;
    AxisList shape = info.form->shape;
    for (int axis = 0; axis < shape.size(); ++axis)
      if (shape[axis] == from) shape[axis] = to;
    if (!(shape == info.form->shape))
      forms.emplace_back(graph.at(k), TensorForm(info.form->dtype, shape));
  }
  if (forms.empty()) return std::nullopt;
  try {
    SymbolicGraph other = graph.with_forms(forms);
    verify(other);
    return other;
  } catch (const StatusError&) {
    return std::nullopt;
  }
}

std::string some_shapes_leg(Rng& rng, bool is_exact) {
  return std::string("shapes exact=") + (is_exact ? "1" : "0") +
         " from=" + std::to_string(1 + rng.below(6)) + " to=" + std::to_string(1 + rng.below(6)) +
         " streams=" + std::to_string(1 + rng.below(2)) +
         " largest=" + rng.pick<const char*>({"0", "own", "own", "other"}) +
         " gradient=" + std::to_string(is_exact || rng.chance(50) ? 1 + rng.below(1000) : 0);
}

namespace {

/// A graph, and the one that is built for other shapes of its inputs.
struct TwoShapes {
  SymbolicGraph own;
  SymbolicGraph other;
};

/// True if no input of the graph is larger than that of `than`.
bool is_at_most(const SymbolicGraph& graph, const SymbolicGraph& than) {
  for (std::uint32_t k = 0; k < graph.symbol_count(); ++k) {
    const SymbolInfo& info = graph.symbols()[k];
    if (info.removed || info.kind != SymbolOrigin::input) continue;
    const AxisList& most = than.form(than.find(info.name)).shape;
    for (int axis = 0; axis < most.size(); ++axis)
      if (info.form->shape[axis] > most[axis]) return false;
  }
  return true;
}

/// Returns the inputs' forms in `forms`, for the symbols of the graph with the same names: each
/// graph numbers the symbols of its gradient by itself.
std::vector<std::pair<TensorSymbol, TensorForm>> input_forms(const SymbolicGraph& graph,
                                                             const SymbolicGraph& forms) {
  std::vector<std::pair<TensorSymbol, TensorForm>> all;
  for (const SymbolInfo& info : forms.symbols())
    if (!info.removed && info.kind == SymbolOrigin::input)
      all.emplace_back(graph.find(info.name), info.form);
  return all;
}

/// True for an error that says which symbol's shape does not follow.
bool is_refusal_of_shapes(const StatusError& e) {
  return std::string(e.what()).find("other shapes for ") != std::string::npos;
}

/// True if a symbol has elements in one of the graphs only.
bool becomes_empty(const SymbolicGraph& graph, const SymbolicGraph& other) {
  for (std::uint32_t k = 0; k < graph.symbol_count(); ++k)
    if (!graph.symbols()[k].removed && (element_count(graph.symbols()[k].form) == 0) !=
                                           (element_count(other.symbols()[k].form) == 0))
      return true;
  return false;
}

/// True if the graphs have the same nodes, on the same symbols.
bool is_same_structure(const SymbolicGraph& a, const SymbolicGraph& b) {
  return std::ranges::equal(a.nodes(), b.nodes(), [](const NodeInfo& x, const NodeInfo& y) {
    if (x.removed || y.removed) return x.removed == y.removed;
    return x.kind == y.kind && std::ranges::equal(x.inputs, y.inputs) &&
           std::ranges::equal(x.outputs, y.outputs) && (!x.command || *x.command == *y.command);
  });
}

bool is_exact(const std::vector<Tensor>& values) {
  try {
    for (const Tensor& value : values) check_whole(value, "an output");
  } catch (const Undecided&) {
    return false;
  }
  return true;
}

/// Returns the graph for both shapes. A gradient is derived for each: with_forms() has no part in
/// that of the other shape.
std::optional<TwoShapes> two_shapes(const SymbolicGraph& graph,
                                    const std::map<std::string, std::string>& settings) {
  std::optional<SymbolicGraph> other = with_other_extent(
      graph, std::stoll(setting(settings, "from", "1")), std::stoll(setting(settings, "to", "1")));
  if (!other) return std::nullopt;
  const std::uint64_t seed = std::stoull(setting(settings, "gradient", "0"));
  if (seed == 0) return TwoShapes{graph, *std::move(other)};
  if (graph.has("s0")) return std::nullopt;  // it has a gradient, whose seeds have these names
  std::optional<SymbolicGraph> own = with_gradient(graph, seed);
  std::optional<SymbolicGraph> fresh = with_gradient(*other, seed);
  // Two equal gradients are one output, which may be so for one of the shapes alone.
  if (!own || !fresh || own->outputs().size() != fresh->outputs().size()) return std::nullopt;
  if (becomes_empty(graph, *other)) return std::nullopt;  // what has no element has no gradient
  return TwoShapes{*std::move(own), *std::move(fresh)};
}

std::vector<TensorBinding> named_inputs(const SymbolicGraph& forms, const SymbolicGraph& handles,
                                        const GraphData& data) {
  std::vector<TensorBinding> bindings;
  for (const InputValue& input : input_values(forms, data))
    bindings.emplace_back(handles.find(forms.symbols()[input.symbol].name), input.value);
  return bindings;
}

/// Runs the executable of `own` with the inputs of a graph for any shapes, whose outputs have the
/// values `expected`. Returns where its own outputs differ from these: in shapes alone, unless
/// `has_bits`.
std::optional<std::string> differing_output(Executable& executable, const SymbolicGraph& own,
                                            const SymbolicGraph& forms, const GraphData& data,
                                            const std::vector<Tensor>& expected,
                                            bool has_bits = true) {
  executable.run(named_inputs(forms, own, data));
  const std::vector<TensorSymbol> outputs = own.outputs();
  for (std::size_t k = 0; k < expected.size(); ++k) {
    if (is_token(own, outputs[k].index)) continue;
    const Tensor got = executable.output(outputs[k]);
    if (!has_bits && got.shape() == expected[k].shape()) continue;
    if (const auto found = bit_difference(expected[k], got)) return own.text(outputs[k]) + *found;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> check_other_shapes(const GraphSubject& subject,
                                              const std::map<std::string, std::string>& settings,
                                              Counts& counts) {
  std::optional<TwoShapes> graphs = two_shapes(subject.graph(), settings);
  if (!graphs) return std::nullopt;
  // A graph is compiled for the largest shapes, or for others beside which these are given.
  const std::string largest = setting(settings, "largest", "0");
  if (largest == "other") std::swap(graphs->own, graphs->other);
  const SymbolicGraph& own = graphs->own;
  const SymbolicGraph& other = graphs->other;
  const GraphData& data = subject.data();
  const std::vector<Tensor> first = evaluate(own, inputs_of(own, own, data), own.outputs());
  std::vector<Tensor> expected;
  try {
    expected = evaluate(other, inputs_of(other, other, data), other.outputs());
  } catch (const StatusError&) {
    return std::nullopt;  // an op does not take these sizes, such as argmin of no element
  }
  const bool has_gradient = setting(settings, "gradient", "0") != "0";
  // Where other parts of a tensor are read, or axes of 1 are not summed, terms are added in another
  // order.
  const bool has_bits = is_same_structure(own, other) ||
                        (setting(settings, "exact", "0") == "1" && is_exact(expected));
  CompileOptions options = options_of(own, settings);
  if (largest == "own" && is_at_most(other, own)) options.largest = input_forms(own, own);
  if (largest == "other" && is_at_most(own, other)) options.largest = input_forms(own, other);
  std::optional<Executable> compiled;
  try {
    compiled.emplace(compile(own, options, shared_context()));
  } catch (const StatusError& e) {
    if (largest != "other" || !is_refusal_of_shapes(e)) throw;
    return std::nullopt;
  }
  Executable& executable = *compiled;
  // The plan is that of the largest shapes. A run with other shapes may need less memory.
  const std::size_t planned = executable.report().arena_bytes;
  if (auto found = differing_output(executable, own, own, data, first)) return found;
  try {
    if (auto found = differing_output(executable, own, other, data, expected, has_bits))
      return "for other shapes " + *found;
  } catch (const StatusError& e) {
    // A smaller input may make a larger tensor: a kernel of conv2d, for one.
    if (!options.largest.empty() && e.status() == MOTE_OUT_OF_MEMORY) return std::nullopt;
    if (!is_refusal_of_shapes(e) || (!has_gradient && largest != "other")) throw;
    ++counts["gradient refused for other shapes"];
    return std::nullopt;
  }
  ++counts[has_gradient ? "gradient run with other shapes" : "run with other shapes"];
  if (has_gradient && has_bits) ++counts["gradient with the bits of one for other shapes"];
  if (!options.largest.empty()) {
    ++counts[largest == "own" ? "run in the memory of larger shapes"
                              : "run at the largest shapes, which are not its own"];
    if (executable.report().arena_bytes > planned)
      return "needs " + std::to_string(executable.report().arena_bytes) + " bytes, planned were " +
             std::to_string(planned);
  }
  // The first shapes again, which were compiled before.
  return differing_output(executable, own, own, data, first);
}

}  // namespace mote::test
