// SPDX-License-Identifier: Apache-2.0
// Works bottom up: it finds the axes that a node depends on and its cost, and then makes each node
// anew over the axes that its reader needs.
#include "hoist.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "index.h"
#include "plan.h"

namespace mote::blocks {
namespace {

/// A set of axes: bit k is axis k of the node's shape.
using AxisSet = std::uint32_t;

AxisSet all_axes(const Uop& u) { return (AxisSet{1} << static_cast<unsigned>(u.rank())) - 1; }
bool has_axis(AxisSet axes, int k) { return (axes >> static_cast<unsigned>(k) & 1U) != 0; }

AxisSet axes_of(const Expr& e, int rank) {
  AxisSet axes = 0;
  for (int k = 0; k < rank; ++k)
    if (e.symbols().contains(loop_symbol(k))) axes |= AxisSet{1} << static_cast<unsigned>(k);
  return axes;
}

class Hoister {
 public:
  explicit Hoister(const std::vector<Uop>& nodes) {
    for (const Uop& u : nodes) known_[u.id()] = known(u);
  }

  bool hoists() const { return hoists_; }
  Uop whole(const Uop& u) { return over(u, all_axes(u)); }

 private:
  struct Known {
    AxisSet axes = 0;
    int work = 0;  ///< instructions for an element, at most kMuchWork
  };

  Known known(const Uop& u) const {
    if (as<uop::Scalar>(u) || as<uop::Param>(u)) return {};
    if (const auto* i = as<uop::Iota>(u)) return {axes_of(i->value, u.rank()), 1};
    if (const auto* r = as<uop::Reindex>(u)) {
      Known k{0, 1};
      for (const Expr& e : r->from) k.axes |= axes_of(e, u.rank());
      return k;
    }
    const auto* m = as<uop::Map>(u);
    if (m == nullptr) return {all_axes(u), 1};
    Known k{0, is_transcendental(m->op) ? kMuchWork : 1};
    for (const Uop& x : m->args) {
      k.axes |= known_.at(x.id()).axes;
      k.work = std::min(k.work + known_.at(x.id()).work, kMuchWork);
    }
    return k;
  }

  /// True if the node is worth an array of its own for a reader over `axes`.
  bool is_hoisted(const Uop& u, AxisSet axes) const {
    const Known& k = known_.at(u.id());
    return as<uop::Map>(u) && k.axes != axes && k.work >= kMuchWork;
  }

  /// The node over those axes of its shape, which include all that it depends on.
  Uop over(const Uop& u, AxisSet axes) {
    if (u.rank() > 0 && is_hoisted(u, axes)) return spread(u, axes);
    const auto [at, is_new] = done_.try_emplace({u.id(), axes});
    if (!is_new) return at->second;
    const Uop v = made(u, axes);
    return done_[{u.id(), axes}] = v;
  }

  /// The node computed over its own axes alone and read at each position of `axes`.
  Uop spread(const Uop& u, AxisSet axes) {
    const AxisSet own = known_.at(u.id()).axes;
    const auto [at, is_new] = spread_.try_emplace({u.id(), axes});
    if (!is_new) return at->second;
    hoists_ = true;
    std::vector<IndexText> from;
    int location = 0;
    for (int k = 0; k < u.rank(); ++k) {
      if (has_axis(own, k)) from.emplace_back(Expr::loop(location));
      location += has_axis(axes, k) ? 1 : 0;
    }
    const Number fill = is_real(u.dtype()) ? Number(0.0) : Number(0);
    const Uop v = reindex(over(u, own), shape(u, axes), from, fill);
    return spread_[{u.id(), axes}] = v;
  }

  static Shape shape(const Uop& u, AxisSet axes) {
    Shape shape;
    for (int k = 0; k < u.rank(); ++k)
      if (has_axis(axes, k)) shape.emplace_back(u.shape()[static_cast<std::size_t>(k)]);
    return shape;
  }
  /// The expression in the loops of those axes.
  static Expr renamed(const Expr& e, const Uop& u, AxisSet axes) {
    std::map<Symbol, Expr> names;
    int location = 0;
    for (int k = 0; k < u.rank(); ++k)
      if (has_axis(axes, k)) names.emplace(loop_symbol(k), Expr::loop(location++));
    return e.substitute(names);
  }

  Uop made(const Uop& u, AxisSet axes) {
    if (const auto* i = as<uop::Iota>(u)) {
      if (axes == all_axes(u)) return u;
      const Uop position = iota(renamed(i->value, u, axes), shape(u, axes));
      return u.dtype() == DType::i64 ? position : cast(position, u.dtype());
    }
    if (const auto* r = as<uop::Reindex>(u)) {
      std::vector<IndexText> from;
      for (const Expr& e : r->from) from.emplace_back(renamed(e, u, axes));
      return reindex(whole(r->x), shape(u, axes), from, r->fill);
    }
    if (const auto* m = as<uop::Map>(u)) {
      std::vector<Uop> args;
      for (const Uop& x : m->args) args.push_back(over(x, x.rank() == 0 ? 0 : axes));
      return m->op == MapOp::cast ? cast(args[0], u.dtype()) : map(m->op, args);
    }
    if (const auto* r = as<uop::Reduce>(u)) return reduce(r->op, whole(r->x), r->axes);
    if (const auto* s = as<uop::Select>(u))
      return select(whole(s->x), s->axis, whole(s->index), s->fill);
    if (const auto* s = as<uop::Scatter>(u)) {
      const std::vector<IndexText> to(s->to.begin(), s->to.end());
      return scatter(s->op, whole(s->base), whole(s->x), to);
    }
    if (const auto* s = as<uop::SelectScatter>(u))
      return select_scatter(s->op, whole(s->base), whole(s->x), s->axis, whole(s->index));
    if (const auto* s = as<uop::StopGradient>(u)) return stop_gradient(whole(s->x));
    return u;
  }

  std::unordered_map<const UopNode*, Known> known_;
  using Key = std::pair<const UopNode*, AxisSet>;
  std::map<Key, Uop> done_, spread_;
  bool hoists_ = false;
};

}  // namespace

Hoisted hoisted(const Program& program, const Masks& masks) {
  std::vector<Uop> roots = mote::roots(program);
  const std::vector<Uop> nodes = topological(roots);
  for (const auto& [node, mask] : masks) roots.push_back(mask.x);
  Hoister hoister(topological(roots));
  Hoisted result{program, {}};
  for (Output& o : result.program.outputs) o.value = hoister.whole(o.value);
  for (const Uop& u : nodes) {
    const auto at = masks.find(u.id());
    if (at == masks.end()) continue;
    const Uop v = hoister.whole(u);
    // A node that became a Reindex is hoisted: it is computed for fewer elements already.
    if (!as<uop::Reindex>(v))
      result.masks.emplace(v.id(), Mask{at->second.conditions, hoister.whole(at->second.x)});
  }
  return hoister.hoists() ? result : Hoisted{program, masks};
}

}  // namespace mote::blocks
