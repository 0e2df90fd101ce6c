// SPDX-License-Identifier: Apache-2.0
#include "compile/pointed_values.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <utility>

#include "compile/pointed_layout.h"
#include "compile/through_loops.h"
#include "mote/runtime/tensor_form.h"
#include "mote/symbolic/control.h"
#include "mote/symbolic/dependencies.h"

namespace mote {
namespace {

std::uint64_t new_number() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

class Finder {
 public:
  explicit Finder(const NodeInfo& node) {
    bodies_.push_back({.node = &node});
    list(node, 0, kNoIndex);
    for (std::uint32_t b = 1; b < bodies_.size(); ++b) {
      const SymbolicGraph& graph = *bodies_[b].graph;
      for (std::uint32_t k = 0; k < graph.node_count(); ++k)
        if (const NodeInfo& inside = graph.nodes()[k];
            !inside.removed && inside.kind == NodeKind::control)
          list(inside, b, k);
    }
    std::uint32_t count = static_cast<std::uint32_t>(node.outputs.size());
    for (std::uint32_t b = 1; b < bodies_.size(); ++b) {
      bodies_[b].first_spot = count;
      count += static_cast<std::uint32_t>(bodies_[b].graph->symbol_count());
    }
    same_.resize(count);
    for (std::uint32_t k = 0; k < count; ++k) same_[k] = k;
    is_in_.resize(count);
  }

  PointedNode find(const std::vector<std::uint32_t>& seeds) {
    for (const std::uint32_t k : seeds) reach(result_spot(bodies_[1], k));
    close();
    while (add_needs_inside()) {
    }
    for (std::uint32_t b = 1; b < bodies_.size(); ++b) add_pointers(b);
    for (auto& [k, value] : bodies_[1].made->values) add(bodies_[0].all, value, k);
    for (std::uint32_t b = 1; b < bodies_.size(); ++b) hold(bodies_[b]);
    for (std::uint32_t b = 1; b < bodies_.size(); ++b)
      for (auto& [set, regions] : bodies_[b].made->sets) {
        regions = sets_.at(set);
        regions.count = std::max(regions.count, 1U);  // its forms are those of the region
      }
    return *bodies_[1].made;
  }

 private:
  /// A value that keeps what its pointer shows.
  struct Held {
    std::uint64_t pointer;
    std::uint32_t region;  ///< where it is first
    std::uint32_t symbol;  ///< a root; kNoIndex: it is further around
  };
  using HeldValues = std::map<std::uint64_t, std::vector<Held>>;

  /// A graph inside. The first of the list stands for the graph around the node.
  struct Body {
    const NodeInfo* node = nullptr;  ///< whose graph it is
    const SymbolicGraph* graph = nullptr;
    std::uint32_t around = 0;        ///< the number of the graph around
    std::uint32_t index = kNoIndex;  ///< of the node there
    std::uint32_t g = 0;             ///< which of the node's graphs it is
    std::uint32_t first_spot = 0;
    std::vector<std::uint32_t> inputs = {};
    IndexLists written = {}, read = {};
    std::map<std::uint32_t, std::uint32_t> inside = {};  ///< by node: its first graph
    std::shared_ptr<PointedNode> made = {};              ///< of the node
    HeldValues held = {};                                ///< by set: as it begins
    HeldValues all = {};                                 ///< and what it has besides
  };
  /// A root of a graph; of the graph around the node, one of the node's results.
  struct Spot {
    std::uint32_t body;
    std::uint32_t symbol;
  };

  void list(const NodeInfo& node, std::uint32_t around, std::uint32_t index) {
    bodies_[around].inside[index] = static_cast<std::uint32_t>(bodies_.size());
    for (std::uint32_t g = 0; g < node.control->graphs.size(); ++g) {
      const SymbolicGraph& graph = node.control->graphs[g];
      bodies_.push_back({.node = &node,
                         .graph = &graph,
                         .around = around,
                         .index = index,
                         .g = g,
                         .inputs = input_indices(graph),
                         .written = writers(graph),
                         .read = readers(graph)});
    }
  }

  std::uint32_t number(Spot spot) const { return bodies_[spot.body].first_spot + spot.symbol; }
  bool is_in(Spot spot) const { return is_in_[number(spot)]; }
  Spot root_spot(std::uint32_t body, std::uint32_t symbol) const {
    return {body, body == 0 ? symbol : bodies_[body].graph->symbols()[symbol].root};
  }
  /// Where the graph around has result k of the body's node.
  Spot result_spot(const Body& body, std::uint32_t k) const {
    return {body.around, body.around == 0 ? k : body.node->outputs[k]};
  }
  std::uint32_t output(const Body& body, std::uint32_t k) const {
    return body.graph->symbols()[body.graph->output_indices()[k]].root;
  }

