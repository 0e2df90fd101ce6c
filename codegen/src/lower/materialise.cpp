// SPDX-License-Identifier: Apache-2.0
// Chooses the nodes to materialise, by counting the locations and index maps at which each node is
// read. A location is a root (a node with a tensor) and an index; equal indices within a root are
// shared.
#include "lower/materialise.h"

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

#include "lower/index_uops.h"

namespace mote {
namespace {

/// The locations that read a node.
struct Uses {
  std::size_t count = 0;
  std::size_t repeated = 0;  ///< the locations whose index is not injective
};

/// The nodes of a program, operands first, and the facts about each, by its number in that order.
struct Nodes {
  explicit Nodes(std::span<const Uop> outputs)
      : order(topological(outputs)), materialised(order.size()), uses(order.size()) {
    std::unordered_map<const UopNode*, std::size_t> numbers;
    const auto number = [&](const Uop& u) { return numbers.at(u.id()); };
    for (const Uop& u : order) {
      numbers.emplace(u.id(), numbers.size());
      leaf.push_back(is_leaf(u));
      reads.emplace_back();
      std::ranges::transform(operands(u), std::back_inserter(reads.back()), number);
    }
    std::ranges::transform(outputs, std::back_inserter(stored), number);
  }

  std::vector<Uop> order;
  std::vector<std::vector<std::size_t>> reads;  ///< operands, in their order
  std::vector<char> leaf;
  std::vector<char> materialised;
  std::vector<Uses> uses;           ///< uses by all roots together
  std::vector<std::size_t> stored;  ///< the nodes of the outputs
};

/// The number of locations that may each compute a transcendental anew before it gets a tensor.
constexpr std::size_t kPlacesOfTranscendental = 3;

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

/// Returns the variables of the domain that e mentions and that are not known yet.
std::vector<Symbol> unknowns(const Expr& e, const std::set<Symbol>& domain,
                             const std::set<Symbol>& known) {
  std::vector<Symbol> r;
  for (const Symbol s : e.symbols())
    if (domain.count(s) && !known.count(s)) r.push_back(s);
  return r;
}

/// Adds a variable v if v/c and v%c both occur: together they determine v.
void learn_from_digits(const std::vector<Expr>& index, const std::set<Symbol>& domain,
                       std::set<Symbol>& known, bool& changed) {
  for (const Expr& a : index) {
    const Atom* div = a.as_atom();
    if (!div || div->kind != Atom::Kind::div) continue;
    for (const Expr& b : index) {
      const Atom* mod = b.as_atom();
      if (!mod || mod->kind != Atom::Kind::mod || mod->args != div->args) continue;
      const auto open = unknowns(div->args[0], domain, known);
      if (open.size() == 1 && linear_in(div->args[0], open[0])) {
        known.insert(open[0]);
        changed = true;
      }
    }
  }
}

/// Returns true if the index determines every variable of the domain.
bool is_injective(const std::vector<Expr>& index, const std::set<Symbol>& domain) {
  std::set<Symbol> known;
  bool changed = true;
  while (changed) {
    changed = false;
    for (const Expr& e : index) {
      const auto open = unknowns(e, domain, known);
      if (open.size() != 1) continue;
      const auto linear = linear_in(e, open[0]);
      if (linear && linear->factor.constant()) {
        known.insert(open[0]);
        changed = true;
      }
    }
    learn_from_digits(index, domain, known, changed);
  }
  return known.size() == domain.size();
}

/// The nodes that one root sees, by number, in order.
using SeenUses = std::vector<std::pair<std::size_t, Uses>>;

/// Collects the uses that are seen from one root.
class RootAnalysis {
 public:
  explicit RootAnalysis(const Nodes& nodes) : nodes_(nodes) {}

