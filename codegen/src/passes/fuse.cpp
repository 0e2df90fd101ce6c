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

struct Range {
  Symbol variable;
  Expr begin;
  Expr end;
};

/// An access with the ranges of the loops around it, the outermost first.
struct Ranged {
  std::vector<Expr> index;
  std::vector<Range> ranges;
};

Ranged ranged(PlacedAccess&& a) {
  Ranged r{std::move(a.access.index), {}};
  for (const Stmt* s : a.path)
    if (const Loop* l = as_loop(*s)) r.ranges.push_back({l->variable, l->begin, l->end});
  return r;
}

void substitute(Ranged& a, const std::map<Symbol, Expr>& env) {
  for (Expr& e : a.index) e = e.substitute(env);
  for (Range& range : a.ranges) {
    range.begin = range.begin.substitute(env);
    range.end = range.end.substitute(env);
  }
}

void add_ranges(Facts& facts, const Ranged& a, const std::map<Symbol, Expr>& env) {
  for (const Range& range : a.ranges)
    facts.set_range(range.variable, range.begin.substitute(env), range.end.substitute(env));
}

/// x in round v2 + 1 + delta of the first loop and y in round v2 of the second never meet.
bool never_meet(const Ranged& x, const Loop& first, const Ranged& y, const Loop& second,
                const Facts& outer) {
  const Symbol delta(SymbolKind::size, "%delta");  // no program can spell it
  const Expr later = Expr(second.variable) + 1 + Expr(delta);
  const std::map<Symbol, Expr> env = {{first.variable, later}};
  for (std::size_t k = 0; k < x.index.size(); ++k)  // the common case, without a proof
    if (x.index[k] == Expr(first.variable) && y.index[k] == Expr(second.variable)) return true;
  Facts facts = outer;
  facts.set_range(second.variable, second.begin, second.end);
  facts.assume_nonneg(second.end - 1 - later);
  add_ranges(facts, x, env);
  add_ranges(facts, y, {});
  for (std::size_t k = 0; k < x.index.size(); ++k) {
    const Expr f = x.index[k].substitute(env);
    const Expr& g = y.index[k];
    if (f.has_load() || g.has_load()) continue;
    if (facts.prove_positive(f - g) || facts.prove_positive(g - f)) return true;
  }
  return false;
}

/// Accesses of one tensor.
struct Touches {
  std::vector<Ranged> reads;
  std::vector<Ranged> writes;
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
    (a.access.write ? t.writes : t.reads).push_back(ranged(std::move(a)));
  }
  r.chain = sorted_limits(perfect_chain(*loop));
  return r;
}

bool never_meet(const std::vector<Ranged>& xs, const Loop& first, const std::vector<Ranged>& ys,
                const Loop& second, const Facts& outer) {
  for (const Ranged& x : xs)
    for (const Ranged& y : ys)
      if (!never_meet(x, first, y, second, outer)) return false;
  return true;
}

/// Calls f(tensor, accesses of a, accesses of b) for each tensor that both touch, until it is
/// false.
template <typename F>
bool all_shared(const Summary& a, const Summary& b, const F& f) {
  const bool is_a_smaller = a.touches.size() <= b.touches.size();
  const auto& larger = is_a_smaller ? b.touches : a.touches;
  for (const auto& [tensor, touches] : is_a_smaller ? a.touches : b.touches) {
    const auto found = larger.find(tensor);
    if (found == larger.end()) continue;
    if (!(is_a_smaller ? f(tensor, touches, found->second) : f(tensor, found->second, touches)))
      return false;
  }
  return true;
}

/// The summary of what `merged` became, from those of its parts: the accesses of b, whose variable
/// has become that of `merged`, come behind those of a.
Summary united(Summary a, Summary b, const Loop& merged, Symbol variable_of_b, int id) {
  const std::map<Symbol, Expr> env = {{variable_of_b, Expr(merged.variable)}};
  for (auto& [tensor, touches] : b.touches) {
    Touches& all = a.touches[tensor];
    for (auto [from, to] : {std::pair{&touches.reads, &all.reads}, {&touches.writes, &all.writes}})
      for (Ranged& access : *from) {
        if (variable_of_b != merged.variable) substitute(access, env);
        to->push_back(std::move(access));
      }
  }
  a.effects = united(std::move(a.effects), std::move(b.effects));
  a.chain = sorted_limits(perfect_chain(merged));
  a.id = id;
  return a;
}

