// SPDX-License-Identifier: Apache-2.0
// Finds reductions over k, below a loop over n, whose terms are those before the n-th or those
// after it. In: native loops without marks; out: the same with an accumulator that is a scalar of
// the iteration around n. A suffix is a prefix counted from the end: k or n then stands for the
// element N - 1 - k or N - 1 - n.
#include "schedule/scan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>

#include "ir/dependence.h"
#include "passes/common_conditions.h"
#include "passes/conditions.h"
#include "schedule/combine.h"
#include "schedule/iterations.h"
#include "schedule/sign.h"
#include "schedule/take.h"

namespace mote {
namespace {

/// The terms of iteration n: those of all k with n - k >= gap, both counted from the end if `flip`
/// is 1.
struct Prefix {
  Expr flip;  ///< 0 or 1
  Expr gap;
  Loop terms;  ///< the loop over k, without the inequality
};

bool can_be_carried(const Accumulator& a) {
  return combine_of(a.op).has_value() && (is_real(a.dtype) || is_integer(a.dtype));
}

bool folds_into(const Stmt& s, const std::vector<Accumulator>& accumulators) {
  const auto* fold = std::get_if<Fold>(&s.kind);
  return fold != nullptr && std::ranges::any_of(accumulators, [&](const Accumulator& a) {
           return a.name == fold->accumulator;
         });
}

/// Splits a loop of plain folds into one for each accumulator, since each may have an inequality of
/// its own.
std::vector<Loop> by_accumulator(const Loop& loop) {
  const bool is_plain = std::ranges::all_of(
      loop.body, [&](const Stmt& s) { return folds_into(s, loop.accumulators); });
  if (!is_plain) return {loop};
  std::vector<Loop> parts;
  for (const Accumulator& a : loop.accumulators) {
    Loop part = loop;
    part.accumulators = {a};
    std::erase_if(part.body, [&](const Stmt& s) { return !folds_into(s, {a}); });
    parts.push_back(std::move(part));
  }
  return parts;
}

/// Returns the loop without the carried accumulators; nullopt if none is left.
std::optional<Loop> rest_of(Loop loop, const std::vector<Prefix>& carried) {
  for (const Prefix& prefix : carried) {
    const std::vector<Accumulator>& gone = prefix.terms.accumulators;
    if (gone.size() == loop.accumulators.size()) return std::nullopt;
    std::erase_if(loop.body, [&](const Stmt& s) { return folds_into(s, gone); });
    std::erase_if(loop.accumulators,
                  [&](const Accumulator& a) { return a.name == gone.front().name; });
  }
  return loop;
}

class Scan {
 public:
  /// Carries values along one loop only, or along any (null).
  Scan(LoopProgram& p, const std::string* only)
      : p_(p), only_(only), facts_(with_upper_bounds(*p.source)) {}

  /// Applies the step to the body; `iteration` is the variable of the loop around it.
  void run(Body& body, std::optional<Symbol> iteration) {
    for (std::size_t k = 0; k < body.size(); ++k) {
      if (auto carried = carry(body[k], iteration)) {
        body.erase(body.begin() + static_cast<std::ptrdiff_t>(k));
        body.insert(body.begin() + static_cast<std::ptrdiff_t>(k), carried->begin(),
                    carried->end());
      }
      const Loop* loop = as_loop(body[k]);
      if (Body* inner = nested_body(body[k]))
        run(*inner, loop != nullptr ? std::optional(loop->variable) : iteration);
    }
  }

  std::vector<Scanned> steps;

 private:
  using Prefixes = std::map<std::size_t, std::vector<Prefix>>;  ///< by position in a body

