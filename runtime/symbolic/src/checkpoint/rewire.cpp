// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/rewire.h"

#include <algorithm>
#include <utility>

#include "checkpoint/min_cut.h"
#include "mote/base/error.h"
#include "mote/symbolic/checkpoint.h"

namespace mote {
namespace {

/// The most nodes that the copies of a segment wait for.
constexpr std::size_t kMaxBefore = 4;

/// The nodes of the way back, by the pieces of the way forward whose values they read.
class Backward {
 public:
  Backward(SymbolicGraph& graph, const ForwardWay& way, const Cuts& cuts)
      : graph_(graph), way_(way), cuts_(cuts), nodes_(cuts.size() + 1) {
    const IndexLists before = predecessors(graph);
    std::vector<std::size_t> earliest(graph.node_count(), cuts.size());
    std::vector<std::size_t> pieces;
    for (const std::uint32_t node : topological_order(graph)) {
      if (way.position[node] != kNoIndex) continue;
      pieces.clear();
      for (const std::uint32_t input : graph.nodes()[node].inputs)
        if (is_forward(input)) pieces.push_back(piece_of(input));
      std::ranges::sort(pieces);
      pieces.erase(std::unique(pieces.begin(), pieces.end()), pieces.end());
      if (!pieces.empty()) earliest[node] = pieces.front();
      for (const std::uint32_t other : before[node])
        earliest[node] = std::min(earliest[node], earliest[other]);
      for (const std::size_t piece : pieces)
        nodes_[piece].push_back({node, piece == earliest[node]});
    }
  }

  /// True if the symbol is of a forward value that may be computed again.
  bool is_forward(std::uint32_t symbol) const {
    if (symbol == kNoIndex) return false;
    const std::uint32_t root = graph_.symbols()[symbol].root;
    return root < way_.may_recompute.size() && way_.may_recompute[root];
  }
  /// Returns the piece, between two cuts, in which the symbol's root is written.
  std::size_t piece_of(std::uint32_t symbol) const {
    const std::uint32_t root = graph_.symbols()[symbol].root;
    const std::uint32_t location = way_.position[graph_.symbols()[root].producer];
    return static_cast<std::size_t>(std::ranges::lower_bound(cuts_, location) - cuts_.begin());
  }

  /// True if a node of the way back reads a value of that piece.
  bool is_read(std::size_t piece) const { return !nodes_[piece].empty(); }

  /// Makes nodes read the values of pieces [begin, end) from `held`, or from copies. The copies of
  /// the next call begin after some of these nodes.
  void read(std::size_t begin, std::size_t end, Held& held, Copies& copies) {
    copies.begin_segment(std::exchange(done_, {}));
    for (std::size_t piece = end; piece-- > begin;)
      for (const Reader& reader : nodes_[piece]) {
        if (reader.is_last_piece && done_.size() < kMaxBefore) done_.push_back(reader.node);
        read(reader.node, begin, end, held, copies);
      }
  }

 private:
  void read(std::uint32_t node, std::size_t begin, std::size_t end, Held& held, Copies& copies) {
    for (std::size_t k = 0; k < graph_.nodes()[node].inputs.size(); ++k) {
      const std::uint32_t input = graph_.nodes()[node].inputs[k];
      if (!is_forward(input)) continue;
      const std::size_t piece = piece_of(input);
      if (piece < begin || piece >= end) continue;
      const std::uint32_t now = copies.symbol(input, held);
      if (now != input && !copies.is_counting())
        graph_.set_input(graph_.node_at(node), k, graph_.at(now));
    }
  }

  struct Reader {
    std::uint32_t node;
    /// Neither it nor what it depends on reads an earlier piece, to which the way back comes later.
    bool is_last_piece;
  };

  SymbolicGraph& graph_;
  const ForwardWay& way_;
  const Cuts& cuts_;
  std::vector<std::vector<Reader>> nodes_;
  std::vector<std::uint32_t> done_;
};

/// Returns, for each cut, the values that cross it.
std::vector<std::vector<std::uint32_t>> states(const SymbolicGraph& graph, const ForwardWay& way,
                                               const Cuts& cuts) {
  std::vector<std::vector<std::uint32_t>> crossing(cuts.size());
  for (std::uint32_t location = 0; location < way.nodes.size(); ++location)
    for (const std::uint32_t root : written_roots(graph, way.nodes[location])) {
      if (!way.may_recompute[root]) continue;
      for (auto cut = std::ranges::lower_bound(cuts, location);
           cut != cuts.end() && *cut < way.last_read[root]; ++cut)
        crossing[static_cast<std::size_t>(cut - cuts.begin())].push_back(root);
    }
  return crossing;
}

/// Adds all values that the pieces [begin, end) write, as they are.
void hold_pieces(const SymbolicGraph& graph, const ForwardWay& way, const Cuts& cuts,
                 std::size_t begin, std::size_t end, Held& held) {
  const std::uint32_t first = begin == 0 ? 0 : cuts[begin - 1] + 1;
  const std::size_t last = end > cuts.size() ? way.nodes.size() : cuts[end - 1] + 1;
  for (std::size_t location = first; location < last; ++location)
    for (const std::uint32_t root : written_roots(graph, way.nodes[location])) held.set(root, root);
}

/// The binomial schedule (Griewank and Walther, 2000), as a recursion over ranges of layers.
class Binomial {
 public:
  Binomial(SymbolicGraph& graph, const ForwardWay& way, const Cuts& cuts, Copies& copies)
      : graph_(graph),
        way_(way),
        cuts_(cuts),
        copies_(copies),
        backward_(graph, way, cuts),
        states_(states(graph, way, cuts)) {}

