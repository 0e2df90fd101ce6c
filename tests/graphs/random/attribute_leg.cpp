// SPDX-License-Identifier: Apache-2.0
#include "attribute_leg.h"

#include <algorithm>
#include <sstream>
#include <utility>

#include "mote/memory/check.h"
#include "mote/memory/plan.h"
#include "mote/runtime/status.h"
#include "mote/symbolic/attributes.h"
#include "mote/symbolic/dependencies.h"
#include "mote/symbolic/evaluate.h"
#include "mote/symbolic/pass.h"

namespace mote::test {
namespace {

constexpr const char* kFind = "lifetimes";
constexpr const char* kPlan = "plan";

/// The bytes of a root that nodes write, and the positions of nodes between which it is needed.
struct Needed {
  std::size_t bytes = 0;
  Lifetime life;
};
constexpr SymbolAttribute<Needed> kLifetimes{kFind};

/// Returns what memory a run of the nodes in topological order needs, by symbol.
std::map<std::uint32_t, Needed> lifetimes_of(const SymbolicGraph& graph) {
  std::map<std::uint32_t, Needed> found;
  const std::vector<std::uint32_t> order = topological_order(graph);
  const auto end = static_cast<std::int64_t>(order.size());
  const auto use = [&](std::uint32_t symbol, std::int64_t begin, std::int64_t last) {
    if (symbol == kNoIndex) return;
    const std::uint32_t root = graph.symbols()[symbol].root;
    const SymbolInfo& info = graph.symbols()[root];
    if (info.kind != SymbolOrigin::tensor && info.kind != SymbolOrigin::zeros) return;
    const auto bytes = static_cast<std::size_t>(info.form->bytes());
    Needed& needed = found.try_emplace(root, Needed{bytes, {begin, last}}).first->second;
    needed.life.begin = std::min(needed.life.begin, begin);
    needed.life.end = std::max(needed.life.end, last);
  };
  for (std::int64_t k = 0; k < end; ++k) {
    const NodeInfo& node = graph.nodes()[order[static_cast<std::size_t>(k)]];
    for (const std::uint32_t input : node.inputs) use(input, k, k + 1);
    for (const std::uint32_t output : node.outputs) use(output, k, k + 1);
  }
  for (const std::uint32_t output : graph.output_indices()) use(output, end, end + 1);
  return found;
}

std::string find_lifetimes(SymbolicGraph& graph, const PassOptions&) {
  graph.attributes().set(kLifetimes, {});
  for (const auto& [root, needed] : lifetimes_of(graph))
    graph.attributes().set(graph.at(root), kLifetimes, needed);
  return "";
}

/// Plans memory by the attribute, and checks the plan against what the graph needs.
std::string plan_by_attribute(SymbolicGraph& graph, const PassOptions&) {
  MemoryProblem problem, needs;
  std::vector<Lifetime> lives, needed_lives;
  const IndexColumn<Needed>& column = graph.attributes().at(kLifetimes);
  for (const auto& [root, needed] : lifetimes_of(graph)) {
    const std::string name = graph.text(graph.at(root));
    const Needed* const known = column.find(root);
    if (known == nullptr) throw StatusError(MOTE_INVALID, name + " has no lifetime");
    problem.blocks.push_back({known->bytes, kAlignment, name});
    needs.blocks.push_back({needed.bytes, kAlignment, name});
    lives.push_back(known->life);
    needed_lives.push_back(needed.life);
  }
  problem.interference = Interference::of_lifetimes(std::move(lives));
  needs.interference = Interference::of_lifetimes(std::move(needed_lives));
  const MemoryPlan plan = plan_memory(problem, {.effort = MemoryEffort::fast});
  if (const std::optional<Reason> wrong = check_memory_plan(needs, plan))
    throw StatusError(MOTE_INVALID,
                      "planned by the lifetimes of another structure: " + wrong->text);
  return "";
}

/// Registers the passes. They are no passes of mote's, so that other ways do not take them.
void register_once() {
  static const bool is_done = [] {
    register_pass({.name = kFind,
                   .summary = "Finds between which nodes tensors need memory.",
                   .provided = {kFind},
                   .run = find_lifetimes});
    register_pass({.name = kPlan,
                   .summary = "Plans memory by the lifetimes.",
                   .required = {kFind},
                   .run = plan_by_attribute});
    return true;
  }();
  static_cast<void>(is_done);
}

}  // namespace

std::vector<std::string> names_in(const std::string& list) {
  std::vector<std::string> names;
  std::istringstream parts(list);
  for (std::string name; std::getline(parts, name, ',');) names.push_back(name);
  return names;
}

std::string list_of(const std::vector<std::string>& names) {
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ",") + name;
  return list;
}

std::vector<std::string> own_passes() {
  std::vector<std::string> names = default_passes();
  std::ranges::sort(names);
  return names;
}

std::string some_attribute_leg(Rng& rng) {
  std::vector<std::string> names = own_passes();
  names.insert(names.end(), {kFind, kPlan});
  rng.shuffle(names);
  names.emplace_back(kPlan);
  return "attributes of=" + list_of(names);
}

std::optional<std::string> check_attributes(const GraphSubject& subject, const std::string& list,
                                            Counts& counts) {
  register_once();
  SymbolicGraph graph = subject.graph();
  std::size_t found = 0;
  for (const PassReport& report : apply_passes(graph, names_in(list), {.verify = true}))
    if (report.pass == kFind) ++found;
  ++counts["memory planned by an attribute"];
  if (found > 1) ++counts["an attribute found again for another structure"];
  return subject.difference(evaluate(graph, subject.bindings_by_index(graph), graph.outputs()));
}

std::vector<std::string> counted_by_attribute_leg() {
  return {"memory planned by an attribute", "an attribute found again for another structure"};
}

}  // namespace mote::test
