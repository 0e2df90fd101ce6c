// SPDX-License-Identifier: Apache-2.0
// Finds the outputs that may take the memory of an input: a graph and an order -> pairs.
#include "mote/symbolic/in_place.h"

#include <algorithm>
#include <memory>

#include "dependency_cache.h"
#include "mote/runtime/catalogue.h"
#include "mote/symbolic/dependencies.h"
#include "order/root_uses.h"

namespace mote {
namespace {

class InPlaceFinder {
 public:
  InPlaceFinder(const SymbolicGraph& graph, const DoneBefore& happens_before,
                std::span<const TensorSymbol> bound)
      : graph_(graph),
        happens_before_(happens_before),
        nodes_(detail::node_table(graph)),
        shared_read_(detail::shared_readers(graph)),
        shared_written_(detail::shared_writers(graph)),
        promises_(graph.registry().column(kInPlace)),
        is_kept_(graph.symbol_count()),
        is_bound_(graph.symbol_count()) {
    for (const std::uint32_t output : graph.output_indices())
      is_kept_[graph.symbols()[output].root] = true;
    // What a loop or a case..of gives may be where its inputs are.
    for (const std::uint32_t k : nodes_->controls()) {
      const NodeInfo& node = graph.nodes()[k];
      for (const std::uint32_t input : node.inputs)
        if (input != kNoIndex) is_kept_[graph.symbols()[input].root] = true;
      for (const std::uint32_t output : node.outputs) is_kept_[output] = true;
    }
    for (const TensorSymbol symbol : bound) is_bound_[graph.info(symbol).root] = true;
  }

  std::vector<NodeInPlacePair> find() {
    for (std::uint32_t node = 0; node < nodes_->size(); ++node)
      if (nodes_->op(node) != kNoIndex) find_pairs(node);
    return std::move(pairs_);
  }

 private:
  void find_pairs(std::uint32_t node) {
    const InPlacePairs* promised = promises_.find(nodes_->op(node));
    if (promised == nullptr) return;
    const std::size_t begin = pairs_.size();
    for (const auto& [input, output] : *promised) {
      const NodeInPlacePair pair{node, static_cast<std::uint32_t>(input),
                                 static_cast<std::uint32_t>(output)};
      const auto meets = [&](const NodeInPlacePair& other) {
        return other.node == node && (other.input == pair.input || other.output == pair.output);
      };
      if (std::any_of(pairs_.begin() + static_cast<std::ptrdiff_t>(begin), pairs_.end(), meets))
        continue;
      if (is_allowed(pair)) pairs_.push_back(pair);
    }
  }

  bool is_allowed(const NodeInPlacePair& pair) const {
    const std::span<const std::uint32_t> inputs = nodes_->inputs(pair.node);
    const std::span<const std::uint32_t> outputs = nodes_->outputs(pair.node);
    if (pair.input >= inputs.size() || pair.output >= outputs.size()) return false;
    const std::uint32_t x = inputs[pair.input];
    const std::uint32_t y = outputs[pair.output];
    if (x == kNoIndex || y == kNoIndex) return false;
    const SymbolInfo& to = graph_.symbols()[y];
    if (to.kind != SymbolOrigin::tensor || is_bound_[y]) return false;
    return is_whole(x) && graph_.symbols()[x].has_form && graph_.symbols()[x].form == to.form &&
           is_free(graph_.symbols()[x].root) && is_only_input(inputs, pair.input) &&
           is_last_user(graph_.symbols()[x].root, pair.node);
  }

  /// True if the symbol is all of its root.
  bool is_whole(std::uint32_t symbol) const {
    const SymbolInfo& info = graph_.symbols()[symbol];
    return info.offset == 0 &&
           element_count(info.form) == element_count(graph_.symbols()[info.root].form);
  }

  /// True if only nodes need the root's memory.
  bool is_free(std::uint32_t root) const {
    const SymbolOrigin kind = graph_.symbols()[root].kind;
    const bool is_ours =
        (kind == SymbolOrigin::tensor || kind == SymbolOrigin::zeros) && !written_[root].empty();
    return is_ours && !is_kept_[root] && !is_bound_[root];
  }

  bool is_only_input(std::span<const std::uint32_t> inputs, std::uint32_t k) const {
    const std::uint32_t root = graph_.symbols()[inputs[k]].root;
    for (std::size_t other = 0; other < inputs.size(); ++other)
      if (other != k && inputs[other] != kNoIndex && graph_.symbols()[inputs[other]].root == root)
        return false;
    return true;
  }

  bool is_last_user(std::uint32_t root, std::uint32_t node) const {
    const auto is_before = [&](std::uint32_t user) {
      return user == node || happens_before_(user, node);
    };
    return std::ranges::all_of(read_[root], is_before) &&
           std::ranges::all_of(written_[root], is_before);
  }

  const SymbolicGraph& graph_;
  const DoneBefore& happens_before_;
  std::shared_ptr<const detail::NodeTable> nodes_;
  std::shared_ptr<const IndexLists> shared_read_, shared_written_;
  const IndexLists& read_ = *shared_read_;
  const IndexLists& written_ = *shared_written_;
  Column<InPlacePairs> promises_;
  std::vector<bool> is_kept_;
  std::vector<bool> is_bound_;
  std::vector<NodeInPlacePair> pairs_;
};

}  // namespace

std::vector<NodeInPlacePair> in_place_pairs(const SymbolicGraph& graph,
                                            const DoneBefore& happens_before,
                                            std::span<const TensorSymbol> bound) {
  return InPlaceFinder(graph, happens_before, bound).find();
}

std::vector<NodeInPlacePair> in_place_pairs(const SymbolicGraph& graph,
                                            std::span<const std::uint32_t> order,
                                            std::span<const TensorSymbol> bound) {
  check_order(graph, order, "in_place_pairs");
  std::vector<std::size_t> location(graph.node_count());
  for (std::size_t k = 0; k < order.size(); ++k) location[order[k]] = k;
  const DoneBefore happens_before = [&](std::uint32_t a, std::uint32_t b) {
    return location[a] < location[b];
  };
  return in_place_pairs(graph, happens_before, bound);
}

}  // namespace mote
