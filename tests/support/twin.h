// SPDX-License-Identifier: Apache-2.0
// Makes twins of nodes: they compute the same elements along axes in another order.
#pragma once

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "mote/uops/uop.h"

namespace mote::test {

/// Makes twins, each once.
class TwinMaker {
 public:
  /// Returns a node whose axis k runs along axis order[k] of u. Down to the inputs it shares no
  /// node with u that has axes; sums have the same terms in the same order.
  Uop twin_of(const Uop& u, const std::vector<int>& order) {
    if (u.rank() == 0) return u;
    const auto key = std::pair(u.id(), order);
    const auto found = made_.find(key);
    return found != made_.end() ? found->second : made_[key] = made(u, order);
  }

 private:
  Uop made(const Uop& u, const std::vector<int>& order) {
    const uop::Kind& kind = u.node().kind;
    std::map<Symbol, Expr> along;
    Shape shape;
    std::vector<IndexText> transposed(order.size(), 0);
    for (std::size_t k = 0; k < order.size(); ++k) {
      const Expr i = Expr::loop(static_cast<int>(k));
      along.emplace(*Expr::loop(order[k]).as_symbol(), i);
      transposed[static_cast<std::size_t>(order[k])] = i;
      shape.emplace_back(u.shape()[static_cast<std::size_t>(order[k])]);
    }
    if (const auto* m = std::get_if<uop::Map>(&kind)) {
      if (m->op == MapOp::cast) return cast(twin_of(m->args[0], order), u.dtype());
      std::vector<Uop> args;
      for (const Uop& arg : m->args) args.push_back(twin_of(arg, order));
      return map(m->op, args);
    }
    if (const auto* r = std::get_if<uop::Reindex>(&kind)) {
      // The axes of x are reversed.
      std::vector<IndexText> from;
      std::vector<int> of_x;
      for (int axis = r->x.rank() - 1; axis >= 0; --axis) {
        of_x.push_back(axis);
        from.emplace_back(r->from[static_cast<std::size_t>(axis)].substitute(along));
      }
      return reindex(twin_of(r->x, of_x), shape, from, r->fill);
    }
    if (const auto* i = std::get_if<uop::Iota>(&kind)) {
      const Uop integers = iota(i->value.substitute(along), shape);
      return u.dtype() == DType::i64 ? integers : cast(integers, u.dtype());
    }
    if (const auto* r = std::get_if<uop::Reduce>(&kind)) return reduced(*r, order);
    return reindex(u, shape, transposed);
  }

  /// The reduced axes become the last.
  Uop reduced(const uop::Reduce& r, const std::vector<int>& order) {
    std::vector<int> kept, of_x, last;
    for (int axis = 0; axis < r.x.rank(); ++axis)
      if (std::ranges::find(r.axes, axis) == r.axes.end()) kept.push_back(axis);
    for (const int axis : order) of_x.push_back(kept[static_cast<std::size_t>(axis)]);
    for (const int axis : r.axes) {
      last.push_back(static_cast<int>(of_x.size()));
      of_x.push_back(axis);
    }
    return reduce(r.op, twin_of(r.x, of_x), last);
  }

  std::map<std::pair<const UopNode*, std::vector<int>>, Uop> made_;
};

inline Uop twin_of(const Uop& u, const std::vector<int>& order) {
  return TwinMaker().twin_of(u, order);
}

}  // namespace mote::test