  std::uint32_t find_same(std::uint32_t k) {
    while (same_[k] != k) k = same_[k] = same_[same_[k]];
    return k;
  }
  void reach(Spot spot) {
    if (is_in(spot)) return;
    is_in_[number(spot)] = true;
    open_.push_back(spot);
  }
  void join(Spot a, Spot b) {
    same_[find_same(number(a))] = find_same(number(b));
    reach(b);
  }
  /// Reaches all values that may be where those are that were reached.
  void close() {
    while (!open_.empty()) {
      const Spot spot = open_.back();
      open_.pop_back();
      each_source(spot, [&](Spot other) { join(spot, other); });
      each_target(spot, [&](Spot other) { join(spot, other); });
    }
  }

  /// Returns the results of the node for which it would need pointers of its own.
  std::vector<std::uint32_t> needs_of(const Body& body) const {
    const ControlInfo& control = *body.node->control;
    std::vector<bool> has_location(result_count(control));
    if (control.is_loop) {
      const auto through = carried_through(control);
      for (std::size_t k = 0; k < through.size(); ++k) has_location[k] = through[k].has_value();
    }
    for (std::uint32_t k = 0; k < has_location.size(); ++k)
      has_location[k] = has_location[k] || is_in(result_spot(body, k));
    return results_without_location(*body.node, has_location);
  }
  /// A loop or case..of inside may need pointers besides. Where one of its values is reached
  /// already, all of them are reached here: a value is in one set. Returns whether any were.
  bool add_needs_inside() {
    bool any = false;
    for (const Body& body : bodies_) {
      if (body.g != 0 || body.graph == nullptr || body.around == 0) continue;
      const std::vector<std::uint32_t> needs = needs_of(body);
      if (needs.empty()) continue;
      const std::vector<std::uint32_t> same = same_;
      const std::vector<bool> before = std::exchange(is_in_, std::vector<bool>(is_in_.size()));
      for (const std::uint32_t k : needs) reach(result_spot(body, k));
      close();
      bool meets = false;
      for (std::size_t k = 0; k < before.size(); ++k) meets = meets || (before[k] && is_in_[k]);
      if (meets) {
        for (std::size_t k = 0; k < before.size(); ++k) is_in_[k] = is_in_[k] || before[k];
        any = true;
      } else {
        same_ = same;
        is_in_ = before;
      }
    }
    return any;
  }

  /// True if nodes of the graph compute the root, or the loop counts there.
  bool is_computed(Spot spot) const {
    const Body& body = bodies_[spot.body];
    const SymbolInfo& info = body.graph->symbols()[spot.symbol];
    if (info.kind == SymbolOrigin::input)
      return body.node->control->has_counter && spot.symbol == body.inputs.back();
    return info.kind != SymbolOrigin::constant && !is_given_inside(spot) &&
           !body.written[spot.symbol].empty();
  }
  /// True if a loop or a case..of of the graph gives it.
  bool is_given_inside(Spot spot) const {
    const Body& body = bodies_[spot.body];
    const std::uint32_t producer = body.graph->symbols()[spot.symbol].producer;
    return producer != kNoIndex && body.graph->nodes()[producer].kind == NodeKind::control;
  }

  /// Calls use(other) for each spot whose memory the spot may be in; what is not listed there is
  /// not inside of the node.
  template <typename Use>
  void each_source(Spot spot, const Use& use) const {
    const Body& body = bodies_[spot.body];
    if (spot.body == 0)
      return each_source_of_result(body.node, bodies_[0].inside.at(kNoIndex), spot.body,
                                   spot.symbol, use);
    if (is_computed(spot)) return;
    if (is_given_inside(spot)) {
      const std::uint32_t producer = body.graph->symbols()[spot.symbol].producer;
      const NodeInfo& node = body.graph->nodes()[producer];
      const auto k = std::ranges::find(node.outputs, spot.symbol) - node.outputs.begin();
      return each_source_of_result(&node, body.inside.at(producer), spot.body,
                                   static_cast<std::uint32_t>(k), use);
    }
    if (body.graph->symbols()[spot.symbol].kind != SymbolOrigin::input) return;
    const auto k = static_cast<std::uint32_t>(std::ranges::find(body.inputs, spot.symbol) -
                                              body.inputs.begin());
    const ControlInfo& control = *body.node->control;
    if (control.is_loop && k < result_count(control)) use(Spot{spot.body, output(body, k)});
    if (body.around != 0)
      use(root_spot(body.around, body.node->inputs[first_input(*body.node, body.g) + k]));
  }
  template <typename Use>
  void each_source_of_result(const NodeInfo* node, std::uint32_t first, std::uint32_t around,
                             std::uint32_t k, const Use& use) const {
    if (node->control->is_loop) return use(Spot{first, bodies_[first].inputs[k]});
    for (std::uint32_t g = 0; g < node->control->graphs.size(); ++g)
      use(Spot{first + g, output(bodies_[first + g], k)});
    if (around != 0 && node->inputs[1 + k] != kNoIndex) use(root_spot(around, node->inputs[1 + k]));
  }

