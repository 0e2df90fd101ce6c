// SPDX-License-Identifier: Apache-2.0
// Chooses the nodes to materialise, by the locations and index maps at which each node is read.
#include "lower/materialise.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "lower/readers.h"

namespace mote {
namespace {

/// The number of locations that may each compute a transcendental anew before it gets a tensor.
constexpr std::size_t kLocationsOfTranscendental = 3;

/// The number of nests that would each compute a deep map, from which on a program is a long chain
/// of reductions. No op of the catalogue, nor a gradient or bound of one, has a map that more than
/// 58 nests would compute.
constexpr std::size_t kNestsInLongChain = 64;
/// The number of nests that may compute a deep map in such a program.
constexpr std::size_t kNestsOfMap = 16;
constexpr int kDepthOfMap = 8;

bool is_transcendental(const Uop& u) {
  const auto* m = std::get_if<uop::Map>(&u.node().kind);
  return m && is_transcendental(m->op);
}

bool expensive(const Uop& u, const NodeSet& materialised, std::map<const UopNode*, bool>& memo) {
  if (is_leaf(u) || materialised.count(u.id())) return false;
  const auto found = memo.find(u.id());
  if (found != memo.end()) return found->second;
  bool result = is_transcendental(u) || std::holds_alternative<uop::Reduce>(u.node().kind);
  for (const Uop& a : operands(u)) result = result || expensive(a, materialised, memo);
  return memo[u.id()] = result;
}

/// Returns for each node the depth of its maps, down to tensors.
std::vector<int> depths_of_maps(const Nodes& nodes) {
  std::vector<int> depths(nodes.order.size());
  for (std::size_t k = 0; k < depths.size(); ++k) {
    if (nodes.materialised[k]) continue;
    for (const std::size_t read : nodes.reads[k]) depths[k] = std::max(depths[k], depths[read]);
    depths[k] += std::holds_alternative<uop::Map>(nodes.order[k].node().kind) ? 1 : 0;
  }
  return depths;
}

/// Returns the deep maps that at least that number of nests would compute, each nearest to its
/// readers.
std::vector<std::size_t> maps_in_nests(const Nodes& nodes, std::size_t count) {
  const std::vector<int> depths = depths_of_maps(nodes);
  std::vector<std::size_t> found;
  std::vector<std::vector<std::size_t>> nests(nodes.order.size());  // that compute the node, sorted
  const auto add = [&](std::size_t node, const std::vector<std::size_t>& more) {
    std::vector<std::size_t> all;
    std::ranges::set_union(nests[node], more, std::back_inserter(all));
    if (all.size() > count) all.resize(count);
    nests[node] = std::move(all);
  };
  for (std::size_t k = 0; k < nodes.stored.size(); ++k)
    add(nodes.stored[k], {nodes.order.size() + k});
  for (std::size_t k = nodes.order.size(); k-- > 0;) {
    std::vector<std::size_t> own = std::move(nests[k]);
    const bool is_found = !nodes.materialised[k] && own.size() >= count &&
                          depths[k] >= kDepthOfMap &&
                          std::holds_alternative<uop::Map>(nodes.order[k].node().kind);
    if (is_found) found.push_back(k);
    if (is_found || nodes.materialised[k]) own = {k};
    for (const std::size_t read : nodes.reads[k]) add(read, own);
  }
  return found;
}

/// Returns the maps that need tensors lest the text grow with the square of the program: in a chain
/// x' = x - max(x) the nest of each max would compute the whole chain before it.
std::vector<std::size_t> maps_for_text(const Nodes& nodes) {
  if (maps_in_nests(nodes, kNestsInLongChain).empty()) return {};
  return maps_in_nests(nodes, kNestsOfMap);
}

/// Computes a reduction with one injective use in place, without a tensor. It takes one at a time,
/// since the index maps of its operands change with it.
std::optional<std::size_t> reduction_to_inline(const Nodes& nodes) {
  for (std::size_t k = 0; k < nodes.order.size(); ++k) {
    if (!nodes.materialised[k] || nodes.readers[k].count != 1 || nodes.readers[k].repeated != 0)
      continue;
    if (std::holds_alternative<uop::Reduce>(nodes.order[k].node().kind)) return k;
  }
  return std::nullopt;
}

/// Returns the map nearest to its readers that would otherwise be computed repeatedly.
std::optional<std::size_t> map_to_materialise(const Nodes& nodes, const Barred& barred,
                                              const NodeSet& materialised) {
  std::map<const UopNode*, bool> memo;
  for (std::size_t k = nodes.order.size(); k-- > 0;) {
    const Readers& readers = nodes.readers[k];
    if (nodes.materialised[k] || readers.count == 0) continue;
    const Uop& u = nodes.order[k];
    if (!std::holds_alternative<uop::Map>(u.node().kind)) continue;
    const bool wanted = (readers.repeated > 0 && !barred.larger.count(u.id()) &&
                         (!barred.cheap.count(u.id()) || expensive(u, materialised, memo))) ||
                        (readers.count >= kLocationsOfTranscendental && is_transcendental(u));
    if (wanted) return k;
  }
  return std::nullopt;
}

}  // namespace

bool is_leaf(const Uop& u) {
  const auto& kind = u.node().kind;
  return std::holds_alternative<uop::Input>(kind) || std::holds_alternative<uop::Scalar>(kind) ||
         std::holds_alternative<uop::Param>(kind) || std::holds_alternative<uop::Iota>(kind);
}

bool is_scatter(const Uop& u) {
  return std::holds_alternative<uop::Scatter>(u.node().kind) ||
         std::holds_alternative<uop::SelectScatter>(u.node().kind);
}

bool is_expensive(const Uop& u, const NodeSet& materialised) {
  std::map<const UopNode*, bool> memo;
  return expensive(u, materialised, memo);
}

bool is_larger_than_reads(const Uop& u, const NodeSet& materialised) {
  const auto axes = [](const Uop& x) {
    return std::ranges::count_if(x.shape(), [](const Expr& e) { return e.constant() != 1; });
  };
  const auto own = axes(u);
  std::vector<Uop> open = {u};
  NodeSet seen;
  while (!open.empty()) {
    const Uop x = std::move(open.back());
    open.pop_back();
    if (!seen.insert(x.id()).second) continue;
    const bool is_tensor = std::holds_alternative<uop::Input>(x.node().kind) ||
                           (x.id() != u.id() && materialised.count(x.id()));
    if (is_tensor && axes(x) >= own) return false;
    if (!is_tensor && !is_leaf(x)) std::ranges::copy(operands(x), std::back_inserter(open));
  }
  return true;
}

Materialised choose_materialised(const Program& program, const Barred& barred) {
  Nodes nodes(roots(program));
  Materialised chosen;
  const auto materialise = [&](std::size_t node) {
    nodes.materialised[node] = 1;
    chosen.nodes.insert(nodes.order[node].id());
  };
  for (std::size_t k = 0; k < nodes.order.size(); ++k)
    if (std::holds_alternative<uop::Reduce>(nodes.order[k].node().kind) ||
        is_scatter(nodes.order[k]))
      materialise(k);
  for (const std::size_t node : maps_for_text(nodes)) {
    materialise(node);
    chosen.for_text.insert(nodes.order[node].id());
  }
  ReaderAnalysis analysis(nodes);
  while (true) {
    if (const auto reduction = reduction_to_inline(nodes)) {
      chosen.nodes.erase(nodes.order[*reduction].id());
      analysis.change(*reduction, false);
    } else if (const auto map = map_to_materialise(nodes, barred, chosen.nodes)) {
      chosen.nodes.insert(nodes.order[*map].id());
      analysis.change(*map, true);
    } else {
      return chosen;
    }
  }
}

NodeSet all_materialised(const Program& program) {
  NodeSet all;
  for (const Uop& u : topological(roots(program)))
    if (!is_leaf(u)) all.insert(u.id());
  return all;
}

}  // namespace mote
