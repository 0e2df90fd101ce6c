// SPDX-License-Identifier: Apache-2.0
// In: statements at top level; out: nests that scatter, with loops around them whose iterations are
// independent. For `for i { t = index[i]; for d { y[t, d] op= v } }`:
//
//   for s in 0..ranges, d { for i { t = index[i]; if s*range <= t < (s + 1)*range {
//     y[t, d] op= v } } }
//
// Each element of y is combined in the order of i, as before. Every output range goes over all of
// i, which reads more but needs no sort.
#include "scatter_by_range.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "ir/dependence.h"
#include "ir/references.h"
#include "kept.h"
#include "mote/codegen/walk.h"
#include "rewriting.h"
#include "schedule/iterations.h"

namespace mote::cuda {
namespace {

/// The number of threads that is enough: more read more, and take turns.
constexpr std::int64_t kThreads = 16384;
constexpr std::int64_t kMaxRanges = 4096;

/// A nest of loops with names and branches between them, around a body without loops.
struct Nest {
  struct Between {
    Stmt s;             ///< a name, or a branch without its body
    std::size_t depth;  ///< number of loops around it
  };
  std::vector<const Loop*> loops;
  std::vector<Between> between;
  Body body;
};

bool add_level(Nest& nest, const Stmt& s);

/// Adds the levels; returns false unless only names stand before a statement that holds loops.
bool add_levels(Nest& nest, const Body& level) {
  for (const Stmt& s : level) {
    if (std::holds_alternative<Let>(s.kind) && nest.body.empty())
      nest.between.push_back({s, nest.loops.size()});
    else if (as_loop(s) == nullptr && !(nested_body(s) != nullptr && holds_loop(*nested_body(s))))
      nest.body.push_back(s);
    else
      return &s == &level.back() && nest.body.empty() && add_level(nest, s);
  }
  return true;
}

/// Adds a loop, or a branch around one.
bool add_level(Nest& nest, const Stmt& s) {
  if (const Loop* loop = as_loop(s)) {
    if (!is_counted(*loop) || !loop->accumulators.empty()) return false;
    nest.loops.push_back(loop);
  } else {
    nest.between.push_back({{If{std::get<If>(s.kind).conditions, {}}}, nest.loops.size()});
  }
  return add_levels(nest, *nested_body(s));
}

/// Returns the only statement that stores, if it scatters.
const StoreReduce* scatter_in(const Body& body) {
  const StoreReduce* found = nullptr;
  bool other = false;
  for_each(body, [&](const Stmt& s) {
    if (const auto* scatter = std::get_if<StoreReduce>(&s.kind)) {
      other = other || found != nullptr;
      found = scatter;
    }
    other = other || std::holds_alternative<Store>(s.kind) || std::holds_alternative<Fold>(s.kind);
  });
  return other ? nullptr : found;
}

bool mentions_any(const Expr& e, const std::set<Symbol>& variables) {
  return std::ranges::any_of(variables, [&](Symbol v) { return e.mentions(v); });
}

class RangeScatter {
 public:
  explicit RangeScatter(const LoopProgram& p) : p_(p), make_(p) {}

  std::optional<SplitReduction> run() {
    Body body = replaced(p_.body, [&](const Stmt& s, Body& all) {
      auto made = as_loop(s) != nullptr ? scatter(s) : std::nullopt;
      all.push_back(made ? *std::move(made) : s);
    });
    if (!terms_) return std::nullopt;
    return SplitReduction{std::move(make_).with(std::move(body)), *terms_};
  }

 private:
  std::optional<Stmt> scatter(const Stmt& s) {
    Nest nest;
    const StoreReduce* store = add_level(nest, s) ? scatter_in(nest.body) : nullptr;
    if (store == nullptr) return std::nullopt;
    const TensorDecl& t = *find_tensor(p_, store->tensor);
    bool reads_itself = false;
    for (const Access& a : accesses(s))
      reads_itself = reads_itself || (!a.write && a.tensor == t.name);
    if (reads_itself) return std::nullopt;

    std::vector<const Loop*> apart, in_order;
    for (const Loop* l : nest.loops) {
      const bool is_axis = std::ranges::find(store->index, Expr(l->variable)) != store->index.end();
      (is_axis ? apart : in_order).push_back(l);
    }
    Expr threads = 1;
    for (const Loop* l : apart) threads = threads * l->end;
    std::vector<Loop> around;
    std::vector<Conditions> locations;
    for (std::size_t axis = 0; axis < store->index.size() && locations.size() < 2; ++axis) {
      const Expr& at = store->index[axis];
      const bool is_axis =
          std::ranges::any_of(apart, [&](const Loop* l) { return at == Expr(l->variable); });
      if (is_axis || !is_fixed(t.shape[axis])) continue;
      const Expr wanted = min(kMaxRanges, ceil_div(kThreads, max(1, threads)));
      const Expr length = max(1, ceil_div(t.shape[axis], wanted));
      const Expr count = ceil_div(t.shape[axis], length);
      const Expr range = make_.size("range", length);
      const Symbol v = make_.variable("s");
      around.push_back({v, 0, make_.size("ranges", count), 1, {}, {}});
      threads = threads * count;
      const Expr offset = at - range * Expr(v);
      locations.push_back(
          {{Condition::Kind::nonneg, offset}, {Condition::Kind::nonneg, range - 1 - offset}});
    }
    for (const Loop* l : apart) around.push_back(*l);
    if (around.empty()) return std::nullopt;
    const Expr terms = terms_of(*as_loop(s));
    terms_ = terms_ ? max(*terms_, terms) : terms;
    std::erase_if(locations, [&](const Conditions& where) {
      const bool loads = loads_elements(where.front().e);
      if (loads) put_around_scatter(nest.body, where);  // inside its own conditions
      return loads;
    });
    const std::size_t shared = around.size();
    for (const Loop* l : in_order) around.push_back(*l);
    return written(nest, around, shared, locations);
  }