  /// Returns the statements that replace the loop over n.
  std::optional<Body> carry(const Stmt& s, std::optional<Symbol> iteration) {
    const Loop* along = as_loop(s);
    if (along == nullptr || along->begin != Expr(0) || along->step != Expr(1) ||
        along->end.has_load() || (only_ != nullptr && along->variable.name() != *only_) ||
        why_not_serial(s))
      return std::nullopt;
    const std::vector<const Loop*> chain = perfect_chain(*along);
    const Prefixes found = prefixes_in(chain.back()->body, *along);
    if (found.empty()) return std::nullopt;
    const auto shared = shared_loops(p_, s);
    if (!shared || !shared->own.empty() || shared->loops.size() != chain.size())
      return std::nullopt;
    return carried(chain, found,
                   chain.size() > 1 ? std::optional(chain.back()->variable) : iteration);
  }

  /// Returns the prefixes in the body; if they run in different directions, only those that run as
  /// the first does.
  Prefixes prefixes_in(const Body& body, const Loop& along) const {
    Prefixes found;
    for (std::size_t k = 0; k < body.size(); ++k) {
      const Loop* loop = as_loop(body[k]);
      if (loop == nullptr || loop->step != Expr(1)) continue;
      for (const Loop& terms : by_accumulator(*loop)) {
        auto prefix = prefix_of(terms, along);
        if (!prefix || !is_alone(prefix->terms.body, body, k, along.variable)) continue;
        if (found.empty() || prefix->flip == found.begin()->second.front().flip)
          found[k].push_back(*std::move(prefix));
      }
    }
    return found;
  }

  std::optional<Prefix> prefix_of(const Loop& loop, const Loop& along) const {
    if (loop.accumulators.empty() || !std::ranges::all_of(loop.accumulators, can_be_carried))
      return std::nullopt;
    auto prefix = in_limits(loop, along);
    return prefix ? prefix : in_condition(loop, along);
  }

  std::optional<Prefix> in_limits(const Loop& loop, const Loop& along) const {
    const Expr n(along.variable);
    if (loop.begin == Expr(0) && is_gap(n + 1 - loop.end)) return Prefix{0, n + 1 - loop.end, loop};
    if (loop.end == along.end && is_gap(loop.begin - n)) return Prefix{1, loop.begin - n, loop};
    return std::nullopt;
  }

  std::optional<Prefix> in_condition(const Loop& loop, const Loop& along) const {
    if (loop.begin != Expr(0) || loop.end != along.end) return std::nullopt;
    for (const Condition& c : common_conditions(loop.body)) {
      if (c.kind != Condition::Kind::nonneg || has_load(c)) continue;
      const auto of_n = linear_in(c.e, along.variable);
      const auto of_k = of_n ? linear_in(of_n->rest, loop.variable) : std::nullopt;
      if (!of_k || of_k->factor != -of_n->factor) continue;
      const auto flip = flip_of(of_n->factor, facts_);
      if (!flip || !is_gap(-of_k->rest)) continue;
      Prefix prefix{*flip, -of_k->rest, loop};
      prefix.terms.body = without(loop.body, c);
      return prefix;
    }
    return std::nullopt;
  }

  bool is_gap(const Expr& e) const { return is_fixed(e) && facts_.prove_nonneg(e); }

  /// Returns true if the terms are only folds, of values that do not change with n.
  static bool is_alone(const Body& terms, const Body& body, std::size_t location, Symbol n) {
    Body rest = body;
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(location));
    const Effects own = effects_of(terms);
    bool changes = false;
    for_each(terms, [&](const Stmt& s) {
      for_each_expr(s, [&](const Expr& e) { changes = changes || e.mentions(n); });
    });
    return !changes && own.written.empty() && are_independent(own, effects_of(rest));
  }

