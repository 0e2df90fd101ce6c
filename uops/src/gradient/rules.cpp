// SPDX-License-Identifier: Apache-2.0
// The rules for nodes other than Map. Conditions move with their elements, and end where a sum
// combines elements.
#include "gradient/rules.h"

#include <algorithm>
#include <functional>

#include "graph/node.h"

namespace mote {
namespace {

using Terms = std::vector<Adjoint>;

/// Returns u at from(i), which is always in range. Positions, and values computed from them, stay
/// visible as such, so that conditions on them can become limits of loops.
Uop read(const Uop& u, const Shape& shape, const Indices& from) {
  if (u.rank() == 0) return u;
  const std::map<Symbol, Expr> env = loops_become(from);
  if (const auto* k = std::get_if<uop::Iota>(&u.node().kind)) {
    const Uop i = iota(k->value.substitute(env), shape);
    return u.dtype() == DType::i64 ? i : cast(i, u.dtype());
  }
  if (const auto* k = std::get_if<uop::Reindex>(&u.node().kind)) {
    std::vector<IndexText> index;
    for (const Expr& e : k->from) index.emplace_back(e.substitute(env));
    return reindex(k->x, shape, index, k->fill);
  }
  const auto* m = std::get_if<uop::Map>(&u.node().kind);
  if (!m || m->op == MapOp::cast || is_real(u.dtype())) return reindex(u, shape, as_text(from));
  std::vector<Uop> args;
  for (const Uop& a : m->args) args.push_back(read(a, shape, from));
  return map(m->op, args);
}

std::vector<FlowCondition> read(const std::vector<FlowCondition>& conditions, const Shape& shape,
                                const Indices& from) {
  std::vector<FlowCondition> result;
  for (const FlowCondition& c : conditions)
    result.push_back({read(c.holds, shape, from), c.negated});
  return result;
}

/// Returns true if read() of u needs no value for these loop variables of u.
bool independent(const Uop& u, const std::vector<int>& axes) {
  if (u.rank() == 0 || axes.empty()) return true;
  const auto mentions = [&](const Expr& e) {
    return std::any_of(axes.begin(), axes.end(),
                       [&](int a) { return e.mentions(*Expr::loop(a).as_symbol()); });
  };
  if (const auto* k = std::get_if<uop::Iota>(&u.node().kind)) return !mentions(k->value);
  if (const auto* k = std::get_if<uop::Reindex>(&u.node().kind))
    return std::none_of(k->from.begin(), k->from.end(), mentions);
  const auto* m = std::get_if<uop::Map>(&u.node().kind);
  if (!m || m->op == MapOp::cast || is_real(u.dtype())) return false;
  return std::all_of(m->args.begin(), m->args.end(),
                     [&](const Uop& a) { return independent(a, axes); });
}

/// Returns the sum of v over axes; axes with a single element are only read.
Uop sum_of(const Uop& v, const std::vector<int>& axes) {
  std::vector<int> single, several;
  for (const int a : axes)
    (v.shape()[static_cast<std::size_t>(a)] == Expr(1) ? single : several).push_back(a);
  const Uop rest = single.empty() ? v : squeeze(v, single);
  for (int& a : several)  // their positions after the squeeze
    a -=
        static_cast<int>(std::count_if(single.begin(), single.end(), [&](int s) { return s < a; }));
  return several.empty() ? rest : sum_over(rest, several);
}

/// Returns the gradient of x if the node reads x along distinct axes: the sum of g over the others,
/// in x's order.
Adjoint sum_to(const Adjoint& g, const Uop& x, const std::vector<int>& axis_of) {
  std::vector<int> dropped;
  Indices inverse, order;
  for (std::size_t j = 0; j < axis_of.size(); ++j) {
    inverse.push_back(axis_of[j] < 0 ? Expr(0) : Expr::loop(axis_of[j]));
    if (axis_of[j] < 0)
      dropped.push_back(static_cast<int>(j));
    else
      order.push_back(inverse.back());
  }
  Adjoint inner{g.value, {}}, result;
  std::vector<FlowCondition> open(g.where.rbegin(), g.where.rend());
  while (!open.empty()) {
    const FlowCondition c = open.back();
    open.pop_back();
    const auto* m = std::get_if<uop::Map>(&c.holds.node().kind);
    if (independent(c.holds, dropped)) {
      result.where.push_back({read(c.holds, shape_of(x), inverse), c.negated});
    } else if (m && m->op == MapOp::logical_and && !c.negated) {
      open.push_back({m->args[1]});
      open.push_back({m->args[0]});
    } else {
      inner.where.push_back(c);
    }
  }
  result.value = reindex(sum_of(materialise(inner), dropped), shape_of(x), as_text(order));
  return result;
}

Terms reindex_terms(const uop::Reindex& r, const Site& s) {
  const Uop& x = s.x[0];
  std::vector<int> axis_of(s.node.shape().size(), -1);
  bool plain = true;
  for (std::size_t k = 0; k < r.from.size(); ++k) {
    std::size_t j = 0;
    while (j < axis_of.size() && r.from[k] != Expr::loop(static_cast<int>(j))) ++j;
    if (j < axis_of.size() && axis_of[j] < 0 && s.node.shape()[j] == x.shape()[k])
      axis_of[j] = static_cast<int>(k);
    else if (r.from[k] != Expr(0) || x.shape()[k] != Expr(1))
      plain = false;
  }
  if (plain) return {sum_to(s.g, x, axis_of)};
  return {{scatter(ScatterOp::add, zeros_like(x), materialise(s.g), as_text(r.from)), {}}};
}

// ---- Reduce

/// Returns the indices of x's remaining axes in a reduction of it.
Indices kept(const Uop& x, const std::vector<int>& axes) {
  Indices result;
  for (int k = 0; k < x.rank(); ++k)
    if (!std::binary_search(axes.begin(), axes.end(), k)) result.push_back(Expr::loop(k));
  return result;
}
Uop spread(const Uop& reduced, const Uop& x, const std::vector<int>& axes) {
  return reindex(reduced, shape_of(x), as_text(kept(x, axes)));
}

/// Returns for each element the product of all others.
Uop product_of_others(const Uop& x, const std::vector<int>& axes) {
  Shape wide = shape_of(x);
  Indices other = loops(x.rank());
  std::vector<int> more;
  for (const int a : axes) {
    other[static_cast<std::size_t>(a)] = Expr::loop(static_cast<int>(wide.size()));
    more.push_back(static_cast<int>(wide.size()));
    wide.emplace_back(x.shape()[static_cast<std::size_t>(a)]);
  }
  Uop itself;
  for (std::size_t k = 0; k < axes.size(); ++k) {
    const Uop here = eq(iota(Expr::loop(axes[k]), wide), iota(Expr::loop(more[k]), wide));
    itself = itself ? itself && here : here;
  }
  return prod_over(where(itself, 1, reindex(x, wide, as_text(other))), more);
}

Terms reduce_terms(const uop::Reduce& r, const Site& s) {
  const Uop& x = s.x[0];
  Adjoint t{{}, read(s.g.where, shape_of(x), kept(x, r.axes))};
  switch (r.op) {
    case ReduceOp::sum:
      t.value = spread(s.g.value, x, r.axes);
      return {t};
    case ReduceOp::prod:
      t.value = spread(s.g.value, x, r.axes) * product_of_others(x, r.axes);
      return {t};
    case ReduceOp::max:
    case ReduceOp::min: {
      const Uop hit = eq(x, spread(s.y, x, r.axes));
      // The division counts only where there is a hit: an empty or NaN row has none.
      const Uop hits = sum_over(cast(hit, x.dtype()), r.axes);
      t.value = share_among(s.at_kinks, spread(s.g.value, x, r.axes), spread(hits, x, r.axes));
      t.where.push_back({hit});
      return {t};
    }
    case ReduceOp::argmax:
    case ReduceOp::argmin:
    case ReduceOp::any:
    case ReduceOp::all:
      return {{}};
  }
  throw InternalError("gradient: a Reduce without a rule");
}

}  // namespace

std::vector<IndexText> as_text(const Indices& from) { return {from.begin(), from.end()}; }

Indices loops(int rank) {
  Indices result;
  for (int k = 0; k < rank; ++k) result.push_back(Expr::loop(k));
  return result;
}

std::map<Symbol, Expr> loops_become(const Indices& from) {
  std::map<Symbol, Expr> env;
  for (std::size_t k = 0; k < from.size(); ++k)
    env.emplace(*Expr::loop(static_cast<int>(k)).as_symbol(), from[k]);
  return env;
}

Uop zeros_like(const Uop& x) { return reindex(scalar(0, x.dtype()), shape_of(x), {}); }

bool passes_gradient(const Uop& node) {
  if (!is_real(node.dtype())) return false;
  if (const auto* m = std::get_if<uop::Map>(&node.node().kind)) return passes_gradient(m->op);
  return !std::holds_alternative<uop::StopGradient>(node.node().kind);
}

std::vector<Adjoint> gradient_terms(Site s) {
  // Every rule is linear in g, except AtKinks::least and greatest. A minus sign stays outside until
  // a sum absorbs it.
  const Uop positive = s.at_kinks == AtKinks::usual ? negated(s.g.value) : Uop();
  if (positive) {
    s.g.value = positive;
    Terms terms = gradient_terms(std::move(s));
    for (Adjoint& t : terms)
      if (t.value) t.value = negate(t.value);
    return terms;
  }
  if (!inner_operands(s.node).empty()) return logistic_terms(s);
  return std::visit(
      Overloaded{[&](const uop::Map& k) { return map_terms(k.op, s); },
                 [&](const uop::Reindex& k) { return reindex_terms(k, s); },
                 [&](const uop::Reduce& k) { return reduce_terms(k, s); },
                 [&](const uop::Select& k) {
                   const Uop zero = zeros_like(s.x[0]);
                   return Terms{
                       {select_scatter(ScatterOp::add, zero, materialise(s.g), k.axis, s.x[1]), {}},
                       {}};
                 },
                 [&](const uop::Scatter& k) { return scatter_terms(k, s); },
                 [&](const uop::SelectScatter& k) { return scatter_terms(k, s); },
                 [&](const auto&) { return Terms(s.x.size()); }},
      s.node.node().kind);
}

}  // namespace mote
