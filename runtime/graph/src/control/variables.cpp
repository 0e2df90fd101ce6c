// SPDX-License-Identifier: Apache-2.0
// Tensors whose memory changes while a graph runs. A node that uses some keeps an operation for
// each memory that they have had, so that going from one to the other is a search among a few and a
// move, without the heap, and kernels that work in place only in some iterations are chosen for
// each.
#include <algorithm>
#include <functional>
#include <string>
#include <utility>

#include "state.h"

namespace mote::graph {

namespace {

/// `at`: a tensor, or what a pointer shows.
template <typename At>
void point_at(Graph::State& state, std::uint32_t root, const At& at) {
  TensorRecord& record = state.tensors[root];
  record.has_memory = at.has_memory;
  record.data = at.data;
  if (record.owner != at.owner) record.owner = at.owner;
  const auto views = state.views.find(root);
  if (views == state.views.end()) return;
  for (const std::uint32_t v : views->second) {
    TensorRecord& view = state.tensors[v];
    view.has_memory = record.has_memory;
    view.data = record.data == nullptr ? nullptr : record.data + view.offset;
    if (view.owner != record.owner) view.owner = record.owner;
  }
}

/// The same, if the memory is another. Returns whether it is.
template <typename At>
bool follow(Graph::State& state, std::uint32_t root, const At& at) {
  const TensorRecord& record = state.tensors[root];
  if (at.data == record.data && at.has_memory == record.has_memory) return false;
  point_at(state, root, at);
  return true;
}

/// Lists what may move with a result, unless clocks or pointers move tensors too.
void list_followers(const Graph::State& state, Variables& v) {
  v.has_results_alone = std::ranges::none_of(v.roots, [&](std::uint32_t root) {
    const ChoiceRecord* choice = state.tensors[root].choice.get();
    return choice != nullptr && (choice->clock != 0 || choice->pointer != 0);
  });
  if (!v.has_results_alone) return;
  std::size_t most = v.roots.size();
  const auto add = [](std::vector<std::uint32_t>& list, std::uint32_t entry) {
    if (list.empty() || list.back() != entry) list.push_back(entry);
  };
  for (const std::uint32_t root : v.roots) {
    const ChoiceRecord* choice = state.tensors[root].choice.get();
    if (choice == nullptr) continue;
    if (choice->by != kNone) v.chosen_by[choice->by].push_back(root);
    for (const auto* list : {&choice->first, &choice->cycle})
      for (const std::uint32_t among : *list)
        if (const std::uint32_t of = state.tensors[among].root; v.is_root[of])
          add(v.followers[of], root);
  }
  for (const auto& [of, roots] : v.followers) most += roots.size();
  std::size_t uses = 0;
  for (std::uint32_t k = 0; k < v.nodes.size(); ++k)
    for (const std::uint32_t root : v.nodes[k].roots) {
      if (v.is_root[root]) v.users[root].push_back(k);
      ++uses;
    }
  v.open.reserve(most);
  v.moved.reserve(uses);
}

/// Returns how many locations a root may be at.
std::size_t locations_of(const Graph::State& state, std::uint32_t root) {
  constexpr std::size_t kOfPlaceholder = 4;
  const TensorRecord& record = state.tensors[root];
  if (record.choice == nullptr) return kOfPlaceholder;
  return record.choice->first.size() + record.choice->cycle.size();
}

}  // namespace

void point_tensor(Graph::State& state, std::uint32_t root, const TensorRecord& at) {
  point_at(state, root, at);
}

void find_variables(Graph::State& state, std::vector<bool> is_root) {
  Variables& v = state.prepared.variables;
  v = {};
  is_root.resize(state.tensors.size());
  for (std::uint32_t t = 0; state.rare.choices && t < state.tensors.size(); ++t)
    if (state.tensors[t].kind == TensorKind::choice) is_root[t] = true;
  for (std::uint32_t t = 0; t < is_root.size(); ++t)
    if (is_root[t]) v.roots.push_back(t);
  v.is_root = std::move(is_root);
  v.is_node.resize(state.nodes.size());
  if (v.roots.empty()) return;
  for (const NodeRecord& node : state.nodes) {
    if (node.removed || std::holds_alternative<ControlNode>(node.work)) continue;
    VariableNode made;
    made.node = node.index;
    bool varies = false;
    each_operand(node, [&](std::uint32_t t, bool) {
      const std::uint32_t root = state.tensors[t].root;
      const TensorKind kind = state.tensors[root].kind;
      if (kind != TensorKind::choice && kind != TensorKind::placeholder) return;
      varies = varies || v.is_root[root];
      if (std::ranges::find(made.roots, root) != made.roots.end()) return;
      made.roots.push_back(root);
      made.most += 2 * locations_of(state, root);
    });
    if (!varies) continue;
    v.is_node[node.index] = true;
    v.nodes.push_back(std::move(made));
  }
  list_followers(state, v);
}

namespace {

/// A variant whose operation could not be bound is nowhere.
bool is_at(const Graph::State& state, const VariableNode& node, const Variant& variant) {
  if (variant.at.size() != node.roots.size()) return false;
  for (std::size_t k = 0; k < node.roots.size(); ++k)
    if (state.tensors[node.roots[k]].data != variant.at[k]) return false;
  return true;
}

/// Makes the variant the node's operation.
void take(Graph::State& state, VariableNode& node, std::size_t which) {
  BoundOperation& operation = (*state.prepared.operations)[node.node];
  if (node.current < node.variants.size())
    node.variants[node.current].operation = std::move(operation);
  operation = std::move(node.variants[which].operation);
  node.current = which;
}

/// True if the node reads or writes where a pointer shows nothing: it is pointed before it runs.
bool waits_for_pointer(const Graph::State& state, const VariableNode& node) {
  return std::ranges::any_of(node.roots, [&](std::uint32_t root) {
    const TensorRecord& record = state.tensors[root];
    return record.choice != nullptr && record.choice->pointer != 0 && !record.has_memory;
  });
}

void point_node(Graph::State& state, VariableNode& node) {
  if (waits_for_pointer(state, node)) return;
  Variables& v = state.prepared.variables;
  const auto set_location = [&](Variant& variant) {
    for (const std::uint32_t root : node.roots) variant.at.push_back(state.tensors[root].data);
    variant.used = ++v.uses;
  };
  if (node.variants.empty()) {  // the operation is as prepare() made it
    bind_node(state, node.node);
    return set_location(node.variants.emplace_back());
  }
  if (is_at(state, node, node.variants[node.current])) return;
  const std::size_t count = node.variants.size();
  for (std::size_t after = 1; after < count; ++after) {  // most take turns
    const std::size_t k = (node.current + after) % count;
    if (!is_at(state, node, node.variants[k])) continue;
    take(state, node, k);
    node.variants[k].used = ++v.uses;
    return;
  }
  std::size_t which = node.variants.size();
  if (which < node.most) {
    node.variants.emplace_back();
  } else {
    const auto oldest = std::ranges::min_element(node.variants, {}, &Variant::used);
    which = static_cast<std::size_t>(oldest - node.variants.begin());
  }
  if (which != node.current) take(state, node, which);
  node.variants[which].at.clear();
  bind_node(state, node.node);
  set_location(node.variants[which]);
}

}  // namespace

namespace {

std::int64_t position_of(const PreparedGraph& p, const ChoiceRecord& choice) {
  const bool is_own = choice.by == kNone;
  if (choice.clock == 0)
    return is_own ? p.iteration : std::max<std::int64_t>(0, p.results[choice.by]);
  const Clock& clock = p.clocks->at(choice.clock);
  return is_own ? clock.now : clock.at_end;
}

}  // namespace

namespace {

/// Points a choice at what it is at its position now. Returns whether that is other memory.
bool choose(Graph::State& state, std::uint32_t root) {
  const PreparedGraph& p = state.prepared;
  const ChoiceRecord& choice = *state.tensors[root].choice;
  if (choice.pointer != 0) return follow(state, root, p.pointers->at(choice.pointer));
  const std::int64_t position = position_of(p, choice);
  const std::uint32_t chosen = choice.at(position);
  if (chosen == kNone)
    refuse("the choice " + state.text_of_tensor(root) + " has no tensor for position " +
           std::to_string(position));
  return follow(state, root, state.tensors[chosen]);
}

}  // namespace

void refresh_results(Graph::State& state, std::uint32_t node) {
  Variables& v = state.prepared.variables;
  if (v.is_stale || !v.has_results_alone) return refresh(state);
  const auto chosen = v.chosen_by.find(node);
  if (chosen == v.chosen_by.end()) return;
  const std::lock_guard lock(state.prepared.choosing);
  v.is_stale = true;  // if what follows fails
  // The least number comes first: a root's number is above those that it is chosen among.
  v.moved.clear();
  v.open.assign(chosen->second.begin(), chosen->second.end());
  std::ranges::make_heap(v.open, std::greater<>());
  for (std::uint32_t last = kNone; !v.open.empty();) {
    std::ranges::pop_heap(v.open, std::greater<>());
    const std::uint32_t root = v.open.back();
    v.open.pop_back();
    if (std::exchange(last, root) == root || !choose(state, root)) continue;
    if (const auto users = v.users.find(root); users != v.users.end())
      v.moved.insert(v.moved.end(), users->second.begin(), users->second.end());
    const auto followers = v.followers.find(root);
    if (followers == v.followers.end()) continue;
    for (const std::uint32_t follower : followers->second) {
      // The result of a node that has not run yet is chosen once the node has run.
      const std::uint32_t by = state.tensors[follower].choice->by;
      if (by != kNone && state.prepared.results[by] == kUnknownResult) continue;
      v.open.push_back(follower);
      std::ranges::push_heap(v.open, std::greater<>());
    }
  }
  std::ranges::sort(v.moved);
  for (std::uint32_t last = kNone; const std::uint32_t k : v.moved)
    if (std::exchange(last, k) != k) point_node(state, v.nodes[k]);
  v.is_stale = false;
}

void refresh(Graph::State& state) {
  PreparedGraph& p = state.prepared;
  Variables& v = p.variables;
  if (v.roots.empty()) return;
  const std::lock_guard lock(p.choosing);
  bool is_stale = v.is_stale;
  for (const std::uint32_t root : v.roots) {
    // The entry of a sub-graph has pointed its placeholders.
    if (state.tensors[root].choice != nullptr && choose(state, root)) is_stale = true;
  }
  if (!is_stale) return;
  v.is_stale = true;  // if what follows fails
  for (VariableNode& node : v.nodes) point_node(state, node);
  v.is_stale = false;
}

void move_pointers(const Graph::State& state, std::span<const MoveRecord> moves) {
  for (const MoveRecord& move : moves) {  // the tensors are where they were until refresh()
    const TensorRecord& at = state.tensors[move.tensor];
    state.prepared.pointers->at(move.pointer) = {at.has_memory, at.data, at.owner};
  }
}

void take_regions(const Graph::State& state, std::span<const TakeRecord> takes) {
  Pointers& pointers = *state.prepared.pointers;
  // What loops and branches in it gave before is no more: its place may be taken.
  for (const std::uint64_t pointer : state.prepared.moved) pointers.at(pointer) = {};
  for (const TakeRecord& take : takes) {
    const auto is_free = [&](std::uint32_t region) {
      const TensorRecord& at = state.tensors[region];
      const std::byte* const end = at.data + at.form->form.element_count();
      return std::ranges::none_of(take.held, [&](std::uint64_t pointer) {
        const std::byte* const data = pointers.at(pointer).data;
        return std::less_equal<>()(at.data, data) && std::less<>()(data, end);
      });
    };
    const auto region = std::ranges::find_if(take.regions, is_free);
    if (region == take.regions.end())
      refuse("all " + std::to_string(take.regions.size()) + " regions that pointer " +
             std::to_string(take.pointer) + " may take are held");
    const TensorRecord& at = state.tensors[*region];
    pointers.at(take.pointer) = {at.has_memory, at.data + take.begin, at.owner};
  }
}

}  // namespace mote::graph