  Body carried(const std::vector<const Loop*>& chain, const Prefixes& prefixes,
               std::optional<Symbol> iteration) {
    const Loop& along = *chain.front();
    const Body& body = chain.back()->body;
    const Expr flip = prefixes.begin()->second.front().flip;
    const std::string& name = along.variable.name();
    const Symbol n = flip == Expr(0) ? along.variable
                                     : Symbol(SymbolKind::loop, fresh_name(p_, name + "_round"));
    const auto element = [&](const Expr& position) {
      return position + flip * (along.end - 1 - 2 * position);
    };
    Body nest;
    std::vector<std::string> effects;
    Loop moved{n, 0, along.end, 1, {}, {}};
    for (std::size_t k = 0; k < body.size(); ++k) {
      const auto found = prefixes.find(k);
      if (found == prefixes.end()) {
        moved.body.push_back(body[k]);
        continue;
      }
      for (const Prefix& prefix : found->second) {
        open(prefix.terms.accumulators, iteration, nest);
        add_terms(prefix, Expr(n), element(Expr(n) - prefix.gap), moved.body);
        effects.push_back(effect(prefix));
      }
      if (auto rest = rest_of(*as_loop(body[k]), found->second))
        moved.body.push_back({*std::move(rest)});
    }
    steps.push_back({n, {{StepKind::scan, {{name}}}, fmt::format("{}", fmt::join(effects, "; "))}});
    substitute(moved.body, along.variable, element(Expr(n)));
    rewrite_values(moved.body, [this](const Value& v) { return on_tensor(v); });
    nest.push_back({std::move(moved)});
    for (std::size_t k = chain.size(); k-- > 1;) {
      Loop outer = *chain[k];
      outer.body = std::move(nest);
      nest = {{std::move(outer)}};
    }
    return nest;
  }

  /// Turns the accumulators into scalars of the same names, neutral before the first iteration.
  void open(const std::vector<Accumulator>& accumulators, std::optional<Symbol> iteration,
            Body& before) {
    for (const Accumulator& a : accumulators) {
      p_.tensors.push_back({a.name, TensorRole::temporary, a.dtype, {}, {}, iteration});
      carried_.insert(a.name);
      before.push_back({Store{a.name, {}, constant(neutral(a.op, a.dtype), a.dtype)}});
    }
  }

  /// Adds the term of iteration n, at `element` of k.
  static void add_terms(const Prefix& prefix, const Expr& n, const Expr& element, Body& out) {
    Body terms = prefix.terms.body;
    substitute(terms, prefix.terms.variable, element);
    as_stores(terms, prefix.terms.accumulators);
    if (prefix.gap == Expr(0)) {
      std::ranges::move(terms, std::back_inserter(out));
    } else {
      out.push_back({If{{{Condition::Kind::nonneg, n - prefix.gap}}, std::move(terms)}});
    }
  }

  static void substitute(Body& body, Symbol variable, const Expr& by) {
    if (by != Expr(variable))
      rewrite_exprs(body, [&](const Expr& e) { return e.substitute({{variable, by}}); });
  }

  static void as_stores(Body& body, const std::vector<Accumulator>& accumulators) {
    for (Stmt& s : body) {
      if (Body* inner = nested_body(s)) as_stores(*inner, accumulators);
      if (!folds_into(s, accumulators)) continue;
      const Fold fold = std::get<Fold>(s.kind);
      s = {StoreReduce{fold.accumulator, {}, *combine_of(fold.op), fold.value}};
    }
  }

  Value on_tensor(const Value& v) const {
    const auto* folded = std::get_if<value::Accumulated>(&v->kind);
    return folded != nullptr && carried_.contains(folded->name)
               ? load_value(folded->name, {}, v->dtype)
               : v;
  }

  static std::string effect(const Prefix& prefix) {
    std::vector<std::string> names;
    for (const Accumulator& a : prefix.terms.accumulators) names.push_back(a.name);
    const Expr& flip = prefix.flip;
    const std::string backwards = flip == Expr(0) ? ""
                                  : flip == Expr(1)
                                      ? ", backwards"
                                      : fmt::format(", backwards where {} is 1", flip.to_string());
    return fmt::format("carries {} of {}{}", fmt::join(names, " and "),
                       prefix.terms.variable.name(), backwards);
  }

  LoopProgram& p_;
  const std::string* only_;
  const Facts facts_;
  std::set<std::string> carried_;  ///< accumulators that are now tensors
};

}  // namespace

std::vector<Scanned> scan_prefixes(LoopProgram& p, const std::string* along) {
  Scan scan(p, along);
  scan.run(p.body, std::nullopt);
  return scan.steps;
}

}  // namespace mote