  /// Returns the uses. An output is stored by a nest that reads the node; a materialised node's
  /// nest computes it.
  SeenUses run(std::size_t node, bool is_output) {
    std::set<Symbol> domain;
    std::vector<Expr> index;
    for (const Expr& extent : nodes_.order[node].shape()) index.push_back(fresh(extent, domain));
    if (is_output) {
      visit(node, number_of(std::move(index)), domain);
    } else {
      operands_of(node, number_of(std::move(index)), domain);
    }
    std::vector<std::pair<std::size_t, bool>> places;
    for (const auto& [place, injective] : visited_) places.emplace_back(place.node, injective);
    std::ranges::sort(places);
    SeenUses all;
    for (const auto& [node, injective] : places) {
      if (all.empty() || all.back().first != node) all.push_back({node, {}});
      ++all.back().second.count;
      all.back().second.repeated += injective ? 0 : 1;
    }
    return all;
  }

 private:
  struct Place {
    std::size_t node;
    std::size_t index;
    friend bool operator==(const Place&, const Place&) = default;
  };
  struct PlaceHash {
    std::size_t operator()(const Place& p) const {
      return std::hash<std::size_t>()(p.node * 0x9E3779B97F4A7C15ULL + p.index);
    }
  };

  Expr fresh(const Expr& extent, std::set<Symbol>& domain) {
    if (extent.constant() == 1) return Expr(0);
    const Symbol s(SymbolKind::loop, "q" + std::to_string(count_++));
    domain.insert(s);
    return Expr(s);
  }

  /// Returns the number of an index; equal indices have the same.
  std::size_t number_of(std::vector<Expr> index) {
    const auto [found, is_new] = numbers_.try_emplace(std::move(index), indices_.size());
    if (is_new) indices_.push_back(&found->first);
    return found->second;
  }

  /// `known` says whether the index is injective, if the reader has the same index.
  void visit(std::size_t node, std::size_t index, const std::set<Symbol>& domain,
             std::optional<bool> known = {}) {
    if (nodes_.leaf[node]) return;
    const auto [place, first] = visited_.try_emplace({node, index}, true);
    if (!first && !place->second) return;
    const bool injective = known ? *known : is_injective(*indices_[index], domain);
    if (injective && !first) return;
    place->second = injective;  // perhaps the same location, now from within one more loop
    if (!nodes_.materialised[node]) operands_of(node, index, domain, injective);
  }

  void operands_of(std::size_t node, std::size_t number, const std::set<Symbol>& domain,
                   std::optional<bool> known = {}) {
    const std::vector<Expr>& index = *indices_[number];
    const std::vector<std::size_t>& reads = nodes_.reads[node];
    const auto& kind = nodes_.order[node].node().kind;
    if (const auto* r = std::get_if<uop::Reindex>(&kind)) {
      std::vector<Expr> from;
      for (const Expr& e : r->from) from.push_back(at(e, index));
      visit(reads[0], number_of(std::move(from)), domain);
    } else if (const auto* d = std::get_if<uop::Reduce>(&kind)) {
      const std::set<int> reduced(d->axes.begin(), d->axes.end());
      std::set<Symbol> inner = domain;
      std::vector<Expr> full;
      std::size_t next = 0;
      for (int k = 0; k < d->x.rank(); ++k)
        full.push_back(reduced.count(k) ? fresh(d->x.shape()[static_cast<std::size_t>(k)], inner)
                                        : index[next++]);
      visit(reads[0], number_of(std::move(full)), inner);
    } else if (const auto* t = std::get_if<uop::Select>(&kind)) {
      visit(reads[1], number, domain, known);
      std::vector<Expr> at = index;
      at[static_cast<std::size_t>(t->axis)] =
          Expr(Symbol(SymbolKind::loop, "selected" + std::to_string(count_++)));
      visit(reads[0], number_of(std::move(at)), domain);
    } else if (is_scatter(nodes_.order[node])) {
      visit(reads[0], number, domain, known);
      scattered(std::span(reads).subspan(1));
    } else {  // Map, StopGradient
      for (const std::size_t read : reads) visit(read, number, domain, known);
    }
  }

