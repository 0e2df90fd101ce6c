// SPDX-License-Identifier: Apache-2.0
// In: a program; out: one in which twins, nodes whose elements are another node's along axes in
// another order, read that node. Two nodes are compared element by element: from an index of each,
// down through the nodes that they read, to the inputs.
#include "mote/uops/once.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "graph/node.h"
#include "mote/base/error.h"

namespace mote {
namespace {

using Index = std::vector<Expr>;

/// A node and the index of one of its elements.
struct Element {
  Uop node;
  Index index;
};

/// The node whose elements another node has.
struct Twin {
  Uop of;
  std::vector<int> order;  ///< axis k of the other runs along axis order[k]
};
using Twins = std::unordered_map<const UopNode*, Twin>;

/// Returns the index of the other node's element.
Index permuted(const std::vector<int>& order, const Index& index) {
  Index of_twin(order.size());
  for (std::size_t k = 0; k < order.size(); ++k)
    of_twin[static_cast<std::size_t>(order[k])] = index[k];
  return of_twin;
}

/// The most comparisons of two nodes' elements, and orders of axes that are tried for two nodes:
/// beyond, nodes count as different.
constexpr int kMaxComparisons = 20'000;
constexpr int kMaxOrders = 24;

Index substituted(std::vector<Expr> exprs, const Index& index) {
  std::map<Symbol, Expr> env;
  for (std::size_t k = 0; k < index.size(); ++k)
    env.emplace(*Expr::loop(static_cast<int>(k)).as_symbol(), index[k]);
  for (Expr& e : exprs) e = e.substitute(env);
  return exprs;
}

class Comparison {
 public:
  /// `twins` are those that are known by then.
  Comparison(const Program& p, const Twins& twins) : facts_(facts_of(p.params)), twins_(twins) {}

  /// Returns true if axis k of v runs along axis order[k] of u, with equal elements.
  bool are_twins(const Uop& u, const Uop& v, const std::vector<int>& order) {
    if (is_exhausted()) return false;
    Index of_v;
    for (std::size_t k = 0; k < order.size(); ++k) of_v.push_back(variable(v, k));
    return are_equal({u, permuted(order, of_v)}, {v, of_v});
  }
  bool is_exhausted() const { return comparisons_ > kMaxComparisons; }

 private:
  /// Returns the variable that runs along an axis of the node. It is the same in each comparison.
  Expr variable(const Uop& node, std::size_t axis) {
    const auto next = kMaxRank + static_cast<int>(variables_.size());
    const auto [found, is_new] = variables_.emplace(std::pair(node.id(), axis), Expr::loop(next));
    if (is_new) facts_.set_range(*found->second.as_symbol(), 0, node.shape()[axis]);
    return found->second;
  }

  bool are_equal(Element a, Element b) {
    if (++comparisons_ > kMaxComparisons) return false;
    read_through(a);
    read_through(b);
    if (a.node.id() == b.node.id() && a.index == b.index) return true;
    auto key = std::tuple(a.node.id(), b.node.id(), a.index, b.index);
    if (const auto known = known_.find(key); known != known_.end()) return known->second;
    const bool equal = have_equal_parts(a, b);
    known_.emplace(std::move(key), equal);
    return equal;
  }

  /// Follows twins, and reindexes whose elements all exist.
  void read_through(Element& e) const {
    while (true) {
      const auto twin = twins_.find(e.node.id());
      const auto* r = std::get_if<uop::Reindex>(&e.node.node().kind);
      if (twin != twins_.end()) {
        e = {twin->second.of, permuted(twin->second.order, e.index)};
      } else if (r != nullptr) {
        Index from = substituted(r->from, e.index);
        for (std::size_t k = 0; k < from.size(); ++k)
          if (!facts_.prove_nonneg(from[k]) || !facts_.prove_positive(r->x.shape()[k] - from[k]))
            return;
        e = {r->x, std::move(from)};
      } else {
        return;
      }
    }
  }

  bool have_equal_parts(const Element& a, const Element& b) {
    const uop::Kind& kind = a.node.node().kind;
    if (kind.index() != b.node.node().kind.index() || a.node.dtype() != b.node.dtype())
      return false;
    if (const auto* m = std::get_if<uop::Map>(&kind)) return are_equal_maps(*m, a, b);
    if (std::holds_alternative<uop::Reduce>(kind)) return are_equal_reductions(a, b);
    if (std::holds_alternative<uop::Reindex>(kind)) return are_equal_reindexes(a, b);
    if (const auto* iota = std::get_if<uop::Iota>(&kind)) {
      const Expr other = std::get<uop::Iota>(b.node.node().kind).value;
      return facts_.prove_zero(substituted({iota->value}, a.index)[0] -
                               substituted({other}, b.index)[0]);
    }
    if (const auto* stop = std::get_if<uop::StopGradient>(&kind))
      return are_equal({stop->x, a.index},
                       {std::get<uop::StopGradient>(b.node.node().kind).x, b.index});
    return false;  // of inputs and scalars, equal nodes are one; others are not looked into
  }