  /// Calls use(other) for each value that is where the spot is when it is carried over or given.
  template <typename Use>
  void each_target(Spot spot, const Use& use) const {
    if (spot.body == 0) return;
    const Body& body = bodies_[spot.body];
    const ControlInfo& control = *body.node->control;
    for (std::uint32_t k = 0; k < result_count(control); ++k) {
      const bool is_given = output(body, k) == spot.symbol;
      if (control.is_loop && is_given) use(Spot{spot.body, body.inputs[k]});
      if (control.is_loop ? body.inputs[k] == spot.symbol : is_given) use(result_spot(body, k));
    }
  }

  /// Gives the values of a graph, and what its node gives, pointers.
  void add_pointers(std::uint32_t b) {
    Body& body = bodies_[b];
    body.made = body.g == 0 ? std::make_shared<PointedNode>() : bodies_[b - 1].made;
    if (body.g == 0) {
      body.made->graphs.resize(body.node->control->graphs.size());
      add_results(b);
      if (body.around != 0) graph_of(bodies_[body.around]).nodes[body.index] = body.made;
    }
    for (std::uint32_t symbol = 0; symbol < body.graph->symbol_count(); ++symbol) {
      const Spot spot{b, symbol};
      if (!is_in(spot)) continue;
      const std::uint64_t set = set_of(spot, body.graph->symbols()[symbol].form);
      note(body, set);
      if (is_computed(spot))
        graph_of(body).computed.emplace(symbol, PointedValue{set, new_number()});
    }
    add_inputs(b);
  }
  static PointedGraph& graph_of(const Body& body) { return body.made->graphs[body.g]; }

  /// Returns the number of the spot's set, which has room for the form.
  std::uint64_t set_of(Spot spot, const TensorForm& form) {
    std::uint64_t& set = numbers_[find_same(number(spot))];
    if (set == 0) set = new_number();
    RegionSet& regions = sets_[set];
    regions.device = form.device;
    regions.bytes = std::max(regions.bytes, static_cast<std::uint64_t>(form.bytes()));
    return set;
  }

  /// Makes the set one of the node's, and of those around.
  void note(const Body& body, std::uint64_t set) {
    for (const Body* at = &body; at->made != nullptr; at = &bodies_[at->around])
      if (!at->made->sets.try_emplace(set).second) return;
  }

  void add_results(std::uint32_t b) {
    const Body& body = bodies_[b];
    for (std::uint32_t k = 0; k < result_count(*body.node->control); ++k) {
      const Spot spot =
          body.node->control->is_loop ? Spot{b, body.inputs[k]} : result_spot(body, k);
      if (!is_in(spot)) continue;
      const std::uint32_t given = body.graph->output_indices()[k];
      const std::uint64_t set = set_of(spot, body.graph->symbols()[given].form);
      body.made->values.emplace(k, PointedValue{set, new_number()});
      note(body, set);
    }
  }

  /// Lists the node's inputs whose memory values of the graph may be in.
  void add_inputs(std::uint32_t b) {
    const Body& body = bodies_[b];
    const std::size_t first = first_input(*body.node, body.g);
    const auto add = [&](std::uint64_t set, std::size_t input) {
      std::vector<std::uint32_t>& list = body.made->inputs[set];
      if (std::ranges::find(list, input) == list.end())
        list.push_back(static_cast<std::uint32_t>(input));
    };
    for (std::uint32_t k = 0; k < input_count(*body.node->control, body.g); ++k)
      if (const Spot spot{b, body.inputs[k]}; is_in(spot))
        add(set_of(spot, body.graph->symbols()[spot.symbol].form), first + k);
    if (body.node->control->is_loop || body.g != 0) return;
    for (const auto& [k, value] : body.made->values)
      if (body.node->inputs[1 + k] != kNoIndex) add(value.set, 1 + std::size_t{k});
  }

