// SPDX-License-Identifier: Apache-2.0
// Loop fusion, after the seed's: loops of one body with equal limits are merged, to the left where
// the second depends on nothing between, else to the right where nothing between depends on the
// first. In a fused loop round v of the second runs before round v+1 of the first; so the merge is
// legal only if no access of the first in a later round touches what the second touches in an
// earlier one. Access maps are compared, not names: t[i] = x[i]; u[i] = t[i+1] stays as it is.
#include <algorithm>

#include "ir/dependence.h"
#include "mote/codegen/passes.h"

namespace mote {
namespace {

struct Limits {
  Expr begin;
  Expr end;
  Expr step;
  friend auto operator<=>(const Limits&, const Limits&) = default;
  friend bool operator==(const Limits&, const Limits&) = default;
};

Limits limits_of(const Loop& l) { return {l.begin, l.end, l.step}; }

std::vector<Limits> sorted_limits(const std::vector<const Loop*>& chain) {
  std::vector<Limits> r;
  for (const Loop* l : chain) r.push_back(limits_of(*l));
  std::sort(r.begin(), r.end());
  return r;
}

/// The ranges of the loops on the path, with `env` applied to their limits.
void add_ranges(Facts& facts, const std::vector<const Stmt*>& path,
                const std::map<Symbol, Expr>& env) {
  for (const Stmt* s : path)
    if (const Loop* l = as_loop(*s))
      facts.set_range(l->variable, l->begin.substitute(env), l->end.substitute(env));
}

/// x in round v2 + 1 + delta of the first loop and y in round v2 of the second never meet.
bool never_meet(const PlacedAccess& x, const Loop& first, const PlacedAccess& y, const Loop& second,
                const Facts& outer) {
  const Symbol delta(SymbolKind::size, "%delta");  // no program can spell it
  const Expr later = Expr(second.variable) + 1 + Expr(delta);
  const std::map<Symbol, Expr> env = {{first.variable, later}};
  for (std::size_t k = 0; k < x.access.index.size(); ++k)  // the common case, without a proof
    if (x.access.index[k] == Expr(first.variable) && y.access.index[k] == Expr(second.variable))
      return true;
  Facts facts = outer;
  facts.set_range(second.variable, second.begin, second.end);
  facts.assume_nonneg(second.end - 1 - later);
  add_ranges(facts, x.path, env);
  add_ranges(facts, y.path, {});
  for (std::size_t k = 0; k < x.access.index.size(); ++k) {
    const Expr f = x.access.index[k].substitute(env);
    const Expr& g = y.access.index[k];
    if (f.has_load() || g.has_load()) continue;
    if (facts.prove_positive(f - g) || facts.prove_positive(g - f)) return true;
  }
  return false;
}

/// Accesses of one tensor.
struct Touches {
  std::vector<PlacedAccess> reads;
  std::vector<PlacedAccess> writes;
};

/// What the fuser asks of a statement of the body, again and again.
struct Summary {
  int id = 0;  ///< a new one for each merged loop
  Effects effects;
  std::map<std::string, Touches> touches = {};  ///< of a loop's body
  std::vector<Limits> chain = {};               ///< of a loop's perfect chain, sorted
};

Summary summary_of(const Stmt& s, int id, Effects effects) {
  Summary r{id, std::move(effects)};
  const Loop* loop = as_loop(s);
  if (!loop) return r;
  for (PlacedAccess& a : placed_accesses(loop->body)) {
    Touches& t = r.touches[a.access.tensor];
    (a.access.write ? t.writes : t.reads).push_back(std::move(a));
  }
  r.chain = sorted_limits(perfect_chain(*loop));
  return r;
}

bool never_meet(const std::vector<PlacedAccess>& xs, const Loop& first,
                const std::vector<PlacedAccess>& ys, const Loop& second, const Facts& outer) {
  for (const PlacedAccess& x : xs)
    for (const PlacedAccess& y : ys)
      if (!never_meet(x, first, y, second, outer)) return false;
  return true;
}

bool may_merge(const Loop& first, const Summary& earlier, const Loop& second, const Summary& later,
               const Facts& outer) {
  const std::set<std::string> read = accumulators_read(second.body);
  for (const Accumulator& a : first.accumulators)
    if (read.count(a.name)) return false;
  if (first.step != Expr(1) || second.step != Expr(1)) return false;
  for (const auto& [tensor, x] : earlier.touches) {
    const auto found = later.touches.find(tensor);
    if (found == later.touches.end()) continue;
    const Touches& y = found->second;
    if (!never_meet(x.writes, first, y.writes, second, outer) ||
        !never_meet(x.writes, first, y.reads, second, outer) ||
        !never_meet(x.reads, first, y.writes, second, outer))
      return false;
  }
  return true;
}

class Fuser {
 public:
  explicit Fuser(const LoopProgram& p) {
    for (const TensorDecl& t : p.tensors)
      if (t.role == TensorRole::temporary) temporaries_.insert(t.name);
  }