bool may_merge(const Loop& first, const Summary& earlier, const Loop& second, const Summary& later,
               const Facts& outer) {
  if (first.step != Expr(1) || second.step != Expr(1)) return false;
  if (!first.accumulators.empty()) {
    const std::set<std::string> read = accumulators_read(second.body);
    for (const Accumulator& a : first.accumulators)
      if (read.count(a.name)) return false;
  }
  return all_shared(earlier, later, [&](const std::string&, const Touches& x, const Touches& y) {
    return never_meet(x.writes, first, y.writes, second, outer) &&
           never_meet(x.writes, first, y.reads, second, outer) &&
           never_meet(x.reads, first, y.writes, second, outer);
  });
}

class Fuser {
 public:
  explicit Fuser(const LoopProgram& p) {
    for (const TensorDecl& t : p.tensors)
      if (t.role == TensorRole::temporary) temporaries_.insert(t.name);
  }

  void run(Body& body, const Facts& facts) {
    State state;
    for (const Stmt& s : body) state.add(s);
    merge_all(body, state, facts);
    for (Stmt& s : body) {
      Body* nested = nested_body(s);
      if (!nested) continue;
      Facts inner = facts;
      if (const Loop* l = as_loop(s)) inner.set_range(l->variable, l->begin, l->end);
      run(*nested, inner);
    }
  }

 private:
  /// What is known of a body. A statement has an id; that of a merged loop is new, and stands for
  /// those of its parts.
  struct State {
    std::vector<Summary> summaries;  ///< in the order of the body
    std::vector<int> became;         ///< by id: the id of the loop that it is a part of, or itself
    std::vector<std::size_t> at;     ///< by id: where in the body it stands
    /// By id: a statement before it that must stay before it, and one behind it that must stay
    /// behind; -1: none is known. What depends on a part depends on the whole.
    std::vector<int> blocks_left, blocks_right;
    /// Pairs that can't or need not be merged, which no later merge of others changes.
    std::set<std::pair<int, int>> settled;
    /// For limits and a temporary whether every toucher runs over it so, until the next merge.
    std::map<std::pair<Limits, std::string>, bool> alike;
    std::map<std::string, std::vector<int>> touchers;  ///< of each tensor, the ids of loops

    void add(const Stmt& s) {
      summaries.push_back(summary_of(s, new_id(summaries.size()), effects_of({&s, 1})));
      const Summary& of_s = summaries.back();
      if (of_s.chain.empty()) return;
      for (const std::string& tensor : of_s.effects.touched) touchers[tensor].push_back(of_s.id);
    }

    int new_id(std::size_t position) {
      const int id = static_cast<int>(became.size());
      became.push_back(id);
      at.push_back(position);
      blocks_left.push_back(-1);
      blocks_right.push_back(-1);
      return id;
    }

    int now(int id) {
      while (became[static_cast<std::size_t>(id)] != id) {
        int& next = became[static_cast<std::size_t>(id)];
        next = became[static_cast<std::size_t>(next)];
        id = next;
      }
      return id;
    }
    std::size_t position(int id) { return at[static_cast<std::size_t>(now(id))]; }

    /// The statement at q may move to p + 1, as far as is known without a search.
    bool may_go_left(std::size_t p, std::size_t q) {
      const int other = blocks_left[static_cast<std::size_t>(summaries[q].id)];
      return other < 0 || position(other) <= p || position(other) >= q;
    }
    /// The statement at p may move to q - 1, likewise.
    bool may_go_right(std::size_t p, std::size_t q) {
      const int other = blocks_right[static_cast<std::size_t>(summaries[p].id)];
      return other < 0 || position(other) <= p || position(other) >= q;
    }