  static bool loads_elements(const Expr& e) {
    bool found = false;
    for_each_load(e, [&](const Atom& a) { found = found || !a.args.empty(); });
    return found;
  }

  static void put_around_scatter(Body& body, const Conditions& where) {
    for (Stmt& s : body) {
      if (std::holds_alternative<StoreReduce>(s.kind))
        s = {If{where, {Stmt(std::move(s))}}};
      else if (Body* nested = nested_body(s))
        put_around_scatter(*nested, where);
    }
  }

  /// Wraps the body in the loops. Names and branches keep their order and stand where all their
  /// loops are open; conditions stand as soon as they can be evaluated.
  static Stmt written(const Nest& nest, const std::vector<Loop>& loops, std::size_t shared,
                      std::vector<Conditions> locations) {
    std::set<Symbol> closed;
    for (const Loop* l : nest.loops) closed.insert(l->variable);
    std::size_t opened = 0;  // of nest.between
    std::vector<Body> levels;
    for (std::size_t k = 0; k < loops.size(); ++k) {
      closed.erase(loops[k].variable);
      levels.emplace_back();
      if (k + 1 < shared) continue;  // shared loops stand directly below each other
      const auto is_open = [&](const Nest::Between& b) {
        return std::all_of(nest.loops.begin(),
                           nest.loops.begin() + static_cast<std::ptrdiff_t>(b.depth),
                           [&](const Loop* l) { return !closed.contains(l->variable); });
      };
      while (opened < nest.between.size() && is_open(nest.between[opened]))
        levels.back().push_back(nest.between[opened++].s);
      std::set<std::string> unbound;
      for (std::size_t b = opened; b < nest.between.size(); ++b)
        if (const auto* let = std::get_if<Let>(&nest.between[b].s.kind)) unbound.insert(let->name);
      std::erase_if(locations, [&](const Conditions& where) {
        bool can_ask = !mentions_any(where.front().e, closed);
        for_each_load(where.front().e,
                      [&](const Atom& a) { can_ask = can_ask && !unbound.contains(a.tensor); });
        if (can_ask) levels.back().push_back({If{where, {}}});
        return can_ask;
      });
    }
    Body inner = nest.body;
    for (std::size_t k = loops.size(); k-- > 0;) {
      inner = closed_over(std::move(levels[k]), std::move(inner));
      Loop loop = loops[k];
      loop.body = std::move(inner);
      inner = {{std::move(loop)}};
    }
    return std::move(inner.front());
  }

  /// Nests the names, and the branches, which hold everything that follows.
  static Body closed_over(Body level, Body inner) {
    while (!level.empty()) {
      Stmt last = std::move(level.back());
      level.pop_back();
      if (auto* branch = std::get_if<If>(&last.kind)) {
        branch->body = std::move(inner);
        inner = {std::move(last)};
      } else {
        inner.insert(inner.begin(), std::move(last));
      }
    }
    return inner;
  }

  const LoopProgram& p_;
  Rewriting make_;
  std::optional<Expr> terms_;
};

/// Returns true if the statement is a nest over the whole tensor that stores each element.
bool fills(const Stmt& s, const TensorDecl& t) {
  std::vector<Expr> index;
  const Stmt* at = &s;
  for (const Expr& extent : t.shape) {
    const Loop* loop = as_loop(*at);
    if (loop == nullptr || !is_counted(*loop) || loop->end != extent || loop->body.empty())
      return false;
    index.emplace_back(loop->variable);
    at = &loop->body.back();
  }
  const auto* store = std::get_if<Store>(&at->kind);
  const auto touched = std::ranges::count(accesses(s), t.name, &Access::tensor);
  return store != nullptr && store->tensor == t.name && store->index == index && touched == 1;
}

bool touches(const Stmt& s, const std::string& tensor) {
  return std::ranges::any_of(accesses(s), [&](const Access& a) { return a.tensor == tensor; });
}

}  // namespace

std::optional<SplitReduction> scattered_by_range(const LoopProgram& p) {
  return RangeScatter(p).run();
}

std::optional<LoopProgram> with_own_memory(const LoopProgram& p,
                                           const std::set<std::string>& others) {
  LoopProgram out = p;
  bool any = false;
  for (const TensorDecl& t : p.tensors) {
    if (t.role != TensorRole::temporary || t.shape.empty() || others.contains(t.name)) continue;
    const auto count =
        std::ranges::count_if(out.body, [&](const Stmt& s) { return touches(s, t.name); });
    const auto s =
        std::ranges::find_if(out.body, [&](const Stmt& x) { return touches(x, t.name); });
    if (count != 1) continue;
    Loop* loop = as_loop(*s);
    if (loop == nullptr || !is_counted(*loop)) continue;
    const auto first =
        std::ranges::find_if(loop->body, [&](const Stmt& x) { return touches(x, t.name); });
    if (!fills(*first, t)) continue;
    TensorDecl own = t;
    own.name = fresh_name(out, t.name);
    own.shape.insert(own.shape.begin(), loop->end);
    own.axis_names.insert(own.axis_names.begin(), "");
    move_tensor(loop->body, t.name, own.name, [&](const std::vector<Expr>& index) {
      std::vector<Expr> longer = {Expr(loop->variable)};
      longer.insert(longer.end(), index.begin(), index.end());
      return longer;
    });
    out.tensors.push_back(std::move(own));
    any = true;
  }
  return any ? std::optional(std::move(out)) : std::nullopt;
}

}  // namespace mote::cuda