  void run(Body& body, const Facts& facts) {
    State state;
    for (const Stmt& s : body)
      state.summaries.push_back(summary_of(s, state.next_id++, effects_of({&s, 1})));
    while (merge_one(body, state, facts)) {
    }
    for (Stmt& s : body) {
      Body* nested = nested_body(s);
      if (!nested) continue;
      Facts inner = facts;
      if (const Loop* l = as_loop(s)) inner.set_range(l->variable, l->begin, l->end);
      run(*nested, inner);
    }
  }

 private:
  /// What is known of a body: summaries, in its order; pairs (by id) that can't or need not be
  /// merged, which no later merge of others changes; for each limits and temporary whether every
  /// toucher runs over it so, until the next merge.
  struct State {
    std::vector<Summary> summaries;
    int next_id = 0;
    std::set<std::pair<int, int>> settled = {};
    std::map<std::pair<Limits, std::string>, bool> alike = {};
  };

  /// Worth it: loops that match entirely, which then share their values and their loading of the
  /// cache; or a temporary that both touch and that every toucher here runs over with these limits,
  /// so that it can shrink.
  bool is_profitable(const Loop& a, const Summary& of_a, const Summary& of_b, State& state) const {
    if (of_a.chain == of_b.chain) return true;
    for (const auto& [t, touches] : of_a.touches)
      if (of_b.touches.count(t) && temporaries_.count(t) &&
          every_toucher_has(limits_of(a), t, state))
        return true;
    return false;
  }

  static bool every_toucher_has(const Limits& limits, const std::string& tensor, State& state) {
    const auto [found, is_new] = state.alike.try_emplace({limits, tensor}, true);
    if (!is_new) return found->second;
    return found->second =
               std::all_of(state.summaries.begin(), state.summaries.end(), [&](const Summary& s) {
                 const bool is_toucher = !s.chain.empty() && s.effects.touched.count(tensor);
                 return !is_toucher || std::binary_search(s.chain.begin(), s.chain.end(), limits);
               });
  }

  /// The loops of a perfect chain change places so that the one with these limits is outermost.
  /// Legal without accumulators between or around them, whose terms would come in another order,
  /// and without a dependence of the nest on itself; what is scattered onto one element keeps its
  /// order if the index determines all loops but one.
  static std::optional<Loop> rotated(const Loop& loop, const Limits& limits) {
    const auto chain = perfect_chain(loop);
    std::size_t k = 0;
    while (k < chain.size() && limits_of(*chain[k]) != limits) ++k;
    if (k == 0 || k == chain.size() || !is_reorderable(chain)) return std::nullopt;
    for (std::size_t j = 0; j < k; ++j)
      for (const Expr& e : {chain[k]->begin, chain[k]->end})
        if (e.mentions(chain[j]->variable)) return std::nullopt;
    std::vector<const Loop*> order = {chain[k]};
    for (std::size_t j = 0; j < chain.size(); ++j)
      if (j != k) order.push_back(chain[j]);
    Body body = chain.back()->body;
    for (std::size_t j = order.size(); j-- > 1;) {
      Loop l{order[j]->variable, order[j]->begin, order[j]->end, order[j]->step, {},
             std::move(body)};
      body = Body{};
      body.push_back({std::move(l)});
    }
    return Loop{order[0]->variable, limits.begin, limits.end, limits.step, {}, std::move(body)};
  }

  static bool is_reorderable(const std::vector<const Loop*>& chain) {
    const Body& body = chain.back()->body;
    if (!chain.back()->accumulators.empty()) return false;
    const std::set<std::string> written = tensors_written(body);
    const std::set<std::string> own = effects_of(body).bound;
    bool legal = true;
    for_each(body, [&](const Stmt& s) {
      if (nested_body(s)) return;
      if (const auto* fold = std::get_if<Fold>(&s.kind))
        legal = legal && own.count(fold->accumulator);
      if (const auto* r = std::get_if<StoreReduce>(&s.kind))
        legal = legal && loops_not_determined(*r, chain) <= 1;
      for (const Access& a : accesses(s)) legal = legal && (a.write || !written.count(a.tensor));
    });
    return legal;
  }

