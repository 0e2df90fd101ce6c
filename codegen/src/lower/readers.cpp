// SPDX-License-Identifier: Apache-2.0
// Walks from each root down to tensors, with the index at which each node is read.
#include "lower/readers.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>

#include "lower/index_uops.h"
#include "lower/materialise.h"

namespace mote {
namespace {

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

/// Collects the readers that are seen from one root. Few indices occur in one root, so each has an
/// array that says for every node whether it was seen there.
class RootAnalysis {
 public:
  explicit RootAnalysis(const Nodes& nodes) : nodes_(nodes), seen_(nodes.order.size()) {}

  /// Returns the readers. An output is stored by a nest that reads the node; a materialised node's
  /// nest computes it.
  SeenReaders run(std::size_t node, bool is_output) {
    std::set<Symbol> domain;
    std::vector<Expr> index;
    for (const Expr& extent : nodes_.order[node].shape()) index.push_back(fresh(extent, domain));
    if (is_output) {
      visit(node, number_of(std::move(index)), domain);
    } else {
      operands_of(node, number_of(std::move(index)), domain);
    }
    SeenReaders all;
    for (std::size_t read = 0; read < seen_.size(); ++read) {
      if (!seen_[read]) continue;
      Readers readers;
      for (const Index& at : indices_) {
        readers.count += at.seen[read] != Seen::no ? 1 : 0;
        readers.repeated += at.seen[read] == Seen::repeatedly ? 1 : 0;
      }
      all.push_back({read, readers});
    }
    return all;
  }

 private:
  enum class Seen : char { no, injectively, repeatedly };
  struct Index {
    const std::vector<Expr>* value;
    std::vector<Seen> seen;  ///< by node
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
    if (is_new) indices_.push_back({&found->first, {nodes_.order.size(), Seen::no}});
    return found->second;
  }

  /// `known` says whether the index is injective, if the reader has the same index.
  void visit(std::size_t node, std::size_t index, const std::set<Symbol>& domain,
             std::optional<bool> known = {}) {
    if (nodes_.leaf[node]) return;
    const Seen before = indices_[index].seen[node];
    if (before == Seen::repeatedly) return;
    const bool injective = known ? *known : is_injective(*indices_[index].value, domain);
    if (injective && before != Seen::no) return;
    // Perhaps it is the same location, now from within one more loop.
    indices_[index].seen[node] = injective ? Seen::injectively : Seen::repeatedly;
    seen_[node] = 1;
    if (!nodes_.materialised[node]) operands_of(node, index, domain, injective);
  }

  void operands_of(std::size_t node, std::size_t number, const std::set<Symbol>& domain,
                   std::optional<bool> known = {}) {
    const std::vector<Expr>& index = *indices_[number].value;
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
  std::map<std::vector<Expr>, std::size_t> numbers_;  ///< numbers of indices
  std::vector<Index> indices_;                        ///< by number
  std::vector<char> seen_;                            ///< by node: whether some index is seen there
  int count_ = 0;
};

}  // namespace

Nodes::Nodes(std::span<const Uop> outputs)
    : order(topological(outputs)), materialised(order.size()), readers(order.size()) {
  std::unordered_map<const UopNode*, std::size_t> numbers;
  const auto number = [&](const Uop& u) { return numbers.at(u.id()); };
  for (const Uop& u : order) {
    numbers.emplace(u.id(), numbers.size());
    leaf.push_back(is_leaf(u) ? 1 : 0);
    reads.emplace_back();
    std::ranges::transform(operands(u), std::back_inserter(reads.back()), number);
  }
  std::ranges::transform(outputs, std::back_inserter(stored), number);
}

ReaderAnalysis::ReaderAnalysis(Nodes& nodes) : nodes_(nodes) {
  for (const std::size_t node : nodes_.stored) add(node, true);
  for (std::size_t k = 0; k < nodes_.order.size(); ++k)
    if (nodes_.materialised[k]) add(k, false);
}

void ReaderAnalysis::change(std::size_t node, bool materialised) {
  nodes_.materialised[node] = materialised ? 1 : 0;
  std::vector<std::pair<std::size_t, bool>> again;
  std::erase_if(roots_, [&](const auto& root) {
    const auto& [of, seen] = root;
    if (of.first != node &&
        !std::ranges::binary_search(seen, node, {}, &SeenReaders::value_type::first))
      return false;
    for (const auto& [read, readers] : seen) {
      nodes_.readers[read].count -= readers.count;
      nodes_.readers[read].repeated -= readers.repeated;
    }
    again.push_back(of);
    return true;
  });
  for (const auto& [of, is_output] : again)
    if (is_output || of != node) add(of, is_output);
  if (materialised) add(node, false);
}

void ReaderAnalysis::add(std::size_t node, bool is_output) {
  const auto [root, is_new] = roots_.try_emplace({node, is_output});
  if (!is_new) return;
  root->second = RootAnalysis(nodes_).run(node, is_output);
  for (const auto& [read, readers] : root->second) {
    nodes_.readers[read].count += readers.count;
    nodes_.readers[read].repeated += readers.repeated;
  }
}

}  // namespace mote
