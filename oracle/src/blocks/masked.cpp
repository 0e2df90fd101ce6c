// SPDX-License-Identifier: Apache-2.0
// Finds conditions on positions under which an element of a reduction is not neutral.
#include "masked.h"

#include <algorithm>
#include <random>
#include <set>
#include <unordered_map>

#include "mote/uops/compare.h"
#include "mote/uops/evaluate.h"

namespace mote::blocks {
namespace {

bool is_position(const Uop& u) {
  return is_integer(u.dtype()) && (as<uop::Iota>(u) || as<uop::Scalar>(u));
}

/// Adds the comparisons of positions in a conjunction to `all`.
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

/// Visits the Map nodes that compute an element at its own location; other nodes are their leaves.
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

/// The values of nodes if one condition does not hold, as far as they are known.
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
    if (m->op == MapOp::where) {
      const std::optional<Number> second = of(m->args[1]);
      const std::optional<Number> third = of(m->args[2]);
      return second && third && same(*second, *third) ? second : std::nullopt;
    }
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

/// Simplified nodes, valid if all the conditions hold.
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

/// True if elements can be computed apart from their neighbours, from reads at fixed locations.
bool is_apart_in(const Uop& x, const Uop& of) {
  bool apart = x.shape() == of.shape();
  for_each_below(x, [&](const Uop& u) {
    const bool fixed = as<uop::Map>(u) || as<uop::Scalar>(u) || as<uop::Param>(u) ||
                       as<uop::Iota>(u) || as<uop::Reindex>(u) || as<uop::Input>(u) ||
                       as<uop::Reduce>(u);
    apart = apart && fixed && (u.shape().empty() || u.shape() == of.shape());
  });
  return apart;
}

}  // namespace

bool is_apart(const Uop& x) { return is_apart_in(x, x); }

std::vector<Uop> position_conditions(const Uop& condition) {
  std::vector<Uop> all;
  add_conditions(condition, all);
  return all;
}

Expr position_of(const Uop& u) {
  const auto* iota = as<uop::Iota>(u);
  return iota ? iota->value : Expr(as<uop::Scalar>(u)->value.integer());
}

std::optional<Mask> masked(const uop::Reduce& r, const std::vector<Uop>& also) {
  if (r.op == ReduceOp::argmax || r.op == ReduceOp::argmin) return {};
  std::vector<Uop> found;
  for_each_below(r.x, [&](const Uop& u) {
    const auto* m = as<uop::Map>(u);
    if (m != nullptr && m->op == MapOp::where) add_conditions(m->args[0], found);
  });
  const Number start = neutral(r.op, r.x.dtype());
  Mask mask{also, {}};
  const auto is_known = [&](const Uop& c) {
    return std::ranges::any_of(also, [&](const Uop& known) { return known.id() == c.id(); });
  };
  for (const Uop& c : found) {
    if (is_known(c)) continue;
    if (const auto v = WhenFalse(c).of(r.x); v && same(*v, start)) mask.conditions.push_back(c);
  }
  if (mask.conditions.empty()) return {};
  mask.x = WhenTrue(mask.conditions).of(r.x);
  if (!is_apart_in(mask.x, r.x)) return {};
  return mask;
}

double chosen_share(const std::vector<Uop>& conditions, const Extents& shape, const Sizes& sizes) {
  constexpr std::int64_t kSamples = 31;
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
  if (count == 0) return 1;
  // Equal distances would be wrong: they may be those of rows.
  std::minstd_rand random;
  std::uniform_int_distribution<std::int64_t> place(0, count - 1);
  std::int64_t chosen = 0;
  for (std::int64_t k = 0; k < kSamples; ++k) {
    const Walk walk(shape, place(random));
    chosen += std::ranges::all_of(all, [&](const Ends& c) {
      return compare(c.op, c.a.value(walk.index()), c.b.value(walk.index()));
    });
  }
  return static_cast<double>(chosen) / static_cast<double>(kSamples);
}

}  // namespace mote::blocks