  /// Goes back through the layers [begin, end), whose first state is `held`. `is_first`: the values
  /// of these layers are those of the way forward itself.
  void reverse(std::size_t begin, std::size_t end, const Held& held, std::uint64_t slots,
               bool is_first) {
    if (copies_.is_over()) return;
    // The way back goes past layers of which it reads nothing: no state is computed for them.
    while (!is_first && end - begin > 1 && !backward_.is_read(end - 1)) --end;
    if (end - begin == 1) {
      Held layer = held;
      if (is_first) hold_pieces(graph_, way_, cuts_, begin, end, layer);
      backward_.read(begin, end, layer, copies_);
      return;
    }
    const std::size_t middle = begin + binomial_split(end - begin, slots);
    Held state;
    Held on_the_way = held;
    for (const std::uint32_t root : states_[middle - 1])
      state.set(root, is_first ? root : copies_.value(root, on_the_way));
    reverse(middle, end, state, slots - (slots > 0 ? 1 : 0), is_first);
    reverse(begin, middle, held, slots, false);
  }

 private:
  SymbolicGraph& graph_;
  const ForwardWay& way_;
  const Cuts& cuts_;
  Copies& copies_;
  Backward backward_;
  std::vector<std::vector<std::uint32_t>> states_;
};

}  // namespace

void recompute_segments(SymbolicGraph& graph, const ForwardWay& way, const Cuts& cuts,
                        Copies& copies) {
  Backward backward(graph, way, cuts);
  Held::Values kept;
  for (const std::vector<std::uint32_t>& state : states(graph, way, cuts))
    for (const std::uint32_t root : state) kept.emplace(root, root);
  for (std::size_t piece = cuts.size() + 1; piece-- > 0 && !copies.is_over();) {
    Held held(&kept);
    if (piece == cuts.size()) hold_pieces(graph, way, cuts, piece, piece + 1, held);
    backward.read(piece, piece + 1, held, copies);
  }
}

void recompute_binomially(SymbolicGraph& graph, const ForwardWay& way, const Cuts& cuts,
                          std::uint64_t slots, Copies& copies) {
  Binomial(graph, way, cuts, copies).reverse(0, cuts.size() + 1, {}, slots, true);
}

void recompute_cheaply(SymbolicGraph& graph, const ForwardWay& way, Copies& copies) {
  const auto roots = static_cast<std::uint32_t>(way.bytes.size());
  const std::uint32_t source = 2 * roots;
  const std::uint32_t sink = source + 1;
  FlowNetwork network(sink + 1);
  for (std::uint32_t location = 0; location < way.nodes.size(); ++location) {
    const NodeInfo& node = graph.nodes()[way.nodes[location]];
    const bool is_cheap = node.kind != NodeKind::function && node.kind != NodeKind::control &&
                          (node.kind != NodeKind::command || node.command->is_pointwise());
    for (const std::uint32_t root : written_roots(graph, way.nodes[location])) {
      // A value of no bytes still counts as one, so that equal cuts keep fewer values.
      const std::uint64_t bytes = way.may_recompute[root] ? way.bytes[root] + 1 : 0;
      network.add_edge(2 * root, 2 * root + 1, bytes);
      if (way.read_back[root]) network.add_edge(2 * root + 1, sink, FlowNetwork::kUnlimited);
      if (!is_cheap || !way.may_recompute[root]) {
        network.add_edge(source, 2 * root, FlowNetwork::kUnlimited);
        continue;
      }
      for (const std::uint32_t input : node.inputs)
        if (input != kNoIndex)
          network.add_edge(2 * graph.symbols()[input].root + 1, 2 * root, FlowNetwork::kUnlimited);
    }
  }
  const std::vector<bool> reached = network.source_side(source, sink);
  if (network.flow() >= FlowNetwork::kUnlimited)
    throw InternalError("checkpoint: the cut of " + graph.name() + " has no end");
  Held held;
  for (std::uint32_t root = 0; root < roots; ++root)
    if (way.may_recompute[root] && reached[2 * root] && !reached[2 * root + 1])
      held.set(root, root);
  const Cuts none;
  Backward backward(graph, way, none);
  backward.read(0, 1, held, copies);
}

}  // namespace mote
