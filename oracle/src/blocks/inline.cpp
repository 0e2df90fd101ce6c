// SPDX-License-Identifier: Apache-2.0
// Works bottom up; a read of a Map or a Reduce makes the node anew in the reader's loops.
#include "inline.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "as.h"
#include "index.h"

namespace mote::blocks {
namespace {

/// A position along each axis of the read tensor, in the loops of a shape.
using IndexAt = std::vector<Expr>;

std::vector<IndexText> texts(const IndexAt& at) { return {at.begin(), at.end()}; }

std::map<Symbol, Expr> renaming(const IndexAt& at) {
  std::map<Symbol, Expr> names;
  for (std::size_t k = 0; k < at.size(); ++k)
    names.emplace(loop_symbol(static_cast<int>(k)), at[k]);
  return names;
}

/// True if each element is read about once: the read moves along as many axes as there are, and
/// each of its own loops makes a difference.
bool reads_once(const uop::Reindex& r, int rank) {
  if (rank > static_cast<int>(r.from.size())) return false;
  for (int k = 0; k < rank; ++k)
    if (std::ranges::none_of(r.from, [&](const Expr& e) { return e.mentions(loop_symbol(k)); }))
      return false;
  return true;
}

class Inliner {
 public:
  explicit Inliner(const Program& program) : facts_(facts_of(program.params)) {}

  bool inlines() const { return inlines_; }

  Uop whole(const Uop& u) {
    const auto [at, is_new] = done_.try_emplace(u.id());
    if (!is_new) return at->second;
    const Uop v = made(u);
    return done_[u.id()] = v;
  }

 private:
  Uop made(const Uop& u) {
    const auto* r = as<uop::Reindex>(u);
    if (r != nullptr && is_computed(r->x) && reads_once(*r, u.rank())) {
      inlines_ = true;
      const Uop x = whole(r->x);
      return guarded(within(*r, x.shape(), u.shape()), value(x, r->from, shape_of(u)), r->fill);
    }
    std::vector<Uop> args = operands(u);
    bool same = true;
    for (Uop& x : args) {
      const Uop y = whole(x);
      same = same && y.id() == x.id();
      x = y;
    }
    return same ? u : with_operands(u, args);
  }
  static bool is_computed(const Uop& x) { return as<uop::Map>(x) || as<uop::Reduce>(x); }

  static Uop guarded(const Uop& condition, const Uop& x, const Number& fill) {
    if (!condition) return x;
    return where(condition, x, scalar(fill, x.dtype()));
  }

  /// The condition that the read is in range; null if it always is.
  Uop within(const uop::Reindex& r, const std::vector<Expr>& tensor,
             const std::vector<Expr>& shape) {
    const auto [at, is_new] = within_.try_emplace({r.from, tensor, shape});
    if (is_new) at->second = condition(r.from, tensor, shape);
    return at->second;
  }
  Uop condition(const IndexAt& from, const std::vector<Expr>& tensor,
                const std::vector<Expr>& shape) {
    const Facts facts = facts_over(shape, facts_);
    const Shape loops(shape.begin(), shape.end());
    Uop all;
    const auto add = [&](const Uop& one) { all = all ? all && one : one; };
    for (std::size_t k = 0; k < from.size(); ++k) {
      if (!facts.prove_nonneg(from[k])) add(iota(from[k], loops) >= 0);
      if (!facts.prove_nonneg(tensor[k] - 1 - from[k]))
        add(iota(from[k], loops) < iota(tensor[k], loops));
    }
    return all;
  }

  /// The node's value at a position that is in range.
  Uop value(const Uop& u, const IndexAt& at, const Shape& loops) {
    if (u.rank() == 0) return u;
    std::vector<Expr> extents;
    for (const Axis& a : loops) extents.push_back(a.extent);
    const auto [known, is_new] = values_.try_emplace({u.id(), at, extents});
    if (!is_new) return known->second;
    const Uop v = computed(u, at, loops);
    return values_[{u.id(), at, extents}] = v;
  }
  Uop computed(const Uop& u, const IndexAt& at, const Shape& loops) {
    if (const auto* i = as<uop::Iota>(u)) {
      const Uop position = iota(i->value.substitute(renaming(at)), loops);
      return u.dtype() == DType::i64 ? position : cast(position, u.dtype());
    }
    if (const auto* r = as<uop::Reindex>(u)) {
      IndexAt from;
      for (const Expr& e : r->from) from.push_back(e.substitute(renaming(at)));
      return reindex(r->x, loops, texts(from), r->fill);
    }
    if (const auto* m = as<uop::Map>(u)) {
      std::vector<Uop> args;
      for (const Uop& x : m->args) args.push_back(value(x, at, loops));
      return m->op == MapOp::cast ? cast(args[0], u.dtype()) : map(m->op, args);
    }
    if (const auto* s = as<uop::StopGradient>(u)) return value(s->x, at, loops);
    if (const auto* r = as<uop::Reduce>(u); r != nullptr && fits(*r, loops))
      return reduced(*r, at, loops);
    return reindex(u, loops, texts(at));
  }

  static bool fits(const uop::Reduce& r, const Shape& loops) {
    return loops.size() + r.axes.size() <= static_cast<std::size_t>(kMaxRank);
  }
  /// The terms of the reduction over the reader's loops, followed by its reduced axes, in the same
  /// order.
  Uop reduced(const uop::Reduce& r, const IndexAt& at, const Shape& loops) {
    Shape wide = loops;
    IndexAt from;
    std::vector<int> axes;
    std::size_t kept = 0;
    for (int k = 0; k < r.x.rank(); ++k) {
      if (std::ranges::find(r.axes, k) == r.axes.end()) {
        from.push_back(at[kept++]);
      } else {
        axes.push_back(static_cast<int>(wide.size()));
        from.push_back(Expr::loop(axes.back()));
        wide.emplace_back(r.x.shape()[static_cast<std::size_t>(k)]);
      }
    }
    return reduce(r.op, value(r.x, from, wide), axes);
  }

  Facts facts_;
  std::unordered_map<const UopNode*, Uop> done_;
  std::map<std::tuple<IndexAt, std::vector<Expr>, std::vector<Expr>>, Uop> within_;
  std::map<std::tuple<const UopNode*, IndexAt, std::vector<Expr>>, Uop> values_;
  bool inlines_ = false;
};

}  // namespace

std::optional<Program> inlined(const Program& program) {
  Inliner inliner(program);
  Program result = program;
  for (Output& o : result.outputs) o.value = inliner.whole(o.value);
  if (!inliner.inlines()) return {};
  return result;
}

}  // namespace mote::blocks