  /// Visits a scattered value and its position, which are read in a nest of their own, over its
  /// axes.
  void scattered(std::span<const std::size_t> reads) {
    std::set<Symbol> domain;
    std::vector<Expr> index;
    for (const Expr& extent : nodes_.order[reads[0]].shape())
      index.push_back(fresh(extent, domain));
    const std::size_t number = number_of(std::move(index));
    for (const std::size_t read : reads) visit(read, number, domain);
  }

  const Nodes& nodes_;
  std::map<std::vector<Expr>, std::size_t> numbers_;    ///< numbers of indices
  std::vector<const std::vector<Expr>*> indices_;       ///< by number
  std::unordered_map<Place, bool, PlaceHash> visited_;  ///< true if its index is injective
  int count_ = 0;
};

/// Keeps the uses of every node while nodes are materialised one by one: a root is analysed again
/// only if it sees the node that changed.
class UseAnalysis {
 public:
  explicit UseAnalysis(Nodes& nodes) : nodes_(nodes) {
    for (const std::size_t node : nodes_.stored) add(node, true);
    for (std::size_t k = 0; k < nodes_.order.size(); ++k)
      if (nodes_.materialised[k]) add(k, false);
  }

  void change(std::size_t node, bool materialised) {
    nodes_.materialised[node] = materialised;
    std::vector<std::pair<std::size_t, bool>> again;
    std::erase_if(roots_, [&](const auto& root) {
      const auto& [of, seen] = root;
      if (of.first != node &&
          !std::ranges::binary_search(seen, node, {}, &SeenUses::value_type::first))
        return false;
      for (const auto& [read, uses] : seen) {
        nodes_.uses[read].count -= uses.count;
        nodes_.uses[read].repeated -= uses.repeated;
      }
      again.push_back(of);
      return true;
    });
    for (const auto& [of, is_output] : again)
      if (is_output || of != node) add(of, is_output);
    if (materialised) add(node, false);
  }

 private:
  void add(std::size_t node, bool is_output) {
    const auto [root, is_new] = roots_.try_emplace({node, is_output});
    if (!is_new) return;
    root->second = RootAnalysis(nodes_).run(node, is_output);
    for (const auto& [read, uses] : root->second) {
      nodes_.uses[read].count += uses.count;
      nodes_.uses[read].repeated += uses.repeated;
    }
  }

  Nodes& nodes_;
  std::map<std::pair<std::size_t, bool>, SeenUses> roots_;
};

std::vector<Uop> output_values(const Program& program) {
  const std::vector<Uop> outputs = roots(program);
  return outputs;
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
    if (!nodes.materialised[k] || nodes.uses[k].count != 1 || nodes.uses[k].repeated != 0) continue;
    if (std::holds_alternative<uop::Reduce>(nodes.order[k].node().kind)) return k;
  }
  return std::nullopt;
}

/// Returns the map nearest to its readers that would otherwise be computed repeatedly.
std::optional<std::size_t> map_to_materialise(const Nodes& nodes, const NodeSet& barred,
                                              const NodeSet& materialised) {
  std::map<const UopNode*, bool> memo;
  for (std::size_t k = nodes.order.size(); k-- > 0;) {
    const Uses& uses = nodes.uses[k];
    if (nodes.materialised[k] || uses.count == 0) continue;
    const Uop& u = nodes.order[k];
    if (!std::holds_alternative<uop::Map>(u.node().kind)) continue;
    const bool wanted =
        (uses.repeated > 0 && (!barred.count(u.id()) || expensive(u, materialised, memo))) ||
        (uses.count >= kPlacesOfTranscendental && is_transcendental(u));
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

Materialised choose_materialised(const Program& program, const NodeSet& barred) {
  Nodes nodes(output_values(program));
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
  UseAnalysis analysis(nodes);
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
  const std::vector<Uop> outputs = output_values(program);
  NodeSet all;
  for (const Uop& u : topological(outputs))
    if (!is_leaf(u)) all.insert(u.id());
  return all;
}

}  // namespace mote
