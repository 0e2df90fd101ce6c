// SPDX-License-Identifier: Apache-2.0
#include "graph/settings.h"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <utility>

#include "graph/graph_file.h"
#include "mote/base/error.h"
#include "mote/symbolic/dependencies.h"
#include "mote/symbolic/evaluate.h"
#include "mote/symbolic/pass.h"

namespace mote::tool {
namespace {

/// Returns the first element that differs in its bits, as text; nothing if none does.
std::optional<std::string> difference(const Tensor& expected, const Tensor& got) {
  const Tensor a = clone(expected);
  const Tensor b = clone(got);
  const std::size_t size = size_of(a.dtype());
  const auto* x = static_cast<const std::byte*>(a.data());
  const auto* y = static_cast<const std::byte*>(b.data());
  const std::int64_t count = a.element_count();
  std::int64_t differing = 0;
  std::int64_t first = -1;
  for (std::int64_t k = 0; k < count; ++k) {
    const std::size_t at = static_cast<std::size_t>(k) * size;
    if (std::memcmp(x + at, y + at, size) == 0) continue;
    if (differing++ == 0) first = k;
  }
  if (differing == 0) return std::nullopt;
  AxisList index = a.shape();
  std::int64_t rest = first;
  for (int axis = index.size(); axis-- > 0;) {
    index[axis] = rest % a.extent(axis);
    rest /= a.extent(axis);
  }
  return fmt::format("element {}: expected {}, got {}; {} of {} differ", to_string(index),
                     a.real_at(index), b.real_at(index), differing, count);
}

std::optional<GraphDifference> compare(const SymbolicGraph& graph,
                                       std::span<const TensorBinding> inputs,
                                       const GraphSetting& setting,
                                       std::span<const TensorSymbol> symbols,
                                       std::span<const Tensor> expected, Context& context) {
  CompileOptions options = setting.options;
  options.outputs.assign(symbols.begin(), symbols.end());
  try {
    Executable executable = compile(graph, options, context);
    executable.run(inputs);
    for (std::size_t k = 0; k < symbols.size(); ++k) {
      const auto what = difference(expected[k], executable.output(symbols[k]));
      if (!what) continue;
      const NodeSymbol node = graph.producer(symbols[k]);
      return GraphDifference{setting.text, graph.text(symbols[k]),
                             node ? graph.text(node) : "no node", *what};
    }
  } catch (const Error& error) {
    return GraphDifference{.setting = setting.text, .symbol = {}, .node = {}, .what = error.what()};
  }
  return std::nullopt;
}

/// Returns the values of all nodes, in the order of nodes.
std::vector<TensorSymbol> all_values(const SymbolicGraph& graph) {
  std::vector<TensorSymbol> symbols;
  for (const std::uint32_t node : topological_order(graph))
    for (const std::uint32_t output : graph.nodes()[node].outputs)
      if (output != kNoIndex) symbols.push_back(graph.at(output));
  return symbols;
}

}  // namespace

namespace {

std::string text_of_streams(int streams) {
  return fmt::format("{} stream{}", streams, streams == 1 ? "" : "s");
}

/// Appends the ways to share memory: in place or not, planned or separate, and the orders.
void append_memory(std::vector<GraphSetting>& settings, int streams) {
  constexpr std::array orders = {EvaluationOrder::least, EvaluationOrder::program,
                                 EvaluationOrder::depth_first, EvaluationOrder::greedy};
  constexpr std::array names = {"least", "program", "depth_first", "greedy"};
  for (const bool in_place : {true, false})
    for (const MemoryMode memory : {MemoryMode::planned, MemoryMode::separate})
      for (std::size_t order = 0; order < orders.size(); ++order) {
        if (memory == MemoryMode::separate && (in_place || order > 0)) continue;
        settings.push_back(
            {fmt::format("{}, {}, {}, order {}", text_of_streams(streams),
                         in_place ? "in place" : "not in place",
                         memory == MemoryMode::planned ? "planned" : "separate", names[order]),
             {.streams = streams,
              .in_place = in_place,
              .order = orders[order],
              .memory = memory,
              .poison = true}});
      }
}

/// Appends the planners that compile() does not take by itself.
void append_planners(std::vector<GraphSetting>& settings, int streams) {
  const auto append = [&](const char* name, const MemoryPlanOptions& plan) {
    settings.push_back({fmt::format("{}, planner {}", text_of_streams(streams), name),
                        {.streams = streams, .poison = true, .plan = plan}});
  };
  append("packing, fast", {.effort = MemoryEffort::fast});
  append("seed", {.planner = MemoryPlanner::seed});
}

void append_passes(std::vector<GraphSetting>& settings) {
  const auto append = [&](const std::string& name, std::vector<std::string> passes) {
    settings.push_back({name, {.poison = true, .passes = std::move(passes)}});
  };
  append("no pass", {});
  for (const std::string& pass : default_passes())
    append(fmt::format("pass {} alone", pass), {pass});
}

}  // namespace

std::vector<GraphSetting> graph_settings(int streams) {
  std::vector<GraphSetting> settings;
  for (int k = 1; k <= streams; ++k) {
    append_memory(settings, k);
    append_planners(settings, k);
  }
  append_passes(settings);
  return settings;
}

GraphReference graph_reference(const SymbolicGraph& graph, const std::string& file,
                               std::uint64_t seed, Context& context) {
  constexpr std::uint64_t kMaxSeeds = 10;
  if (graph.outputs().empty())
    throw Error(fmt::format("{} has no outputs: nothing is there to compare", graph.name()));
  GraphReference reference;
  for (std::uint64_t k = 0; k < kMaxSeeds; ++k) {
    GraphInputs inputs = graph_inputs(graph, file, seed + k);
    reference.inputs = std::move(inputs.tensors);
    reference.seed = seed + k;
    try {
      reference.outputs = evaluate(graph, reference.inputs, graph.outputs(), {.context = &context});
      return reference;
    } catch (const Error& error) {
      if (!inputs.some_are_random) throw;
      reference.refused.push_back(fmt::format("seed {}: {}", reference.seed, error.what()));
    }
  }
  throw Error(
      fmt::format("{}; so do the inputs of {} more seeds fail; --inputs FILE.npz gives them",
                  reference.refused.front(), kMaxSeeds - 1));
}

std::optional<GraphDifference> check_graph(const SymbolicGraph& graph,
                                           const GraphReference& reference,
                                           std::span<const GraphSetting> settings, Context& context,
                                           const std::function<void(std::size_t)>& watch) {
  const std::vector<TensorSymbol> outputs = graph.outputs();
  for (std::size_t k = 0; k < settings.size(); ++k) {
    watch(k);
    const auto found =
        compare(graph, reference.inputs, settings[k], outputs, reference.outputs, context);
    if (!found) continue;
    if (found->symbol.empty()) return found;
    const std::vector<TensorSymbol> all = all_values(graph);
    const auto first =
        compare(graph, reference.inputs, settings[k], all,
                evaluate(graph, reference.inputs, all, {.context = &context}), context);
    return first && !first->symbol.empty() ? first : found;
  }
  return std::nullopt;
}

}  // namespace mote::tool
