// SPDX-License-Identifier: Apache-2.0
// The graphs inside of a graph. The outermost one owns the states of all of them in one list, and
// nodes point into it: nothing here goes down by recursion, so that nests are as deep as memory
// allows.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "state.h"

namespace mote::graph {

Graph::State* adopt(Graph::State& state, std::unique_ptr<Graph::State> sub) {
  std::vector<std::unique_ptr<Graph::State>> inner = std::move(sub->subs);
  sub->subs.clear();
  if (inner.size() > state.subs.size()) std::swap(inner, state.subs);  // the shorter list moves
  state.subs.reserve(state.subs.size() + inner.size() + 1);
  for (std::unique_ptr<Graph::State>& s : inner) state.subs.push_back(std::move(s));
  state.subs.push_back(std::move(sub));
  return state.subs.back().get();
}

std::vector<SubLocation> sub_graphs_of(Graph::State& state) {
  std::vector<SubLocation> locations;
  if (state.subs.empty()) return locations;
  const auto list = [&](Graph::State& around) {
    for (const NodeRecord& node : around.nodes) {
      const ControlWork* work = node.removed ? nullptr : control_of(node);
      if (work == nullptr) continue;
      for (const SubGraph& sub : work->subs)
        locations.push_back({sub.state, &around, node.index, &sub});
    }
  };
  list(state);
  for (std::size_t k = 0; k < locations.size(); ++k) list(*locations[k].state);
  return locations;
}

void copy_sub_graphs(Graph::State& to, const Graph::State& from) {
  std::unordered_map<const Graph::State*, Graph::State*> copies;
  for (const std::unique_ptr<Graph::State>& sub : from.subs) {
    to.subs.push_back(std::make_unique<Graph::State>(*sub));  // it has no sub-graphs of its own
    copies.emplace(sub.get(), to.subs.back().get());
  }
  const auto point = [&](Graph::State& state) {
    for (NodeRecord& node : state.nodes) {
      const ControlWork* work = control_of(node);
      if (work == nullptr) continue;
      auto copied = std::make_shared<ControlWork>(*work);
      for (SubGraph& sub : copied->subs) sub.state = copies.at(sub.state);
      node.work = ControlNode{std::move(copied)};
    }
  };
  point(to);
  for (const std::unique_ptr<Graph::State>& sub : to.subs) point(*sub);
}

void each_chosen(const Graph::State& state, std::uint32_t tensor,
                 const std::function<void(std::uint32_t)>& use) {
  std::vector<std::uint32_t> open = {state.tensors[tensor].root};
  std::unordered_set<std::uint32_t> seen;
  while (!open.empty()) {
    const std::uint32_t t = open.back();
    open.pop_back();
    if (!seen.insert(t).second) continue;
    if (state.root_of(t).kind != TensorKind::choice) {
      use(t);
      continue;
    }
    const ChoiceRecord& choice = *state.root_of(t).choice;
    open.insert(open.end(), choice.first.begin(), choice.first.end());
    open.insert(open.end(), choice.cycle.begin(), choice.cycle.end());
  }
}

}  // namespace mote::graph
