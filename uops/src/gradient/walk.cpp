// SPDX-License-Identifier: Apache-2.0
// Finds what the gradient reads of the forward program, and walks from outputs to inputs: each node
// adds up the contributions of its readers and passes the sum on by its rule.
#include "gradient/walk.h"

#include <algorithm>

#include "graph/node.h"

namespace mote {

Primal::Primal(const std::vector<Uop>& nodes,
               const std::unordered_map<const UopNode*, Uop>& given) {
  for (const Uop& u : nodes) {
    const auto found = given.find(u.id());
    const bool use_given = found != given.end() && usable(u);
    if (use_given || stored_exactly(u)) exact_.insert(u.id());
    values_.emplace(u.id(), use_given ? found->second : recomputed(u));
  }
}

Uop Primal::recomputed(const Uop& u) const {
  std::vector<Uop> args = operands(u);
  bool changed = false;
  for (Uop& a : args) {
    changed = changed || of(a).id() != a.id();
    a = of(a);
  }
  return changed ? rebuild(u, args, {}) : u;
}

/// The rule of a maximum compares the arguments with it, so its dtype must not be narrower than
/// theirs.
bool Primal::usable(const Uop& u) const {
  const auto exact = [&](const Uop& x) { return exact_.contains(x.id()); };
  const auto& kind = u.node().kind;
  if (is_wide(u.dtype())) return true;
  if (const auto* k = std::get_if<uop::Reduce>(&kind))
    return (k->op != ReduceOp::max && k->op != ReduceOp::min) || exact(k->x);
  if (const auto* k = std::get_if<uop::Scatter>(&kind))
    return (k->op != ScatterOp::max && k->op != ScatterOp::min) || (exact(k->base) && exact(k->x));
  if (const auto* k = std::get_if<uop::SelectScatter>(&kind))
    return (k->op != ScatterOp::max && k->op != ScatterOp::min) || (exact(k->base) && exact(k->x));
  return true;
}

bool Primal::stored_exactly(const Uop& u) const {
  const auto exact = [&](const Uop& x) { return exact_.contains(x.id()); };
  const auto fits = [&](const Number& n) { return identical(store_as(n, u.dtype()), n); };
  const auto& kind = u.node().kind;
  if (is_wide(u.dtype()) || std::holds_alternative<uop::Input>(kind)) return true;
  if (const auto* k = std::get_if<uop::Reindex>(&kind)) return exact(k->x) && fits(k->fill);
  if (const auto* k = std::get_if<uop::Select>(&kind)) return exact(k->x) && fits(k->fill);
  if (const auto* k = std::get_if<uop::StopGradient>(&kind)) return exact(k->x);
  const auto* k = std::get_if<uop::Reduce>(&kind);
  return k && (k->op == ReduceOp::max || k->op == ReduceOp::min) && exact(k->x);
}

Walk::Walk(const std::vector<Uop>& nodes, const std::unordered_set<const UopNode*>& wrt,
           const Primal& primal, AtKinks at_kinks)
    : nodes_(nodes), primal_(primal), at_kinks_(at_kinks) {
  for (const Uop& u : nodes) {
    bool active = wrt.contains(u.id());
    if (passes_gradient(u))
      for (const Uop& x : operands(u)) active = active || active_.contains(x.id());
    if (active) active_.insert(u.id());
  }
}

void Walk::run() {
  for (std::size_t k = nodes_.size(); k-- > 0;) {
    const Uop& u = nodes_[k];
    const auto found = terms_.find(u.id());
    if (found == terms_.end() || std::holds_alternative<uop::Input>(u.node().kind)) continue;
    Site site{u, {}, primal_.of(u), join(std::move(found->second)), at_kinks_};
    std::vector<Uop> to = operands(u);
    for (const Uop& x : to) site.x.push_back(primal_.of(x));
    const std::vector<Uop> inner = inner_operands(u);
    for (const Uop& x : inner) site.x.push_back(primal_.of(x));
    std::ranges::copy(inner, to.end() - std::ssize(inner));
    std::vector<Adjoint> terms = gradient_terms(site);
    for (std::size_t a = 0; a < to.size(); ++a) contribute(to[a], std::move(terms[a]));
  }
}

Uop Walk::result(const Uop& input) const {
  const auto found = terms_.find(input.id());
  return found == terms_.end() ? zeros_like(input) : materialise(join(found->second));
}

void Walk::contribute(const Uop& u, Adjoint term) {
  if (term.value && active_.contains(u.id())) terms_[u.id()].push_back(std::move(term));
}

}  // namespace mote
