// SPDX-License-Identifier: Apache-2.0
// Chooses the nodes to materialise, by counting the locations and index maps at which each node is
// read. A location is a root (a node with a tensor) and an index; equal indices within a root are
// shared.
#include "lower/materialise.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "lower/index_uops.h"

namespace mote {
namespace {

struct Use {
  bool injective;
};
/// The number of locations that read a node.
struct Uses {
  std::size_t count = 0;
  std::size_t repeated = 0;  ///< the locations whose index is not injective
};
using AllUses = std::map<const UopNode*, Uses>;

/// The number of locations that may each compute a transcendental anew before it gets a tensor.
constexpr std::size_t kPlacesOfTranscendental = 3;

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

/// Collects the uses that are seen from one root.
class RootAnalysis {
 public:
  explicit RootAnalysis(const NodeSet& materialised) : materialised_(materialised) {}

  /// Returns the uses. An output is stored by a nest that reads the node; a materialised node's
  /// nest computes it.
  AllUses run(const Uop& u, bool is_output) {
    std::set<Symbol> domain;
    std::vector<Expr> index;
    for (const Expr& extent : u.shape()) index.push_back(fresh(extent, domain));
    if (is_output) {
      visit(u, index, domain);
    } else {
      operands_of(u, index, domain);
    }
    AllUses all;
    for (const auto& [node, uses] : uses_) {
      const auto repeated = std::ranges::count_if(uses, [](Use use) { return !use.injective; });
      all[node] = {uses.size(), static_cast<std::size_t>(repeated)};
    }
    return all;
  }

 private:
  Expr fresh(const Expr& extent, std::set<Symbol>& domain) {
    if (extent.constant() == 1) return Expr(0);
    const Symbol s(SymbolKind::loop, "q" + std::to_string(count_++));
    domain.insert(s);
    return Expr(s);
  }

  /// `known` says whether the index is injective, if the reader has the same index.
  void visit(const Uop& u, const std::vector<Expr>& index, const std::set<Symbol>& domain,
             std::optional<bool> known = {}) {
    if (is_leaf(u)) return;
    std::vector<Use>& uses = uses_[u.id()];
    const auto [place, first] = visited_.try_emplace({u.id(), index}, uses.size());
    if (!first && !uses[place->second].injective) return;
    const bool injective = known ? *known : is_injective(index, domain);
    if (first) {
      uses.push_back({injective});
    } else if (!injective) {
      uses[place->second].injective = false;  // the same location, now from within one more loop
    } else {
      return;
    }
    if (!materialised_.count(u.id())) operands_of(u, index, domain, injective);
  }

  void operands_of(const Uop& u, const std::vector<Expr>& index, const std::set<Symbol>& domain,
                   std::optional<bool> known = {}) {
    const auto& kind = u.node().kind;
    if (const auto* r = std::get_if<uop::Reindex>(&kind)) {
      std::vector<Expr> from;
      for (const Expr& e : r->from) from.push_back(at(e, index));
      visit(r->x, from, domain);
    } else if (const auto* m = std::get_if<uop::Map>(&kind)) {
      for (const Uop& a : m->args) visit(a, index, domain, known);
    } else if (const auto* s = std::get_if<uop::StopGradient>(&kind)) {
      visit(s->x, index, domain, known);
    } else if (const auto* d = std::get_if<uop::Reduce>(&kind)) {
      const std::set<int> reduced(d->axes.begin(), d->axes.end());
      std::set<Symbol> inner = domain;
      std::vector<Expr> full;
      std::size_t next = 0;
      for (int k = 0; k < d->x.rank(); ++k)
        full.push_back(reduced.count(k) ? fresh(d->x.shape()[static_cast<std::size_t>(k)], inner)
                                        : index[next++]);
      visit(d->x, full, inner);
    } else if (const auto* t = std::get_if<uop::Select>(&kind)) {
      visit(t->index, index, domain, known);
      std::vector<Expr> at = index;
      at[static_cast<std::size_t>(t->axis)] =
          Expr(Symbol(SymbolKind::loop, "selected" + std::to_string(count_++)));
      visit(t->x, at, domain);
    } else if (const auto* w = std::get_if<uop::Scatter>(&kind)) {
      visit(w->base, index, domain, known);
      scattered(w->x, nullptr);
    } else if (const auto* v = std::get_if<uop::SelectScatter>(&kind)) {
      visit(v->base, index, domain, known);
      scattered(v->x, &v->index);
    }
  }