  bool are_equal_maps(const uop::Map& a_map, const Element& a, const Element& b) {
    const auto& b_map = std::get<uop::Map>(b.node.node().kind);
    if (a_map.op != b_map.op || a_map.args.size() != b_map.args.size()) return false;
    // A scalar or parameter has no index.
    const auto element = [](const Uop& arg, const Index& index) {
      return Element{arg, arg.rank() == 0 ? Index() : index};
    };
    for (std::size_t k = 0; k < a_map.args.size(); ++k)
      if (a_map.args[k].dtype() != b_map.args[k].dtype() ||
          !are_equal(element(a_map.args[k], a.index), element(b_map.args[k], b.index)))
        return false;
    return true;
  }

  /// Terms are equal one by one, in their order.
  bool are_equal_reductions(const Element& a, const Element& b) {
    const auto& ra = std::get<uop::Reduce>(a.node.node().kind);
    const auto& rb = std::get<uop::Reduce>(b.node.node().kind);
    if (ra.op != rb.op || ra.axes.size() != rb.axes.size()) return false;
    Index terms;
    for (std::size_t k = 0; k < ra.axes.size(); ++k) {
      const auto of_a = static_cast<std::size_t>(ra.axes[k]);
      const auto of_b = static_cast<std::size_t>(rb.axes[k]);
      if (ra.x.shape()[of_a] != rb.x.shape()[of_b]) return false;
      terms.push_back(variable(ra.x, of_a));
    }
    return are_equal({ra.x, with_terms(ra, a.index, terms)},
                     {rb.x, with_terms(rb, b.index, terms)});
  }

  static Index with_terms(const uop::Reduce& r, const Index& index, const Index& terms) {
    Index all = index;
    for (std::size_t k = 0; k < r.axes.size(); ++k) all.insert(all.begin() + r.axes[k], terms[k]);
    return all;
  }

  /// Both have the fill for the same elements, and otherwise equal elements.
  bool are_equal_reindexes(const Element& a, const Element& b) {
    const auto& ra = std::get<uop::Reindex>(a.node.node().kind);
    const auto& rb = std::get<uop::Reindex>(b.node.node().kind);
    const Index from_a = substituted(ra.from, a.index);
    const Index from_b = substituted(rb.from, b.index);
    const auto ranges = [](const uop::Reindex& r, const Index& from) {
      std::vector<std::pair<Expr, Expr>> all;
      for (std::size_t k = 0; k < from.size(); ++k) all.emplace_back(from[k], r.x.shape()[k]);
      std::ranges::sort(all);
      return all;
    };
    return identical(ra.fill, rb.fill) && ranges(ra, from_a) == ranges(rb, from_b) &&
           are_equal({ra.x, from_a}, {rb.x, from_b});
  }

  Facts facts_;
  const Twins& twins_;
  std::map<std::pair<const UopNode*, std::size_t>, Expr> variables_;
  std::map<std::tuple<const UopNode*, const UopNode*, Index, Index>, bool> known_;
  int comparisons_ = 0;
};

bool is_costly(const Uop& u) {
  const auto* m = std::get_if<uop::Map>(&u.node().kind);
  return std::holds_alternative<uop::Reduce>(u.node().kind) ||
         (m != nullptr && is_transcendental(m->op));
}

std::ptrdiff_t costly_nodes(const std::vector<Uop>& outputs) {
  return std::ranges::count_if(topological(outputs), is_costly);
}

class Finder {
 public:
  explicit Finder(const Program& p)
      : p_(p), nodes_(topological(roots(p))), comparison_(p, twins_) {}

  std::optional<Program> run() {
    std::map<std::size_t, std::vector<Uop>> alike;  // nodes by their signatures
    for (const Uop& u : nodes_) {
      const std::vector<Uop> args = operands(u);
      costly_[u.id()] = is_costly(u) || std::ranges::any_of(args, [&](const Uop& arg) {
                          return costly_.at(arg.id());
                        });
      signature_[u.id()] = signature(u);
      if (!may_be_twin(u)) continue;
      std::vector<Uop>& others = alike[signature_.at(u.id())];
      if (!find_twin(u, others)) others.push_back(u);
    }
    return twins_.empty() ? std::nullopt : rewritten();
  }

