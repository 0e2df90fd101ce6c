// SPDX-License-Identifier: Apache-2.0
// Finds the nodes that need not be written: repeated axes of Map arguments, kept axes, the quotient
// of means.
#include "program/view.h"

#include <algorithm>

#include "graph/node.h"

namespace mote {
namespace {

const uop::Reindex* as_reindex(const Uop& u) { return std::get_if<uop::Reindex>(&u.node().kind); }

bool reduces(const ReduceView& view, int axis) {
  return std::find(view.axes.begin(), view.axes.end(), axis) != view.axes.end();
}

Expr extent(const Uop& u, int axis) { return u.shape()[static_cast<std::size_t>(axis)]; }

// Returns the shape of a reduction with its axes kept.
std::vector<Expr> kept_shape(const ReduceView& view) {
  std::vector<Expr> shape;
  for (int k = 0; k < view.x.rank(); ++k)
    shape.push_back(reduces(view, k) ? Expr(1) : extent(view.x, k));
  return shape;
}

// Returns true if the Reindex reads a reduction with each kept axis in its old position.
bool reads_in_place(const uop::Reindex& r, const ReduceView& view, const Uop& u) {
  if (u.rank() != view.x.rank()) return false;
  std::size_t next = 0;
  for (int k = 0; k < u.rank(); ++k) {
    if (reduces(view, k)) continue;
    if (r.from[next] != Expr::loop(k) || extent(u, k) != r.x.shape()[next]) return false;
    ++next;
  }
  return true;
}

// Returns true if along each axis u reads x in place, or repeats its one element.
bool repeats(const uop::Reindex& r, const Uop& u) {
  if (r.x.rank() == 0) return !is_bare(r.x);
  if (r.x.rank() != u.rank()) return false;
  for (int k = 0; k < u.rank(); ++k) {
    const Expr& from = r.from[static_cast<std::size_t>(k)];
    const bool in_place = from == Expr::loop(k) && extent(u, k) == extent(r.x, k);
    const bool repeated = from == Expr(0) && extent(r.x, k) == Expr(1) && extent(u, k) != Expr(1);
    if (!in_place && !repeated) return false;
  }
  return true;
}

// Returns the shape that map() would give to arguments of these shapes, read as common_shape does.
std::vector<Expr> joined(const std::vector<std::vector<Expr>>& shapes) {
  std::vector<Expr> result;
  for (const std::vector<Expr>& s : shapes) {
    if (result.empty()) result = s;
    for (std::size_t k = 0; k < s.size() && k < result.size(); ++k)
      if (result[k] == Expr(1)) result[k] = s[k];
  }
  return result;
}

}  // namespace

bool is_bare(const Uop& u) {
  return std::holds_alternative<uop::Scalar>(u.node().kind) ||
         std::holds_alternative<uop::Param>(u.node().kind);
}

std::optional<ReduceView> reduce_view(const Uop& u) {
  if (const auto* r = std::get_if<uop::Reduce>(&u.node().kind))
    return ReduceView{name(r->op), r->x, r->axes};
  const auto* quotient = std::get_if<uop::Map>(&u.node().kind);
  if (!quotient || quotient->op != MapOp::div || !is_real(u.dtype())) return std::nullopt;
  const auto* total = std::get_if<uop::Reduce>(&quotient->args[0].node().kind);
  if (!total || total->op != ReduceOp::sum) return std::nullopt;
  const Uop made = mean_over(total->x, total->axes);
  const Uop& count = std::get<uop::Map>(made.node().kind).args[1];
  const Uop& written = quotient->args[1];
  const auto* cast = std::get_if<uop::Map>(&written.node().kind);
  const auto* made_cast = std::get_if<uop::Map>(&count.node().kind);
  const bool same_count = cast && made_cast
                              ? cast->op == MapOp::cast && written.dtype() == count.dtype() &&
                                    same_node(cast->args[0].node(), made_cast->args[0].node())
                              : same_node(written.node(), count.node());
  if (!same_count) return std::nullopt;
  return ReduceView{"mean", total->x, total->axes};
}

bool kept_view(const Uop& u) {
  const uop::Reindex* r = as_reindex(u);
  if (!r) return false;
  const std::optional<ReduceView> view = reduce_view(r->x);
  return view && reads_in_place(*r, *view, u) && u.shape() == kept_shape(*view);
}

std::vector<Use> ProgramView::written(const Uop& u) const {
  if (const auto view = reduce_view(u)) return {{view->x, false}};
  if (kept_view(u)) return {{as_reindex(u)->x, true}};
  std::vector<Use> plain, short_form;
  for (const Uop& x : operands(u)) plain.push_back({x, false});
  if (!std::holds_alternative<uop::Map>(u.node().kind)) return plain;
  std::vector<std::vector<Expr>> shapes;  // shapes of the arguments in the short form
  for (const Use& use : plain) {
    short_form.push_back(use);
    shapes.push_back(use.u.shape());
    const uop::Reindex* r = as_reindex(use.u);
    if (!r) continue;
    const std::optional<ReduceView> view = reduce_view(r->x);
    if (repeats(*r, use.u)) {
      short_form.back() = {r->x, false};
      shapes.back() = r->x.shape();
    } else if (view && keeps(r->x) && !kept_view(use.u) && reads_in_place(*r, *view, use.u)) {
      short_form.back() = {r->x, true};
      shapes.back() = kept_shape(*view);
    }
  }
  return joined(shapes) == u.shape() ? short_form : plain;
}

int ProgramView::uses(const Uop& u) const {
  const auto found = uses_.find(u.id());
  return found == uses_.end() ? 0 : found->second;
}

bool ProgramView::keeps(const Uop& u) const { return !plain_.contains(u.id()); }

ProgramView view_program(const std::vector<Uop>& roots) {
  ProgramView view;
  const auto shown = [&](const Uop& u) {
    std::vector<Uop> result;
    for (const Use& use : view.written(u)) result.push_back(use.u);
    return result;
  };
  // First assumes that every reduction can be written with its axes kept; then decides each.
  std::unordered_set<const UopNode*> plain;
  for (const Uop& u : roots) plain.insert(u.id());  // an output is written as it is
  for (const Uop& u : topological(roots, shown))
    for (const Use& use : view.written(u))
      if (!use.keeping) plain.insert(use.u.id());
  view.plain_ = std::move(plain);
  view.order = topological(roots, shown);
  for (const Uop& u : view.order)
    for (const Use& use : view.written(u)) ++view.uses_[use.u.id()];
  return view;
}

}  // namespace mote
