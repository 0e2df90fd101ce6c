// SPDX-License-Identifier: Apache-2.0
#include "compile_leg.h"

#include <algorithm>
#include <array>
#include <sstream>

#include "mote/base/error.h"
#include "mote/runtime/status.h"
#include "mote/symbolic/compile.h"
#include "mote/symbolic/dependencies.h"
#include "mote/symbolic/evaluate.h"
#include "plan_check.h"

namespace mote::test {
namespace {

constexpr std::array kOrders = {"least", "program", "depth_first", "greedy"};

/// Enough for a search to find other places than the packings do.
constexpr std::uint64_t kSearchSteps = 20000;

std::vector<std::string> list_of(const std::string& text) {
  std::vector<std::string> names;
  std::istringstream parts(text);
  for (std::string name; std::getline(parts, name, ',');)
    if (!name.empty() && name != "none") names.push_back(name);
  return names;
}

/// The outputs that may be bound: roots that nodes write.
std::vector<TensorSymbol> bindable_outputs(const SymbolicGraph& graph) {
  std::vector<TensorSymbol> bindable;
  for (const TensorSymbol output : graph.outputs()) {
    const SymbolInfo& info = graph.info(output);
    if (info.root == output.index &&
        (info.kind == SymbolOrigin::tensor || info.kind == SymbolOrigin::zeros))
      bindable.push_back(output);
  }
  return bindable;
}

/// Memory of that form; what lies between elements is the caller's and must stay.
Tensor memory_of_form(const TensorForm& form) { return Tensor(form.dtype, form.shape); }

void count_report(const CompileReport& report, const CompileOptions& options, Counts& counts) {
  if (report.in_place_pairs > 0) ++counts["compiled in place"];
  if (has_shared_memory(report)) ++counts["compiled with shared memory"];
  if (has_several_streams(report)) ++counts["compiled for several streams"];
  if (!options.bound.empty()) ++counts["compiled with bound outputs"];
  if (options.poison) ++counts["compiled with poison"];
  const auto fills = [](const CompiledNode& n) { return n.text.starts_with("zeros of "); };
  if (std::ranges::any_of(report.nodes, fills)) ++counts["compiled with a fill of zeros"];
}

}  // namespace

Context& shared_context() {
  static Context context({.workers = 4});
  return context;
}

std::string setting(const std::map<std::string, std::string>& settings, const std::string& name,
                    const std::string& otherwise) {
  const auto found = settings.find(name);
  return found == settings.end() ? otherwise : found->second;
}

CompileOptions options_of(const SymbolicGraph& graph,
                          const std::map<std::string, std::string>& settings) {
  CompileOptions options;
  options.outputs = graph.outputs();
  options.streams = std::stoi(setting(settings, "streams", "1"));
  options.in_place = setting(settings, "in_place", "1") == "1";
  options.poison = setting(settings, "poison", "0") == "1";
  const std::string order = setting(settings, "order", "least");
  const auto at = std::ranges::find(kOrders, order);
  if (at == kOrders.end()) throw Error("compile: unknown order " + order);
  options.order = static_cast<EvaluationOrder>(at - kOrders.begin());
  options.memory = setting(settings, "memory", "planned") == "planned" ? MemoryMode::planned
                                                                       : MemoryMode::separate;
  options.plan.planner = setting(settings, "planner", "packing") == "seed" ? MemoryPlanner::seed
                                                                           : MemoryPlanner::packing;
  options.plan.effort =
      setting(settings, "effort", "fast") == "fast" ? MemoryEffort::fast : MemoryEffort::normal;
  options.plan.steps = kSearchSteps;
  if (const auto passes = settings.find("passes"); passes != settings.end())
    options.passes = list_of(passes->second);
  if (setting(settings, "bound", "0") == "1") {
    for (const TensorSymbol output : bindable_outputs(graph))
      if (graph.form(output).strides == memory_of_form(graph.form(output)).strides())
        options.bound.push_back(output);
  }
  return options;
}

Executable compiled(const SymbolicGraph& graph, const CompileOptions& options, Context& context) {
  Executable executable = compile(graph, options, context);
  for (const TensorSymbol bound : options.bound)
    executable.bind(bound, memory_of_form(graph.form(bound)));
  return executable;
}

std::vector<Tensor> outputs_of(const SymbolicGraph& graph, const Executable& executable) {
  std::vector<Tensor> values;
  for (const TensorSymbol output : graph.outputs()) values.push_back(executable.output(output));
  return values;
}

std::vector<TensorBinding> inputs_of(const SymbolicGraph& forms, const SymbolicGraph& handles,
                                     const GraphData& data) {
  std::vector<TensorBinding> bindings;
  for (const InputValue& input : input_values(forms, data))
    bindings.emplace_back(handles.at(input.symbol), input.value);
  return bindings;
}

std::string some_compile_settings(Rng& rng) {
  std::string leg = "streams=" + std::to_string(rng.pick({1, 1, 2, 3, 4}));
  leg += std::string(" order=") + kOrders.at(static_cast<std::size_t>(rng.below(4)));
  leg += rng.chance(85) ? " memory=planned" : " memory=separate";
  leg += rng.chance(80) ? " in_place=1" : " in_place=0";
  leg += rng.chance(50) ? " poison=1" : " poison=0";
  leg += rng.chance(70) ? " planner=packing" : " planner=seed";
  leg += rng.chance(70) ? " effort=fast" : " effort=normal";
  leg += rng.chance(30) ? " bound=1" : " bound=0";
  leg += rng.chance(50) ? " runs=2" : " runs=1";
  return leg;
}

/// P13: an order that is chosen never needs more memory than the given one.
std::optional<std::string> needless_memory(const SymbolicGraph& graph, const CompileReport& report,
                                           CompileOptions options, Counts& counts) {
  if (options.order != EvaluationOrder::least) return std::nullopt;
  options.order = EvaluationOrder::program;
  const std::size_t given = plan_graph(graph, options, shared_context()).arena_bytes;
  if (report.arena_bytes < given) ++counts["planned in fewer bytes by another order"];
  if (report.arena_bytes <= given) return std::nullopt;
  return "the order least needs " + std::to_string(report.arena_bytes) +
         " bytes, that of the program " + std::to_string(given);
}

/// Runs the nodes that come first, and then the others: each part waits for what it needs of it.
std::optional<std::string> check_parts(const GraphSubject& subject, const SymbolicGraph& graph,
                                       Executable& executable, Counts& counts) {
  // Tapes, and what pointers show, last as long as one run.
  if (executable.report().has_control) return std::nullopt;
  Graph& concrete = executable.graph();
  const std::vector<GraphNode> nodes = concrete.nodes();
  const std::vector<std::uint32_t> order = concrete.schedule().order;
  std::vector<GraphNode> first, rest;
  for (std::size_t k = 0; k < order.size(); ++k)
    (2 * k < order.size() ? first : rest).push_back(nodes[order[k]]);
  if (rest.empty()) return std::nullopt;
  for (const GraphPart part : {concrete.part({}, first), concrete.part(rest, {})}) {
    concrete.run(part);
    if (auto found = race(executable, part)) return "in a part: " + *found;
  }
  ++counts["run in two parts on several streams"];
  return subject.difference(outputs_of(graph, executable));
}

std::optional<std::string> check_compiled(const GraphSubject& subject, const SymbolicGraph& graph,
                                          const std::map<std::string, std::string>& settings,
                                          Counts& counts) {
  const CompileOptions options = options_of(graph, settings);
  Executable executable = compiled(graph, options, shared_context());
  count_report(executable.report(), options, counts);
  if (auto found = misplaced(executable.report())) return found;
  if (const std::size_t bytes = executable.report().copied_bytes; bytes > 0)
    return "loops and branches copy " + std::to_string(bytes) + " bytes";
  if (auto found = needless_memory(graph, executable.report(), options, counts)) return found;
  if (setting(settings, "runs", "1") == "2") {
    const GraphData other{subject.data().fill, subject.data().seed + 1};
    executable.run(inputs_of(graph, graph, other));
    ++counts["compiled and run twice"];
  }
  executable.run(subject.bindings_by_index(graph));
  if (auto found = race(executable)) return found;
  if (auto found = lost_value(executable.graph()))
    return *found + "\n" + to_text(executable.report());
  if (auto found = subject.difference(outputs_of(graph, executable))) return found;
  if (!has_several_streams(executable.report())) return std::nullopt;
  GraphTrace trace;
  executable.graph().trace_to(&trace);
  executable.run();
  executable.graph().trace_to(nullptr);
  if (has_overlapped(trace)) ++counts["run on several streams at once"];
  if (auto found = subject.difference(outputs_of(graph, executable))) return found;
  return check_parts(subject, graph, executable, counts);
}

}  // namespace mote::test
