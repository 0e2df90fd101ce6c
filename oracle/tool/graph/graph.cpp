// SPDX-License-Identifier: Apache-2.0
// Implements `mote graph`: shows, plans, runs, checks and draws a graph that stands in a file.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "array_text.h"
#include "commands.h"
#include "graph/bound.h"
#include "graph/graph_file.h"
#include "graph/memory_file.h"
#include "graph/settings.h"
#include "mote/base/error.h"
#include "mote/graph/picture.h"
#include "mote/npz/npz.h"
#include "mote/oracle/quantity.h"
#include "mote/runtime/plugins.h"
#include "mote/symbolic/compile.h"
#include "mote/symbolic/dependencies.h"
#include "mote/symbolic/gradient.h"
#include "mote/symbolic/pass.h"
#include "mote/symbolic/text.h"
#include "terminal.h"

namespace mote::tool {
namespace {

struct GraphArguments {
  std::string file;
  std::string grad;
  int streams = 1;
  bool json = false;
  std::string html;
  std::string inputs;
  std::string seed = "0";
  int repeat = 1;
  std::string output;
  std::string capacity;
  std::string trace;
  bool whole = false;
  bool separate = false;
  bool not_in_place = false;
  bool bound = false;
  bool inexact = false;
  bool without_nan = false;
  std::vector<std::string> plugins;
};

/// The backends of plug-ins are asked first, in the order of loading.
ContextOptions context_of(const GraphArguments& options) {
  ContextOptions context;
  for (const std::string& path : split_paths(options.plugins))
    std::ranges::copy(load_backends(path), std::back_inserter(context.backends));
  return context;
}

/// Reads the graph and adds its gradient. Shapes may stay open if nothing asks for them. If results
/// may be rounded otherwise, what the context's backends compute as a whole is replaced before the
/// gradient is added, or in a graph that is shown.
SymbolicGraph graph_of(const GraphArguments& options, Context& context, bool needs_shapes = true,
                       bool is_shown = false) {
  SymbolicGraph graph = read_graph(options.file);
  if (!options.inputs.empty()) give_shapes(graph, options.inputs);
  if (needs_shapes) check_shapes(graph);
  if (options.inexact && (is_shown || !options.grad.empty()))
    apply_passes(graph, std::vector<std::string>{"replace"},
                 {.context = &context, .inexact = true});
  add_gradient(graph, options.grad);
  verify(graph);
  return graph;
}

CompileOptions compile_options(const GraphArguments& options) {
  return {.streams = options.streams,
          .in_place = !options.not_in_place,
          .memory = options.separate ? MemoryMode::separate : MemoryMode::planned,
          .inexact = options.inexact,
          .without_nan = options.without_nan};
}

int show(const GraphArguments& options) {
  Context context(context_of(options));
  const SymbolicGraph graph = graph_of(options, context, !options.grad.empty(), true);
  if (options.json) {
    std::size_t nodes = 0;
    for (const NodeInfo& node : graph.nodes()) nodes += node.removed ? 0 : 1;
    const nlohmann::json all = {
        {"graph", graph.name()}, {"nodes", nodes}, {"text", to_text(graph)}};
    print(all.dump() + "\n");
    return 0;
  }
  print(to_text(graph));
  return 0;
}

std::uint64_t seed_of(const GraphArguments& options) {
  return parse_whole("seed", options.seed, 0, std::numeric_limits<std::uint64_t>::max());
}

/// Refuses options of graphs for blocks, which are no graph.
void check_block_options(const GraphArguments& options) {
  const std::pair<const char*, bool> of_graphs[] = {
      {"--grad", !options.grad.empty()},      {"--streams", options.streams != 1},
      {"--separate", options.separate},       {"--not-in-place", options.not_in_place},
      {"--plugin", !options.plugins.empty()}, {"--inexact", options.inexact},
      {"--without-nan", options.without_nan}, {"--inputs", !options.inputs.empty()}};
  for (const auto& [name, is_given] : of_graphs)
    if (is_given)
      throw Error(
          fmt::format("graph plan: {} is for a graph, and {} has blocks", name, options.file));
}

int plan(const GraphArguments& options) {
  if (options.file.ends_with(".csv")) {
    check_block_options(options);
    const std::uint64_t capacity = options.capacity.empty()
                                       ? 0
                                       : parse_whole("capacity", options.capacity, 1,
                                                     std::numeric_limits<std::uint64_t>::max());
    return plan_memory_file(options.file, {.capacity = capacity,
                                           .json = options.json,
                                           .html = options.html,
                                           .output = options.output});
  }
  if (!options.capacity.empty() || !options.output.empty())
    throw Error("graph plan: --capacity and -o are for FILE.csv");
  Context context(context_of(options));
  const SymbolicGraph graph = graph_of(options, context);
  const CompileReport report = plan_graph(graph, compile_options(options), context);
  if (!options.html.empty())
    write_text(options.html, picture_page(to_svg(report), to_text(report)));
  print(options.json ? to_json(report) + "\n" : to_text(report));
  return 0;
}

int dot(const GraphArguments& options) {
  Context context(context_of(options));
  const SymbolicGraph graph = graph_of(options, context);
  Executable executable = compile(graph, compile_options(options), context);
  print(to_dot(executable.graph()));
  return 0;
}

TensorValues values_of(const std::string& name, const Tensor& tensor) {
  const Tensor whole = clone(tensor);
  TensorValues values{.name = name, .dtype = whole.dtype(), .shape = {}, .elements = {}};
  for (const std::int64_t extent : whole.shape()) values.shape.push_back(extent);
  values.elements.resize(static_cast<std::size_t>(whole.element_count()) * size_of(whole.dtype()));
  if (!values.elements.empty())
    std::memcpy(values.elements.data(), whole.data(), values.elements.size());
  return values;
}

int run(const GraphArguments& options) {
  Context context(context_of(options));
  const SymbolicGraph graph = graph_of(options, context);
  Executable executable = compile(graph, compile_options(options), context);
  GraphTrace trace;
  if (!options.trace.empty()) executable.graph().trace_to(&trace);
  for (const auto& [symbol, tensor] : graph_inputs(graph, options.inputs, seed_of(options)).tensors)
    executable.bind(symbol, tensor);
  StatusLine status(!options.json);
  const auto runs = static_cast<std::size_t>(options.repeat);
  for (std::size_t k = 0; k < runs; ++k) {
    if (status.is_due()) status.show(progress_bar(k, runs) + ": running");
    executable.run();
  }
  status.clear();
  if (!options.trace.empty()) {
    write_text(options.trace, to_trace_json(executable.graph(), trace));
    executable.graph().trace_to(nullptr);
  }
  NamedTensors outputs;
  for (const TensorSymbol symbol : graph.outputs()) {
    const TensorValues values = values_of(graph.text(symbol), executable.output(symbol));
    if (!options.output.empty())
      outputs.insert_or_assign(values.name, clone(executable.output(symbol)));
    else
      print(options.json ? array_json(values, "output") : array_text(values, options.whole));
  }
  if (!options.output.empty()) {
    write_npz(options.output, outputs);
    print(options.output + "\n");
  }
  return 0;
}

std::string check_text(const SymbolicGraph& graph, std::size_t settings,
                       const std::optional<GraphDifference>& found) {
  if (!found)
    return fmt::format("passed: {}: {} settings give the bits of the nodes run one by one\n",
                       graph.name(), settings);
  if (found->symbol.empty())
    return fmt::format(
        "FAILED: {}: it cannot be run, and its nodes one by one can\n  {}\n  with {}\n",
        graph.name(), found->what, found->setting);
  return fmt::format("FAILED: {}: {} differs first\n  {}\n  computed by {}\n  with {}\n",
                     graph.name(), found->symbol, found->what, found->node, found->setting);
}

std::string check_json(const SymbolicGraph& graph, std::size_t settings, std::uint64_t seed,
                       const std::optional<GraphDifference>& found) {
  nlohmann::json line = {
      {"graph", graph.name()}, {"settings", settings}, {"seed", seed}, {"passed", !found}};
  if (found)
    line.update({{"setting", found->setting},
                 {"symbol", found->symbol},
                 {"node", found->node},
                 {"what", found->what}});
  return line.dump() + "\n";
}

int check(const GraphArguments& options) {
  Context context(context_of(options));
  const SymbolicGraph graph = graph_of(options, context);
  const std::vector<GraphSetting> settings = graph_settings(std::max(options.streams, 1));
  StatusLine status(!options.json);
  const auto watch = [&](std::size_t k) {
    if (status.is_due()) status.show(progress_bar(k, settings.size()) + ": " + settings[k].text);
  };
  const GraphReference reference =
      graph_reference(graph, options.inputs, seed_of(options), context);
  const auto found = check_graph(graph, reference, settings, context, watch);
  status.clear();
  for (const std::string& reason : reference.refused)
    if (!options.json) print("left out: inputs of " + reason + "\n");
  print(options.json ? check_json(graph, settings.size(), reference.seed, found)
                     : check_text(graph, settings.size(), found));
  if (found) return 1;
  return options.bound ? check_by_bound(graph, reference, context, options.json) : 0;
}

using Function = int (*)(const GraphArguments&);

CLI::App* add_command(CLI::App& graph, const char* name, const char* about, Function function,
                      const std::shared_ptr<GraphArguments>& options, Action& action) {
  CLI::App* command = graph.add_subcommand(name, about);
  command->add_option("FILE", options->file, "a graph as text; -: standard input")->required();
  command
      ->add_option("--grad", options->grad,
                   "add the gradient of a symbol: WHAT, or WHAT:INPUT,… for some inputs")
      ->type_name("WHAT");
  command->callback([options, function, &action] {
    action = [options, function] { return function(*options); };
  });
  return command;
}

void add_kernel_options(CLI::App* command, GraphArguments& options) {
  add_list(*command, "--plugin", options.plugins, "LIB.so", "ask a library's kernels first");
  command->add_flag("--inexact", options.inexact,
                    "replace what a library computes as a whole, with other roundings");
}

void add_compile_options(CLI::App* command, GraphArguments& options) {
  command->add_option("--streams", options.streams, "streams of the host; default 1")
      ->type_name("K")
      ->check(CLI::Range(1, 64).description(""));
  command->add_flag("--separate", options.separate, "each tensor in memory of its own");
  command->add_flag("--not-in-place", options.not_in_place,
                    "no output takes the memory of an input");
  add_kernel_options(command, options);
  command->add_flag("--without-nan", options.without_nan,
                    "ask kernels too that promise nothing where a NaN or an infinity is");
}

void add_shapes_option(CLI::App* command, GraphArguments& options) {
  command->add_option("--inputs", options.inputs, "the inputs by name, for shapes left open")
      ->type_name("FILE.npz");
}

void add_input_options(CLI::App* command, GraphArguments& options) {
  command->add_option("--inputs", options.inputs, "the inputs by name; others are random")
      ->type_name("FILE.npz");
  command->add_option("--seed", options.seed, "of random inputs; default 0")->type_name("S");
}

}  // namespace

void add_graph(CLI::App& app, Action& action) {
  const auto options = std::make_shared<GraphArguments>();
  CLI::App* graph = app.add_subcommand("graph", "show, plan, run, check or draw a graph of ops");
  graph->require_subcommand(1);
  CLI::App* command =
      add_command(*graph, "show", "print the graph, with a gradient", show, options, action);
  add_shapes_option(command, *options);
  add_kernel_options(command, *options);
  command->add_flag("--json", options->json, "one line of JSON");

  command = add_command(*graph, "plan",
                        "print the nodes in their order, and the planned memory; of FILE.csv, "
                        "blocks in MiniMalloc's format",
                        plan, options, action);
  add_compile_options(command, *options);
  add_shapes_option(command, *options);
  command->add_flag("--json", options->json, "JSON");
  command->add_option("--html", options->html, "a page with a picture of memory over time")
      ->type_name("FILE");
  command
      ->add_option("--capacity", options->capacity,
                   "of FILE.csv: bytes that suffice; exit code 1 if the plan needs more")
      ->type_name("BYTES");
  command->add_option("-o", options->output, "of FILE.csv: write the blocks with their offsets")
      ->type_name("FILE.csv");

  command = add_command(*graph, "run", "run the graph and print its outputs", run, options, action);
  add_compile_options(command, *options);
  add_input_options(command, *options);
  command->add_option("--repeat", options->repeat, "runs; default 1")
      ->type_name("N")
      ->check(CLI::Range(1, 1000000000).description(""));
  CLI::Option* json = command->add_flag("--json", options->json, "a line of JSON for each output");
  command->add_flag("--whole", options->whole, "all elements, however many there are");
  command->add_option("-o", options->output, "write the outputs to that file")
      ->type_name("FILE.npz")
      ->excludes(json);
  command->add_option("--trace", options->trace, "write when each node ran, for a trace viewer")
      ->type_name("FILE.json");

  command = add_command(*graph, "check",
                        "compare every way to compile the graph with its nodes run one by one",
                        check, options, action);
  command->add_option("--streams", options->streams, "most streams; default 1")
      ->type_name("K")
      ->check(CLI::Range(1, 64).description(""));
  add_list(*command, "--plugin", options->plugins, "LIB.so", "ask a library's kernels first");
  add_input_options(command, *options);
  command->add_flag("--bound", options->bound,
                    "judge the outputs by the error bound of the whole graph too");
  command->add_flag("--json", options->json, "one line of JSON for each of the two");

  command = add_command(*graph, "dot", "print the graph for Graphviz", dot, options, action);
  add_compile_options(command, *options);
  add_shapes_option(command, *options);
}

}  // namespace mote::tool