 private:
  bool may_be_twin(const Uop& u) const {
    const uop::Kind& kind = u.node().kind;
    return u.rank() > 0 && costly_.at(u.id()) &&
           (std::holds_alternative<uop::Map>(kind) || std::holds_alternative<uop::Reduce>(kind));
  }

  /// Twins have equal ones: it depends on neither the order of axes nor on reindexes.
  std::size_t signature(const Uop& u) const {
    const uop::Kind& kind = u.node().kind;
    if (const auto* r = std::get_if<uop::Reindex>(&kind)) return signature_.at(r->x.id());
    std::size_t all = kind.index() * 31 + static_cast<std::size_t>(u.dtype());
    const auto add = [&](std::size_t more) {
      all = (all ^ (all >> 29U)) * 0x9e3779b97f4a7c15U + more;
    };
    if (const auto* m = std::get_if<uop::Map>(&kind)) add(static_cast<std::size_t>(m->op));
    if (const auto* r = std::get_if<uop::Reduce>(&kind)) add(static_cast<std::size_t>(r->op));
    const std::vector<Uop> args = operands(u);
    for (const Uop& arg : args) add(signature_.at(arg.id()));
    if (args.empty() && !std::holds_alternative<uop::Iota>(kind)) add(hash_node(u.node()));
    return all;
  }

  bool find_twin(const Uop& v, const std::vector<Uop>& others) {
    for (const Uop& u : others) {
      if (comparison_.is_exhausted()) return false;
      if (auto order = order_of_twin(u, v)) {
        twins_[v.id()] = {u, *std::move(order)};
        return true;
      }
    }
    return false;
  }

  /// Returns the first order of axes, of those with the same extents, in which v's elements are
  /// u's.
  std::optional<std::vector<int>> order_of_twin(const Uop& u, const Uop& v) {
    if (u.rank() != v.rank()) return std::nullopt;
    std::vector<int> order;
    int left = kMaxOrders;
    return choose_axes(u, v, order, left) ? std::optional(std::move(order)) : std::nullopt;
  }

  bool choose_axes(const Uop& u, const Uop& v, std::vector<int>& order, int& left) {
    if (order.size() == v.shape().size()) return left-- > 0 && comparison_.are_twins(u, v, order);
    for (int axis = 0; axis < u.rank() && left > 0; ++axis) {
      if (std::ranges::find(order, axis) != order.end() ||
          u.shape()[static_cast<std::size_t>(axis)] != v.shape()[order.size()])
        continue;
      order.push_back(axis);
      if (choose_axes(u, v, order, left)) return true;
      order.pop_back();
    }
    return false;
  }

  std::optional<Program> rewritten() const {
    std::unordered_map<const UopNode*, Uop> now;
    try {
      for (const Uop& u : nodes_) now[u.id()] = rewritten(u, now);
    } catch (const Error&) {
      return std::nullopt;  // A reindex may make the longest chain of nodes too long.
    }
    Program once = p_;
    for (Output& o : once.outputs) o.value = now.at(o.value.id());
    if (costly_nodes(roots(once)) >= costly_nodes(roots(p_))) return std::nullopt;
    return once;
  }

  Uop rewritten(const Uop& u, const std::unordered_map<const UopNode*, Uop>& now) const {
    const auto twin = twins_.find(u.id());
    if (twin == twins_.end()) {
      std::vector<Uop> args = operands(u);
      const std::vector<Uop> before = args;
      for (Uop& arg : args) arg = now.at(arg.id());
      return std::ranges::equal(args, before, {}, &Uop::id, &Uop::id) ? u : with_operands(u, args);
    }
    const auto& [of, order] = twin->second;
    Index index;
    for (std::size_t k = 0; k < order.size(); ++k) index.push_back(Expr::loop(static_cast<int>(k)));
    return make_reindex(now.at(of.id()), u.shape(), u.node().axis_names, permuted(order, index),
                        constant_of(Number(0), u.dtype(), "fill"), {});
  }

  const Program& p_;
  const std::vector<Uop> nodes_;
  Comparison comparison_;
  std::unordered_map<const UopNode*, bool> costly_;
  std::unordered_map<const UopNode*, std::size_t> signature_;
  Twins twins_;
};

}  // namespace

std::optional<Program> computed_once(const Program& program) { return Finder(program).run(); }

}  // namespace mote