  /// Visits a scattered value, which is read in a nest of its own, over its own axes.
  void scattered(const Uop& x, const Uop* position) {
    std::set<Symbol> domain;
    std::vector<Expr> index;
    for (const Expr& extent : x.shape()) index.push_back(fresh(extent, domain));
    visit(x, index, domain);
    if (position) visit(*position, index, domain);
  }

  const NodeSet& materialised_;
  std::map<const UopNode*, std::vector<Use>> uses_;
  /// The position of each location in the node's uses.
  std::map<std::pair<const UopNode*, std::vector<Expr>>, std::size_t> visited_;
  int count_ = 0;
};

/// Keeps the uses of every node while nodes are materialised one by one: a root is analysed again
/// only if it sees the node that changed.
class UseAnalysis {
 public:
  UseAnalysis(std::vector<Uop> outputs, const std::vector<Uop>& order, const NodeSet& materialised)
      : outputs_(std::move(outputs)), order_(order), materialised_(materialised) {}

  const AllUses& uses() {
    for (const Uop& u : outputs_) add(u, true);
    for (const Uop& u : order_)
      if (materialised_.count(u.id())) add(u, false);
    return all_;
  }

  void changed(const UopNode* node) {
    std::erase_if(roots_, [&](const auto& root) {
      if (root.first.first != node && root.second.count(node) == 0) return false;
      for (const auto& [read, uses] : root.second) {
        all_[read].count -= uses.count;
        all_[read].repeated -= uses.repeated;
      }
      return true;
    });
  }

 private:
  void add(const Uop& u, bool is_output) {
    const auto [root, is_new] = roots_.try_emplace({u.id(), is_output});
    if (!is_new) return;
    root->second = RootAnalysis(materialised_).run(u, is_output);
    for (const auto& [node, uses] : root->second) {
      all_[node].count += uses.count;
      all_[node].repeated += uses.repeated;
    }
  }

  const std::vector<Uop> outputs_;
  const std::vector<Uop>& order_;
  const NodeSet& materialised_;
  std::map<std::pair<const UopNode*, bool>, AllUses> roots_;
  AllUses all_;  ///< uses of all roots together
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

/// Computes a reduction with one injective use in place, without a tensor. It takes one at a time,
/// since the index maps of its operands change with it, and returns the one that changed.
const UopNode* inline_one_reduction(const std::vector<Uop>& order, const AllUses& uses,
                                    NodeSet& materialised) {
  for (const Uop& u : order) {
    const auto* r = std::get_if<uop::Reduce>(&u.node().kind);
    if (!r || !materialised.count(u.id())) continue;
    const auto found = uses.find(u.id());
    if (found == uses.end() || found->second.count != 1 || found->second.repeated != 0) continue;
    materialised.erase(u.id());
    return u.id();
  }
  return nullptr;
}

/// Materialises the map nearest to its readers that would otherwise be computed repeatedly.
const UopNode* materialise_one_map(const std::vector<Uop>& order, const AllUses& uses,
                                   const NodeSet& barred, NodeSet& materialised) {
  std::map<const UopNode*, bool> memo;
  for (std::size_t k = order.size(); k-- > 0;) {
    const Uop& u = order[k];
    if (!std::holds_alternative<uop::Map>(u.node().kind) || materialised.count(u.id())) continue;
    const auto found = uses.find(u.id());
    if (found == uses.end()) continue;
    const bool repeated = found->second.repeated > 0;
    const bool wanted = (repeated && (!barred.count(u.id()) || expensive(u, materialised, memo))) ||
                        (is_transcendental(u) && found->second.count >= kPlacesOfTranscendental);
    if (!wanted) continue;
    materialised.insert(u.id());
    return u.id();
  }
  return nullptr;
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

NodeSet choose_materialised(const Program& program, const NodeSet& barred) {
  const std::vector<Uop> outputs = output_values(program);
  const std::vector<Uop> order = topological(outputs);
  NodeSet materialised;
  for (const Uop& u : order)
    if (std::holds_alternative<uop::Reduce>(u.node().kind) || is_scatter(u))
      materialised.insert(u.id());
  UseAnalysis analysis(outputs, order, materialised);
  while (true) {
    const AllUses& uses = analysis.uses();
    const UopNode* changed = inline_one_reduction(order, uses, materialised);
    if (changed == nullptr) changed = materialise_one_map(order, uses, barred, materialised);
    if (changed == nullptr) return materialised;
    analysis.changed(changed);
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