  /// How many of the loops have no axis of the index to themselves: rounds of such loops may meet.
  static std::ptrdiff_t loops_not_determined(const StoreReduce& r,
                                             const std::vector<const Loop*>& chain) {
    const auto is_alone = [&](const Expr& e, const Loop* l) {
      const auto linear = linear_in(e, l->variable);
      return linear && linear->factor.constant() && !linear->rest.has_load() &&
             std::none_of(chain.begin(), chain.end(), [&](const Loop* other) {
               return linear->rest.mentions(other->variable);
             });
    };
    return std::count_if(chain.begin(), chain.end(), [&](const Loop* l) {
      return std::none_of(r.index.begin(), r.index.end(),
                          [&](const Expr& e) { return e.mentions(l->variable) && is_alone(e, l); });
    });
  }

  bool merge_one(Body& body, State& state, const Facts& facts) const {
    for (std::size_t q = 1; q < body.size(); ++q)
      for (std::size_t p = q; p-- > 0;)
        if (as_loop(body[p]) && as_loop(body[q]) && merge(body, p, q, state, facts)) return true;
    return false;
  }

  /// Whether a loop of the body reads what loop q writes, round by round, and can't be rotated with
  /// it: a temporary that those two would share in one round would have to be kept for all.
  bool has_readers_in_step(const Body& body, std::size_t q, const Limits& rotated_to,
                           const State& state) const {
    const auto reads = [&](const Summary& s) {
      return std::any_of(s.touches.begin(), s.touches.end(), [&](const auto& touched) {
        const auto written = state.summaries[q].touches.find(touched.first);
        return temporaries_.count(touched.first) && !touched.second.reads.empty() &&
               written != state.summaries[q].touches.end() && !written->second.writes.empty();
      });
    };
    for (std::size_t k = 0; k < body.size(); ++k) {
      const Loop* l = as_loop(body[k]);
      if (k != q && l && limits_of(*l) == limits_of(*as_loop(body[q])) &&
          reads(state.summaries[k]) && !rotated(*l, rotated_to))
        return true;
    }
    return false;
  }

  /// Loop q as it would be merged into loop p; nullopt if it can't be or it is not worth it.
  std::optional<Loop> matched(const Body& body, std::size_t p, std::size_t q, State& state,
                              const Facts& facts) const {
    const Summary &of_a = state.summaries[p], &of_b = state.summaries[q];
    const Loop& a = *as_loop(body[p]);
    if (!is_profitable(a, of_a, of_b, state)) return std::nullopt;
    Loop b = *as_loop(body[q]);
    if (limits_of(a) == limits_of(b)) {
      if (!may_merge(a, of_a, b, of_b, facts)) return std::nullopt;
      return b;
    }
    auto turned = rotated(b, limits_of(a));
    if (!turned || has_readers_in_step(body, q, limits_of(a), state) ||
        !may_merge(a, of_a, *turned, summary_of(Stmt{*turned}, -1, of_b.effects), facts))
      return std::nullopt;
    return turned;
  }

  bool merge(Body& body, std::size_t p, std::size_t q, State& state, const Facts& facts) const {
    std::vector<Summary>& all = state.summaries;
    const std::pair<int, int> ids = {all[p].id, all[q].id};
    if (state.settled.count(ids)) return false;
    std::optional<Loop> b = matched(body, p, q, state, facts);
    if (!b) {
      state.settled.insert(ids);
      return false;
    }
    const auto is_free_of = [&](const Summary& s) {
      return std::all_of(all.begin() + static_cast<std::ptrdiff_t>(p) + 1,
                         all.begin() + static_cast<std::ptrdiff_t>(q), [&](const Summary& between) {
                           return are_independent(between.effects, s.effects);
                         });
    };
    const bool left = is_free_of(all[q]);
    if (!left && !is_free_of(all[p])) return false;
    Loop merged = *as_loop(body[p]);
    rewrite_exprs(b->body, [&](const Expr& e) {
      return e.substitute({{b->variable, Expr(merged.variable)}});
    });
    std::move(b->body.begin(), b->body.end(), std::back_inserter(merged.body));
    merged.accumulators.insert(merged.accumulators.end(), b->accumulators.begin(),
                               b->accumulators.end());
    const std::size_t stays = left ? p : q;
    const auto goes = static_cast<std::ptrdiff_t>(left ? q : p);
    body[stays] = {std::move(merged)};
    all[stays] = summary_of(body[stays], state.next_id++, united(all[p].effects, all[q].effects));
    body.erase(body.begin() + goes);
    all.erase(all.begin() + goes);
    state.alike.clear();
    return true;
  }

  std::set<std::string> temporaries_;
};

}  // namespace

LoopProgram fuse(LoopProgram p) {
  Fuser(p).run(p.body, base_facts(*p.source));
  return p;
}

}  // namespace mote
