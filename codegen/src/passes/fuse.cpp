// SPDX-License-Identifier: Apache-2.0
// Fuses loops: loops of one body with equal limits are merged, to the left if the second depends on
// nothing between, else to the right if nothing between depends on the first. In a fused loop,
// iteration v of the second runs before iteration v+1 of the first; so the merge is legal only if
// no later iteration of the first accesses an element that an earlier one of the second does.
// Access maps are compared, not names: t[i] = x[i]; u[i] = t[i+1] stays as it is.
#include <algorithm>

#include "ir/dependence.h"
#include "mote/codegen/passes.h"
#include "passes/fused_body.h"

namespace mote {
namespace {

void add_ranges(Facts& facts, const Ranged& a, const std::map<Symbol, Expr>& env) {
  for (const LoopRange& range : a.ranges)
    facts.set_range(range.variable, range.begin.substitute(env), range.end.substitute(env));
}

/// Returns true if x in iteration v2 + 1 + delta of the first loop and y in iteration v2 of the
/// second never access the same element.
bool never_meet(const Ranged& x, const Loop& first, const Ranged& y, const Loop& second,
                const Facts& outer) {
  for (std::size_t k = 0; k < x.index.size(); ++k)  // the common case, without a proof
    if (x.index[k].as_symbol() == first.variable && y.index[k].as_symbol() == second.variable)
      return true;
  const Symbol delta(SymbolKind::size, "%delta");  // no program can spell it
  const Expr later = Expr(second.variable) + 1 + Expr(delta);
  const std::map<Symbol, Expr> env = {{first.variable, later}};
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

bool never_meet(const std::vector<Ranged>& xs, const Loop& first, const std::vector<Ranged>& ys,
                const Loop& second, const Facts& outer) {
  for (const Ranged& x : xs)
    for (const Ranged& y : ys)
      if (!never_meet(x, first, y, second, outer)) return false;
  return true;
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
    if (std::ranges::count_if(body, [](const Stmt& s) { return as_loop(s) != nullptr; }) > 1) {
      FusedBody state;
      for (const Stmt& s : body) state.add(s);
      merge_all(body, state, facts);
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
  /// Returns true if a merge has a benefit: the loops match entirely, and then share their values
  /// and cache lines; or they share a temporary that can shrink, because every loop here that
  /// accesses it runs over it with these limits.
  bool is_profitable(const Loop& a, const Summary& of_a, const Summary& of_b,
                     FusedBody& state) const {
    if (of_a.chain == of_b.chain) return true;
    return !all_shared(of_a, of_b, [&](const std::string& t, const Touches&, const Touches&) {
      return !temporaries_.count(t) || !state.every_toucher_has(limits_of(a), t);
    });
  }

  /// Reorders the loops of a perfect chain so that the one with these limits is outermost. This is
  /// legal without accumulators between or around them, whose terms would come in another order,
  /// and without a dependence of the nest on itself; values scattered to one element keep their
  /// order if the index determines all loops except one.
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
    const std::set<std::string> own = effects_of(body).declared;
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

  /// Returns the number of loops that have no axis of the index to themselves: iterations of such
  /// loops may access the same element.
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

  /// Merges the first possible pair, in the order of its second loop and from there to the left,
  /// until there is none. A merge changes nothing for pairs before it.
  void merge_all(Body& body, FusedBody& state, const Facts& facts) const {
    for (std::size_t q = 1; q < body.size(); ++q)
      for (std::size_t p = q; p-- > 0;)
        if (as_loop(body[p]) && as_loop(body[q]) && merge(body, p, q, state, facts)) {
          q = p == 0 ? 0 : p - 1;
          break;
        }
  }

  /// Returns true if a loop of the body reads elements that loop q writes, iteration by iteration,
  /// and cannot be rotated with it: a temporary that those two would share in one iteration would
  /// have to be kept for all.
  bool has_readers_in_step(const Body& body, std::size_t q, const Limits& rotated_to,
                           const FusedBody& state) const {
    const auto reads = [&](const Summary& s) {
      return std::any_of(s.touches.begin(), s.touches.end(), [&](const auto& touched) {
        const auto written = state.summaries[q]->touches.find(touched.first);
        return temporaries_.count(touched.first) && !touched.second.reads.empty() &&
               written != state.summaries[q]->touches.end() && !written->second.writes.empty();
      });
    };
    for (std::size_t k = 0; k < body.size(); ++k) {
      const Loop* l = as_loop(body[k]);
      if (k != q && l && limits_of(*l) == limits_of(*as_loop(body[q])) &&
          reads(*state.summaries[k]) && !rotated(*l, rotated_to))
        return true;
    }
    return false;
  }

  /// Returns true if loop q can be merged into loop p with profit. `turned` gets q as it would be
  /// merged, if its loops are interchanged for that.
  bool match(const Body& body, std::size_t p, std::size_t q, FusedBody& state, const Facts& facts,
             std::optional<Loop>& turned) const {
    const Summary &of_a = *state.summaries[p], &of_b = *state.summaries[q];
    const Loop &a = *as_loop(body[p]), &b = *as_loop(body[q]);
    if (!is_profitable(a, of_a, of_b, state)) return false;
    if (limits_of(a) == limits_of(b)) return may_merge(a, of_a, b, of_b, facts);
    turned = rotated(b, limits_of(a));
    return turned && !has_readers_in_step(body, q, limits_of(a), state) &&
           may_merge(a, of_a, *turned, summary_of(Stmt{*turned}, -1, of_b.effects), facts);
  }

  bool merge(Body& body, std::size_t p, std::size_t q, FusedBody& state, const Facts& facts) const {
    if (!state.may_go_left(p, q) && !state.may_go_right(p, q)) return false;
    const std::pair<int, int> ids = {state.summaries[p]->id, state.summaries[q]->id};
    if (state.settled.count(ids)) return false;
    std::optional<Loop> turned;
    if (!match(body, p, q, state, facts, turned)) {
      state.settled.insert(ids);
      return false;
    }
    const bool left = state.is_free_to_go_left(p, q);
    if (!left && !state.is_free_to_go_right(p, q)) return false;
    Loop merged = std::move(*as_loop(body[p]));
    Summary& of_b = *state.summaries[q];
    if (turned) of_b = summary_of(Stmt{*turned}, of_b.id, std::move(of_b.effects));
    Loop b = turned ? std::move(*turned) : std::move(*as_loop(body[q]));
    if (b.variable != merged.variable) substitute(b.body, {{b.variable, Expr(merged.variable)}});
    std::move(b.body.begin(), b.body.end(), std::back_inserter(merged.body));
    merged.accumulators.insert(merged.accumulators.end(), b.accumulators.begin(),
                               b.accumulators.end());
    state.merge(p, q, merged, b.variable, left);
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
