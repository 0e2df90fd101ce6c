// SPDX-License-Identifier: Apache-2.0
// The rules of Scatter and SelectScatter, which differ only in how they give the target of a write.
#include <functional>

#include "gradient/rules.h"
#include "graph/node.h"

namespace mote {
namespace {

using Terms = std::vector<Adjoint>;

/// Returns the row-major position of i among indices of that shape.
Expr position(const std::vector<Expr>& shape) {
  Expr p = 0;
  for (std::size_t k = 0; k < shape.size(); ++k) p = p * shape[k] + Expr::loop(static_cast<int>(k));
  return p;
}

/// The facts about the writes of x onto base that the rules need.
struct Writes {
  std::function<Uop(const Uop& on_base, Number fill)> gather;  ///< reads where x is written
  std::function<Uop(ScatterOp op, const Uop& base, const Uop& x)> write;
  std::function<Uop()> product_of_others;  ///< the product of the other x's at the same element
};

Terms scatter_terms(ScatterOp op, const Writes& w, const Site& s) {
  const Uop &base = s.x[0], &x = s.x[1];
  const Uop g = materialise(s.g);
  const auto filled = [&](Number n, DType dtype) {
    return reindex(scalar(n, dtype), shape_of(base), {});
  };
  switch (op) {
    case ScatterOp::add:
      return {s.g, {w.gather(g, 0), {}}};
    case ScatterOp::mul: {
      Adjoint to_base = s.g;
      to_base.value = to_base.value * w.write(op, filled(1, x.dtype()), x);
      return {to_base, {w.gather(g * base, 0) * w.product_of_others(), {}}};
    }
    case ScatterOp::max:
    case ScatterOp::min: {
      const Uop base_hits = eq(base, s.y), x_hits = eq(x, w.gather(s.y, 0));
      const DType t = x.dtype();
      const Uop hits = w.write(ScatterOp::add, cast(base_hits, t), cast(x_hits, t));
      Adjoint to_base = s.g;
      to_base.value = share_among(s.at_kinks, to_base.value, hits);
      to_base.where.push_back({base_hits});
      return {to_base, {share_among(s.at_kinks, w.gather(g, 0), w.gather(hits, 1)), {{x_hits}}}};
    }
    case ScatterOp::set: {
      const Uop mine = iota(position(x.shape()), shape_of(x));
      const Uop last = w.write(op, filled(-1, DType::i64), mine);
      Adjoint to_base = s.g;
      to_base.where.push_back({eq(last, -1)});
      return {to_base, {w.gather(g, 0), {{eq(w.gather(last, -1), mine)}}}};
    }
  }
  throw InternalError("gradient: a Scatter without a rule");
}

/// Returns for each write the product of the others to the same element.
Uop product_of_pairs(const uop::Scatter& k, const Uop& x) {
  const int rank = x.rank();
  if (rank == 0) return scalar(1, x.dtype());
  Shape wide = shape_of(x);
  Indices other;
  std::vector<int> more;
  for (const Expr& e : x.shape()) {
    more.push_back(static_cast<int>(wide.size()));
    other.push_back(Expr::loop(more.back()));
    wide.emplace_back(e);
  }
  Uop itself, together;
  const auto both = [&](Uop& all, const Expr& a, const Expr& b) {
    if (a == b) return;
    const Uop here = eq(iota(a, wide), iota(b, wide));
    all = all ? all && here : here;
  };
  for (int a = 0; a < rank; ++a) both(itself, Expr::loop(a), other[static_cast<std::size_t>(a)]);
  for (const Expr& e : k.to) both(together, e, e.substitute(loops_become(other)));
  Uop value = where(itself, 1, reindex(x, wide, as_text(other)));
  if (together) value = where(together, value, 1);
  return prod_over(value, more);
}

}  // namespace

std::vector<Adjoint> scatter_terms(const uop::Scatter& k, const Site& s) {
  const Uop& x = s.x[1];
  return scatter_terms(
      k.op,
      {[&](const Uop& u, Number fill) { return reindex(u, shape_of(x), as_text(k.to), fill); },
       [&](ScatterOp op, const Uop& base, const Uop& u) {
         return scatter(op, base, u, as_text(k.to));
       },
       [&] { return product_of_pairs(k, x); }},
      s);
}

std::vector<Adjoint> scatter_terms(const uop::SelectScatter& k, const Site& s) {
  const Uop &x = s.x[1], &index = s.x[2];
  const auto others = [&] {
    Shape wide = shape_of(x);
    Indices other = loops(x.rank());
    const auto a = static_cast<std::size_t>(k.axis);
    other[a] = Expr::loop(x.rank());
    wide.emplace_back(x.shape()[a]);
    const Uop itself = eq(iota(Expr::loop(k.axis), wide), iota(other[a], wide));
    const Uop together =
        eq(reindex(index, wide, as_text(loops(x.rank()))), reindex(index, wide, as_text(other)));
    const Uop factor = where(itself, 1, reindex(x, wide, as_text(other)));
    return prod_over(where(together, factor, 1), {x.rank()});
  };
  Terms terms =
      scatter_terms(k.op,
                    {[&](const Uop& u, Number fill) { return select(u, k.axis, index, fill); },
                     [&](ScatterOp op, const Uop& base, const Uop& u) {
                       return select_scatter(op, base, u, k.axis, index);
                     },
                     others},
                    s);
  terms.emplace_back();
  return terms;
}

}  // namespace mote
