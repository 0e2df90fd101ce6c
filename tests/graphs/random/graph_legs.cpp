// SPDX-License-Identifier: Apache-2.0
#include "graph_legs.h"

#include <algorithm>
#include <sstream>

#include "attribute_leg.h"
#include "checkpoint/worth.h"
#include "codegen/random/rng.h"
#include "compile_leg.h"
#include "dynamic_leg.h"
#include "edit_graph.h"
#include "kernels_leg.h"
#include "mote/base/error.h"
#include "mote/runtime/status.h"
#include "mote/symbolic/checkpoint.h"
#include "mote/symbolic/dependencies.h"
#include "mote/symbolic/evaluate.h"
#include "mote/symbolic/pass.h"
#include "mote/symbolic/text.h"
#include "shapes_leg.h"
#include "tangents.h"
#include "tune_leg.h"
#include "two_leg.h"

namespace mote::test {
namespace {

/// The graph built again from its nodes, as edits of the shrinker do.
std::optional<std::string> check_rebuilt(const GraphSubject& subject) {
  const std::optional<SymbolicGraph> again = edited(subject.graph(), {});
  if (!again) return "the graph cannot be built again";
  return subject.difference(evaluate(*again, subject.bindings_by_name(*again), again->outputs()));
}

std::size_t order_edges(const SymbolicGraph& graph) {
  std::size_t edges = 0;
  for (const NodeInfo& node : graph.nodes()) edges += node.after.size();
  return edges;
}

/// The printed text reads back as a graph that prints and evaluates equally.
std::optional<std::string> check_text(const GraphSubject& subject) {
  const std::string text = to_text(subject.graph());
  const SymbolicGraph again = parse_graph(text);
  const std::string second = to_text(again);
  if (second != text) return "reads back as\n" + second + "instead of\n" + text;
  if (order_edges(again) != order_edges(subject.graph())) return "order without data is lost";
  return subject.difference(evaluate(again, subject.bindings_by_name(again), again.outputs()));
}

bool is_random(const NodeInfo& node) {
  return !node.removed && node.kind == NodeKind::command &&
         std::string_view(node.command->definition().family) == "random";
}

std::ptrdiff_t random_nodes(const SymbolicGraph& graph) {
  return std::ranges::count_if(graph.nodes(), is_random);
}

/// The passes, each verified, and then the nodes one by one.
std::optional<std::string> check_passes(const GraphSubject& subject, const std::string& list,
                                        Counts& counts) {
  const std::vector<std::string> names = names_in(list);
  SymbolicGraph graph = subject.graph();
  for (const PassReport& report : apply_passes(graph, names, {.verify = true}))
    if (report.changed) ++counts["changed by pass " + report.pass];
  if (std::ranges::find(names, "prune") == names.end() &&
      random_nodes(graph) != random_nodes(subject.graph()))
    return "a pass has removed a random node";
  return subject.difference(evaluate(graph, subject.bindings_by_index(graph), graph.outputs()));
}

std::optional<std::string> check_exact_derivatives(const GraphSubject& subject, Counts& counts) {
  std::string why_not;
  const auto found = check_derivatives(subject.graph(), subject.data().seed, why_not);
  ++counts[why_not.empty() ? "derivatives decided" : "derivatives not decided: " + why_not];
  return found;
}

std::optional<std::string> check_symmetry(const GraphSubject& subject, Counts& counts) {
  std::string why_not;
  const auto found = check_second_order(subject.graph(), subject.data().seed, why_not);
  if (why_not.empty()) ++counts["second derivatives decided"];
  return found;
}

std::ptrdiff_t recomputed_nodes(const SymbolicGraph& graph) {
  return std::ranges::count_if(
      graph.nodes(), [](const NodeInfo& node) { return !node.removed && node.recomputed > 0; });
}

CheckpointPolicy policy_of(const std::string& name) {
  if (name == "square_root") return CheckpointPolicy::square_root;
  if (name == "binomial") return CheckpointPolicy::binomial;
  if (name == "cheap") return CheckpointPolicy::cheap;
  throw Error("checkpoint: unknown policy " + name);
}

/// Some values are computed again instead of kept: by nodes one by one, and compiled.
std::optional<std::string> check_checkpointed(const GraphSubject& subject,
                                              const std::map<std::string, std::string>& settings,
                                              Counts& counts) {
  SymbolicGraph graph = subject.graph();
  std::vector<TensorSymbol> losses = graph.outputs();
  losses.resize((losses.size() + 1) / 2);
  const CheckpointOptions options{.policy = policy_of(settings.at("policy")), .slots = 2};
  std::size_t copies = 0;
  try {
    copies = checkpoint(graph, losses, options).copies;
  } catch (const StatusError&) {
    if (options.policy != CheckpointPolicy::binomial) throw;
    return std::nullopt;  // it takes chains only
  }
  verify(graph);
  if (auto found =
          subject.difference(evaluate(graph, subject.bindings_by_index(graph), graph.outputs())))
    return found;
  if (copies == 0) return std::nullopt;
  ++counts["nodes computed again"];
  SymbolicGraph merged = graph;
  apply_passes(merged, names_in("merge"));
  if (recomputed_nodes(merged) != recomputed_nodes(graph))
    return "nodes that are computed again were merged";
  const SymbolicGraph source = subject.graph();
  const std::uint64_t least = least_bytes(after_passes(source, nullptr));
  const std::uint64_t planned = planned_bytes(after_passes(graph, nullptr), nullptr);
  if (planned < least)
    return "the checkpointed graph needs " + std::to_string(planned) + " bytes, and " +
           std::to_string(least) + " are said to be the least";
  if (least > 0) ++counts["checkpointed with a least number of bytes"];
  const auto is_drawn_again = [](const NodeInfo& n) { return n.recomputed > 0 && is_random(n); };
  if (std::ranges::any_of(graph.nodes(), is_drawn_again)) ++counts["random nodes computed again"];
  return check_compiled(subject, graph, settings, counts);
}

std::string some_passes_leg(Rng& rng) {
  std::vector<std::string> names = own_passes();
  rng.shuffle(names);
  if (rng.chance(60)) names.resize(1);
  return "passes of=" + list_of(names);
}

}  // namespace

std::vector<std::string> legs_for(std::uint64_t seed) {
  Rng rng(seed ^ 0x1e65);
  std::vector<std::string> legs = {"text"};
  if (rng.chance(20)) legs.emplace_back("rebuilt");
  for (int k = 0; k < 2; ++k) legs.push_back(some_passes_leg(rng));
  for (int k = 0; k < 3; ++k) legs.push_back("compile " + some_compile_settings(rng));
  legs.push_back(std::string("checkpoint policy=") +
                 rng.pick<const char*>({"square_root", "cheap", "binomial"}));
  legs.back() += " " + some_compile_settings(rng);
  legs.push_back(some_shapes_leg(rng));
  for (int k = 0; k < 2; ++k) legs.push_back(some_dynamic_leg(rng));
  legs.push_back(some_attribute_leg(rng));
  legs.push_back(
      rng.pick<std::string (*)(Rng&)>({[](Rng& r) { return some_tune_leg(r); }, some_kernels_leg,
                                       some_kernels_leg, some_two_leg})(rng));
  return legs;
}

std::vector<std::string> exact_legs_for(std::uint64_t seed) {
  Rng rng(seed ^ 0xd1e65);
  std::vector<std::string> legs = {"derivatives", "second", some_exact_dynamic_leg(rng),
                                   some_shapes_leg(rng, true)};
  if (rng.chance(25)) legs.push_back(some_tune_leg(rng, true));
  return legs;
}

std::optional<std::string> check_leg(const GraphSubject& subject, const std::string& leg,
                                     Counts& counts) {
  std::istringstream words(leg);
  std::string kind;
  words >> kind;
  std::map<std::string, std::string> settings;
  for (std::string word; words >> word;) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos) throw Error("leg '" + leg + "': expected NAME=VALUE");
    settings[word.substr(0, equals)] = word.substr(equals + 1);
  }
  ++counts["leg " + kind];
  if (kind == "rebuilt") return check_rebuilt(subject);
  if (kind == "text") return check_text(subject);
  if (kind == "compile") return check_compiled(subject, subject.graph(), settings, counts);
  if (kind == "passes") return check_passes(subject, settings["of"], counts);
  if (kind == "attributes") return check_attributes(subject, settings["of"], counts);
  if (kind == "checkpoint") return check_checkpointed(subject, settings, counts);
  if (kind == "shapes") return check_other_shapes(subject, settings, counts);
  if (kind == "dynamic") return check_dynamic(subject, settings, counts);
  if (kind == "tune") return check_tuned(subject, settings, counts);
  if (kind == "kernels") return check_kernels(subject, settings, counts);
  if (kind == "two") return check_two(subject, settings, counts);
  if (kind == "derivatives") return check_exact_derivatives(subject, counts);
  if (kind == "second") return check_symmetry(subject, counts);
  throw Error(
      "leg '" + leg +
      "': expected rebuilt, text, passes, attributes, compile, checkpoint, shapes, dynamic, "
      "tune, kernels, two, derivatives, second");
}

std::vector<std::string> counted_by_legs() {
  std::vector<std::string> names = {"leg rebuilt",
                                    "leg text",
                                    "compiled in place",
                                    "compiled with shared memory",
                                    "compiled for several streams",
                                    "run on several streams at once",
                                    "run in two parts on several streams",
                                    "compiled with bound outputs",
                                    "compiled with poison",
                                    "compiled with a fill of zeros",
                                    "compiled and run twice",
                                    "run with other shapes",
                                    "gradient run with other shapes",
                                    "gradient with the bits of one for other shapes",
                                    "run in the memory of larger shapes",
                                    "run at the largest shapes, which are not its own",
                                    "nodes computed again",
                                    "random nodes computed again",
                                    "checkpointed with a least number of bytes",
                                    "graph with its gradient",
                                    "derivatives decided",
                                    "second derivatives decided"};
  for (const auto& counted :
       {counted_by_dynamic_leg(), counted_by_attribute_leg(), counted_by_tune_leg(),
        counted_by_kernels_leg(), counted_by_two_leg()})
    names.insert(names.end(), counted.begin(), counted.end());
  for (const std::string& pass : own_passes()) names.push_back("changed by pass " + pass);
  return names;
}

}  // namespace mote::test