  /// Finds what is needed throughout the graph, and gives what the graph has besides other regions.
  void hold(Body& body) {
    keep_needed(body);
    body.all = body.held;
    for (auto& [symbol, value] : graph_of(body).computed) {
      for (const Held& other : body.all[value.set])
        graph_of(body).held[value.set].push_back(other.pointer);
      add(body.all, value, symbol);
    }
    for (const auto& [index, first] : body.inside)
      for (auto& [k, value] : bodies_[first].made->values)
        add(body.all, value, body.graph->nodes()[index].outputs[k]);
  }
  /// Adds a value in the first region that none of the others is in.
  void add(HeldValues& all, PointedValue& value, std::uint32_t symbol) {
    std::vector<Held>& values = all[value.set];
    for (value.region = 0; std::ranges::find(values, value.region, &Held::region) != values.end();)
      ++value.region;
    values.push_back({value.pointer, value.region, symbol});
    sets_[value.set].count = std::max(sets_[value.set].count, value.region + 1);
  }

  /// Finds what is needed of the graph around while the node of the graph runs, and what its loop
  /// carries.
  void keep_needed(Body& body) {
    const Body& around = bodies_[body.around];
    std::map<std::uint64_t, std::uint32_t> own;  // results by their pointers
    for (const auto& [k, value] : body.made->values) own[value.pointer] = k;
    std::vector<bool> before;
    for (const auto& [set, values] : around.all)
      for (const Held& value : values) {
        if (const auto result = own.find(value.pointer); result != own.end()) {
          if (body.node->control->is_loop)
            body.held[set].push_back({value.pointer, value.region, body.inputs[result->second]});
          continue;
        }
        if (before.empty()) before = done_before(body);
        if (value.symbol == kNoIndex || may_be_result(body, value.symbol) ||
            !is_done(around, value.symbol, before))
          body.held[set].push_back({value.pointer, value.region, kNoIndex});
      }
  }
  /// Tells which nodes of the graph around are done before the node, in any order.
  std::vector<bool> done_before(const Body& body) const {
    const SymbolicGraph& graph = *bodies_[body.around].graph;
    std::vector<TensorSymbol> inputs;
    for (const std::uint32_t input : body.node->inputs)
      if (input != kNoIndex) inputs.push_back(graph.at(input));
    return ancestors(graph, inputs);
  }
  /// True if the loop around carries the value and asks the node whether to go on: if it does not,
  /// what it began the iteration with is its result.
  bool may_be_result(const Body& body, std::uint32_t symbol) const {
    const Body& around = bodies_[body.around];
    if (body.around == 0 || !around.node->control->is_loop ||
        around.graph->symbols()[symbol].kind != SymbolOrigin::input)
      return false;
    const std::vector<TensorSymbol> condition = {around.graph->outputs().back()};
    return ancestors(*around.graph, condition)[body.index];
  }
  /// True if all that write and read the root are among the nodes, none of which may give it.
  static bool is_done(const Body& body, std::uint32_t root, const std::vector<bool>& nodes) {
    const auto& symbols = body.graph->symbols();
    const auto gives = [&](std::uint32_t output) { return symbols[output].root == root; };
    const auto is_there = [&](std::uint32_t node) { return nodes[node]; };
    const auto is_plain = [&](std::uint32_t node) {
      return nodes[node] && body.graph->nodes()[node].kind != NodeKind::control;
    };
    return std::ranges::none_of(body.graph->output_indices(), gives) &&
           std::ranges::all_of(body.written[root], is_there) &&
           std::ranges::all_of(body.read[root], is_plain);
  }

  std::vector<Body> bodies_;
  std::vector<std::uint32_t> same_;  ///< a forest of spots: those of a set
  std::vector<bool> is_in_;          ///< by spot
  std::vector<Spot> open_;
  std::map<std::uint32_t, std::uint64_t> numbers_;  ///< of sets, by spot
  std::map<std::uint64_t, RegionSet> sets_;
};

}  // namespace

PointedNode pointed_values(const NodeInfo& node, const std::vector<std::uint32_t>& seeds) {
  return Finder(node).find(seeds);
}

void add_values(PointedNode& node, const PointedNode& other) {
  const auto add = [](auto& to, const auto& from) {
    for (const auto& [key, value] : from)
      if (!to.emplace(key, value).second) throw InternalError("a value has two pointers");
  };
  add(node.values, other.values);
  add(node.sets, other.sets);
  add(node.inputs, other.inputs);
  node.graphs.resize(std::max(node.graphs.size(), other.graphs.size()));
  for (std::size_t g = 0; g < other.graphs.size(); ++g) {
    const PointedGraph& from = other.graphs[g];
    PointedGraph& to = node.graphs[g];
    add(to.computed, from.computed);
    add(to.held, from.held);
    for (const auto& [index, inside] : from.nodes) {
      PointedNode both = *inside;
      if (const auto known = to.nodes.find(index); known != to.nodes.end())
        add_values(both, *known->second);
      to.nodes[index] = std::make_shared<const PointedNode>(std::move(both));
    }
  }
}

}  // namespace mote
