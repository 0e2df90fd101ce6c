// Conditions on positions under which an element of a reduction is not the neutral one.
#include "thin.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <unordered_map>

#include "mote/uops/compare.h"
#include "mote/uops/evaluate.h"

namespace mote::blocks {
namespace {

bool is_position(const Uop& u) {
  return is_integer(u.dtype()) && (as<uop::Iota>(u) || as<uop::Scalar>(u));
}

/// Conditions that stand between `and`s: those on positions go to `all`.
void add_conditions(const Uop& u, std::vector<Uop>& all) {
  const auto* m = as<uop::Map>(u);
  if (m == nullptr) return;
  if (m->op == MapOp::logical_and) {
    for (const Uop& x : m->args) add_conditions(x, all);
  } else if (is_comparison(m->op) && is_position(m->args[0]) && is_position(m->args[1])) {
    const auto is_it = [&](const Uop& c) { return c.id() == u.id(); };
    if (std::ranges::none_of(all, is_it)) all.push_back(u);
  }
}

/// The Map nodes that an element is computed by at its own place; other nodes are their leaves.
template <typename Visit>
void for_each_below(const Uop& root, const Visit& visit) {
  std::set<const UopNode*> seen;
  std::vector<Uop> open = {root};
  while (!open.empty()) {
    const Uop u = open.back();
    open.pop_back();
    if (!seen.insert(u.id()).second) continue;
    visit(u);
    if (const auto* m = as<uop::Map>(u)) open.insert(open.end(), m->args.begin(), m->args.end());
  }
}

/// What nodes are where one condition does not hold, as far as that follows.
class WhenFalse {
 public:
  explicit WhenFalse(const Uop& condition) : condition_(condition) {}

  const std::optional<Number>& of(const Uop& u) {
    const auto [at, is_new] = known_.try_emplace(u.id());
    if (!is_new) return at->second;
    std::optional<Number> v = compute(u);
    return known_[u.id()] = v;
  }

 private:
  std::optional<Number> compute(const Uop& u) {
    if (u.id() == condition_.id()) return Number(0);
    if (const auto* s = as<uop::Scalar>(u)) return s->value;
    const auto* m = as<uop::Map>(u);
    if (m == nullptr) return {};
    const std::optional<Number> first = of(m->args[0]);
    if (m->op == MapOp::where && first) return of(m->args[first->integer() != 0 ? 1 : 2]);
    if (m->op == MapOp::logical_and) {
      const std::optional<Number> second = of(m->args[1]);
      if ((first && first->integer() == 0) || (second && second->integer() == 0)) return Number(0);
    }
    std::vector<Number> args;
    for (const Uop& x : m->args) {
      const std::optional<Number> v = of(x);
      if (!v) return {};
      args.push_back(*v);
    }
    return apply(m->op, args, m->args.back().dtype(), u.dtype());
  }

  const Uop& condition_;
  std::unordered_map<const UopNode*, std::optional<Number>> known_;
};

/// Nodes where all the conditions hold.
class WhenTrue {
 public:
  explicit WhenTrue(const std::vector<Uop>& conditions) {
    for (const Uop& c : conditions) done_.emplace(c.id(), scalar(Number(1), DType::boolean));
  }

  Uop of(const Uop& u) {
    if (const auto at = done_.find(u.id()); at != done_.end()) return at->second;
    const Uop v = made(u);
    done_.emplace(u.id(), v);
    return v;
  }

 private:
  static bool holds(const Uop& u) {
    const auto* s = as<uop::Scalar>(u);
    return s != nullptr && u.dtype() == DType::boolean && s->value.integer() != 0;
  }
  Uop made(const Uop& u) {
    const auto* m = as<uop::Map>(u);
    if (m == nullptr) return u;
    std::vector<Uop> args;
    bool same = true;
    for (const Uop& x : m->args) {
      args.push_back(of(x));
      same = same && args.back().id() == x.id();
    }
    if (same) return u;
    if (m->op == MapOp::where && holds(args[0])) return args[1];
    if (m->op == MapOp::logical_and && holds(args[0])) return args[1];
    if (m->op == MapOp::logical_and && holds(args[1])) return args[0];
    return m->op == MapOp::cast ? cast(args[0], u.dtype()) : map(m->op, args);
  }