    bool is_free_to_go_left(std::size_t p, std::size_t q) {
      if (!may_go_left(p, q)) return false;
      for (std::size_t k = q; --k > p;)
        if (!are_independent(summaries[k].effects, summaries[q].effects)) {
          blocks_left[static_cast<std::size_t>(summaries[q].id)] = summaries[k].id;
          return false;
        }
      return true;
    }
    bool is_free_to_go_right(std::size_t p, std::size_t q) {
      if (!may_go_right(p, q)) return false;
      for (std::size_t k = p + 1; k < q; ++k)
        if (!are_independent(summaries[k].effects, summaries[p].effects)) {
          blocks_right[static_cast<std::size_t>(summaries[p].id)] = summaries[k].id;
          return false;
        }
      return true;
    }

    /// Loop q went into loop p, whose body is `merged` now and stands at one of the two.
    void merge(std::size_t p, std::size_t q, const Loop& merged, Symbol variable_of_q, bool left) {
      const int id = new_id(0);
      for (const std::size_t part : {p, q})
        became[static_cast<std::size_t>(summaries[part].id)] = id;
      Summary whole =
          united(std::move(summaries[p]), std::move(summaries[q]), merged, variable_of_q, id);
      summaries[left ? p : q] = std::move(whole);
      summaries.erase(summaries.begin() + static_cast<std::ptrdiff_t>(left ? q : p));
      for (std::size_t k = p; k < summaries.size(); ++k)
        at[static_cast<std::size_t>(summaries[k].id)] = k;
      alike.clear();
    }
  };

  /// Worth it: loops that match entirely, which then share their values and their loading of the
  /// cache; or a temporary that both touch and that every toucher here runs over with these limits,
  /// so that it can shrink.
  bool is_profitable(const Loop& a, const Summary& of_a, const Summary& of_b, State& state) const {
    if (of_a.chain == of_b.chain) return true;
    return !all_shared(of_a, of_b, [&](const std::string& t, const Touches&, const Touches&) {
      return !temporaries_.count(t) || !every_toucher_has(limits_of(a), t, state);
    });
  }

  static bool every_toucher_has(const Limits& limits, const std::string& tensor, State& state) {
    const auto [found, is_new] = state.alike.try_emplace({limits, tensor}, true);
    if (!is_new) return found->second;
    std::vector<int>& ids = state.touchers[tensor];
    for (int& id : ids) id = state.now(id);
    std::ranges::sort(ids);
    ids.erase(std::ranges::unique(ids).begin(), ids.end());
    return found->second = std::ranges::all_of(ids, [&](int id) {
             return std::ranges::binary_search(state.summaries[state.position(id)].chain, limits);
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

  /// Merges the first pair that can be, in the order of its second loop and from there to the left,
  /// until there is none. A merge changes nothing for pairs that stand before it.
  void merge_all(Body& body, State& state, const Facts& facts) const {
    for (std::size_t q = 1; q < body.size(); ++q)
      for (std::size_t p = q; p-- > 0;)
        if (as_loop(body[p]) && as_loop(body[q]) && merge(body, p, q, state, facts)) {
          q = p == 0 ? 0 : p - 1;
          break;
        }
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
    if (!state.may_go_left(p, q) && !state.may_go_right(p, q)) return false;
    const std::pair<int, int> ids = {state.summaries[p].id, state.summaries[q].id};
    if (state.settled.count(ids)) return false;
    std::optional<Loop> b = matched(body, p, q, state, facts);
    if (!b) {
      state.settled.insert(ids);
      return false;
    }
    const bool left = state.is_free_to_go_left(p, q);
    if (!left && !state.is_free_to_go_right(p, q)) return false;
    Loop merged = std::move(*as_loop(body[p]));
    Summary& of_b = state.summaries[q];
    if (limits_of(*as_loop(body[q])) != limits_of(merged))  // its loops have changed places
      of_b = summary_of(Stmt{*b}, of_b.id, std::move(of_b.effects));
    if (b->variable != merged.variable)
      rewrite_exprs(b->body, [&](const Expr& e) {
        return e.substitute({{b->variable, Expr(merged.variable)}});
      });
    std::move(b->body.begin(), b->body.end(), std::back_inserter(merged.body));
    merged.accumulators.insert(merged.accumulators.end(), b->accumulators.begin(),
                               b->accumulators.end());
    state.merge(p, q, merged, b->variable, left);
    body[left ? p : q] = {std::move(merged)};
    body.erase(body.begin() + static_cast<std::ptrdiff_t>(left ? q : p));
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
