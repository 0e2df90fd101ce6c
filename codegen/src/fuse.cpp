// Loop fusion, after the seed's: loops of one body with equal limits are merged, to the left where
// the second depends on nothing between, else to the right where nothing between depends on the
// first. In a fused loop round v of the second runs before round v+1 of the first; so the merge is
// legal only if no access of the first in a later round touches what the second touches in an
// earlier one. Access maps are compared, not names: t[i] = x[i]; u[i] = t[i+1] stays as it is.
#include <algorithm>

#include "dependence.h"
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

bool may_merge(const Loop& first, const Loop& second, const Facts& outer) {
  const std::set<std::string> read = accumulators_read(second.body);
  for (const Accumulator& a : first.accumulators)
    if (read.count(a.name)) return false;
  if (first.step != Expr(1) || second.step != Expr(1)) return false;
  const std::vector<PlacedAccess> earlier = placed_accesses(first.body);
  const std::vector<PlacedAccess> later = placed_accesses(second.body);
  for (const PlacedAccess& x : earlier)
    for (const PlacedAccess& y : later)
      if (x.access.tensor == y.access.tensor && (x.access.write || y.access.write) &&
          !never_meet(x, first, y, second, outer))
        return false;
  return true;
}

class Fuser {
 public:
  explicit Fuser(const LoopProgram& p) {
    for (const TensorDecl& t : p.tensors)
      if (t.role == TensorRole::temporary) temporaries_.insert(t.name);
  }

  void run(Body& body, const Facts& facts) {
    while (merge_one(body, facts)) {
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
  /// Worth it: a temporary that both touch and that every toucher here runs over with these limits,
  /// so that it can shrink; or a shared tensor and parallel loops that match entirely.
  bool is_profitable(const Loop& a, const Loop& b, const Body& body) const {
    const std::set<std::string> in_a = tensors_touched(a.body);
    const std::set<std::string> in_b = tensors_touched(b.body);
    bool share = false;
    for (const std::string& t : in_a) {
      if (!in_b.count(t)) continue;
      share = true;
      if (temporaries_.count(t) && every_toucher_has(limits_of(a), t, body)) return true;
    }
    return share && sorted_limits(perfect_chain(a)) == sorted_limits(perfect_chain(b));
  }

  static bool every_toucher_has(const Limits& limits, const std::string& tensor, const Body& body) {
    return std::all_of(body.begin(), body.end(), [&](const Stmt& s) {
      const Loop* l = as_loop(s);
      if (!l || !tensors_touched({&s, 1}).count(tensor)) return true;
      const auto chain = perfect_chain(*l);
      return std::any_of(chain.begin(), chain.end(),
                         [&](const Loop* m) { return limits_of(*m) == limits; });
    });
  }

  /// The loops of a perfect chain change places so that the one with these limits is outermost.
  /// Legal without accumulators between and without a dependence of the nest on itself; a sum into
  /// memory keeps its order if at most one loop does not occur in the target's index.
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
    bool legal = true;
    for_each(body, [&](const Stmt& s) {
      if (const auto* r = std::get_if<StoreReduce>(&s.kind)) {
        int missing = 0;
        for (const Loop* l : chain)
          missing += std::none_of(r->index.begin(), r->index.end(),
                                  [&](const Expr& e) { return e.mentions(l->variable); });
        legal = legal && missing <= 1;
      } else if (!nested_body(s)) {
        for (const Access& a : accesses(s)) legal = legal && (a.write || !written.count(a.tensor));
      }
    });
    return legal;
  }

  bool merge_one(Body& body, const Facts& facts) const {
    for (std::size_t q = 1; q < body.size(); ++q)
      for (std::size_t p = q; p-- > 0;)
        if (as_loop(body[p]) && as_loop(body[q]) && merge(body, p, q, facts)) return true;
    return false;
  }

  bool merge(Body& body, std::size_t p, std::size_t q, const Facts& facts) const {
    const Loop& a = *as_loop(body[p]);
    if (!is_profitable(a, *as_loop(body[q]), body)) return false;
    Loop b = *as_loop(body[q]);
    if (limits_of(a) != limits_of(b)) {
      auto turned = rotated(b, limits_of(a));
      if (!turned) return false;
      b = std::move(*turned);
    }
    if (!may_merge(a, b, facts)) return false;
    const std::span<const Stmt> between(body.data() + p + 1, q - p - 1);
    const bool left = are_independent(between, {&body[q], 1});
    if (!left && !are_independent({&body[p], 1}, between)) return false;
    Loop merged = a;
    rewrite_exprs(b.body, [&](const Expr& e) {
      return e.substitute({{b.variable, Expr(a.variable)}});
    });
    std::move(b.body.begin(), b.body.end(), std::back_inserter(merged.body));
    merged.accumulators.insert(merged.accumulators.end(), b.accumulators.begin(),
                               b.accumulators.end());
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