  std::unordered_map<const UopNode*, Uop> done_;
};

/// Elements can be computed apart from their neighbours, from reads at places that are fixed.
bool is_apart(const Uop& x, const Uop& of) {
  bool apart = x.shape() == of.shape();
  for_each_below(x, [&](const Uop& u) {
    const bool fixed = as<uop::Map>(u) || as<uop::Scalar>(u) || as<uop::Param>(u) ||
                       as<uop::Reindex>(u) || as<uop::Input>(u) || as<uop::Reduce>(u);
    apart = apart && fixed && (u.shape().empty() || u.shape() == of.shape());
  });
  return apart;
}

}  // namespace

std::optional<Thin> thinned(const uop::Reduce& r) {
  if (r.op == ReduceOp::argmax || r.op == ReduceOp::argmin) return {};
  std::vector<Uop> found;
  for_each_below(r.x, [&](const Uop& u) {
    const auto* m = as<uop::Map>(u);
    if (m != nullptr && m->op == MapOp::where) add_conditions(m->args[0], found);
  });
  const Number start = neutral(r.op, r.x.dtype());
  Thin thin;
  for (const Uop& c : found)
    if (const auto v = WhenFalse(c).of(r.x); v && same(*v, start)) thin.conditions.push_back(c);
  if (thin.conditions.empty()) return {};
  thin.x = WhenTrue(thin.conditions).of(r.x);
  if (!is_apart(thin.x, r.x)) return {};
  return thin;
}

namespace {

Expr position_of(const Uop& u) {
  const auto* iota = as<uop::Iota>(u);
  return iota ? iota->value : Expr(as<uop::Scalar>(u)->value.integer());
}

}  // namespace

Chosen::Chosen(const std::vector<Uop>& conditions, const Rows& rows, const Sizes& sizes)
    : rows_(rows), strides_(rows.first, 0) {
  constexpr std::int64_t kMost = std::int64_t{1} << 20U;  // elements of all lists: 8 MiB
  for (const Uop& c : conditions) {
    const auto& m = *as<uop::Map>(c);
    conditions_.push_back(
        {m.op, {position_of(m.args[0]), rows, sizes}, {position_of(m.args[1]), rows, sizes}});
  }
  std::int64_t lists = 1;
  for (std::size_t k = rows.first; k-- > 0;) {
    const bool differs = std::ranges::any_of(
        conditions_, [&](const Condition& c) { return c.a.depends_on(k) || c.b.depends_on(k); });
    if (!differs) continue;
    strides_[k] = lists;
    lists *= rows.shape[k];
    keeps_ = keeps_ && lists <= kMost / std::max<std::int64_t>(rows.extents.back(), 1);
    if (!keeps_) lists = 1;
  }
  lists_.resize(static_cast<std::size_t>(lists));
  known_.resize(static_cast<std::size_t>(lists), 0);
}

const Extents& Chosen::row(const Walk& walk) {
  std::int64_t at = 0;
  for (std::size_t k = 0; keeps_ && k < rows_.first; ++k) at += strides_[k] * walk.index()[k];
  const auto list = static_cast<std::size_t>(at);
  if (!keeps_ || known_[list] == 0) choose(walk, lists_[list]);
  known_[list] = 1;
  return lists_[list];
}

double chosen_share(const std::vector<Uop>& conditions, const Extents& shape, const Sizes& sizes) {
  constexpr std::int64_t kSamples = 31;  // a prime: they fall on all places of short rows
  struct Ends {
    MapOp op;
    IndexTree a, b;
  };
  std::vector<Ends> all;
  for (const Uop& c : conditions) {
    const auto& m = *as<uop::Map>(c);
    all.push_back({m.op, index_tree(position_of(m.args[0]), sizes),
                   index_tree(position_of(m.args[1]), sizes)});
  }
  const std::int64_t count = element_count(shape);
  const std::int64_t samples = std::min(count, kSamples);
  std::int64_t chosen = 0;
  for (std::int64_t k = 0; k < samples; ++k) {
    const Walk walk(shape, count / samples * k + count % samples * k / samples);
    chosen += std::ranges::all_of(all, [&](const Ends& c) {
      return compare(c.op, c.a.value(walk.index()), c.b.value(walk.index()));
    });
  }
  return samples == 0 ? 1 : static_cast<double>(chosen) / static_cast<double>(samples);
}

void Chosen::choose(const Walk& walk, Extents& list) {
  const std::int64_t length = rows_.extents.back();
  a_.resize(static_cast<std::size_t>(length));
  b_.resize(static_cast<std::size_t>(length));
  Extents all(static_cast<std::size_t>(length));
  std::iota(all.begin(), all.end(), 0);
  for (const Condition& c : conditions_) {
    c.a.values(walk, length, a_.data());
    c.b.values(walk, length, b_.data());
    std::erase_if(all, [&](std::int64_t k) {
      const auto at = static_cast<std::size_t>(k);
      return !compare(c.op, a_[at], b_[at]);
    });
  }
  list.assign(all.begin(), all.end());
}

}  // namespace mote::blocks
