// SPDX-License-Identifier: Apache-2.0
// In: statements at top level, loops in iterations that are independent, or that are in order; out:
// the same with long reductions split. For `for r { names; for n in 0..N { acc += v } rest }`:
//
//   for k in 0..parts, r { names; for n in k*length..min(N, (k + 1)*length) { acc += v }
//                           partial[r, k] = acc }
//   for r { names; for k in 0..parts { acc += partial[r, k] } rest }
#include "split_reduction.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "ir/dependence.h"
#include "mote/codegen/walk.h"
#include "rewriting.h"
#include "rows.h"
#include "schedule/combine.h"
#include "schedule/iterations.h"

namespace mote::cuda {
namespace {

/// The number of iterations of a launch that is enough: more parts only add to the second nest.
constexpr std::int64_t kIterations = 262144;
constexpr std::int64_t kMaxParts = 512;
/// The parts begin at multiples of these numbers: of elements, so that threads can access 16 bytes
/// of them at a time and have several, and of rows, which a block's warps share.
constexpr std::int64_t kElements = 64;
constexpr std::int64_t kRows = 4;

class ReductionSplitter {
 public:
  explicit ReductionSplitter(const LoopProgram& p) : p_(p), make_(p) {}

  std::optional<SplitReduction> run() {
    Body body = replaced(p_.body, [&](const Stmt& s, Body& all) {
      const auto shared = as_loop(s) != nullptr ? shared_loops(p_, s) : std::nullopt;
      if (shared && shared->own.empty())
        split(*shared, s, all);
      else
        all.push_back(s);
    });
    if (!terms_) return std::nullopt;
    return SplitReduction{std::move(make_).with(std::move(body)), *terms_};
  }

 private:
  /// Splits the first loop of the iterations, if only names stand before it.
  void split(const SharedLoops& shared, const Stmt& s, Body& all) {
    const Body& body = shared.loops.back()->body;
    const auto is_name = [](const Stmt& inner) { return std::holds_alternative<Let>(inner.kind); };
    const auto first = std::ranges::find_if_not(body, is_name);
    const bool counted =
        std::ranges::all_of(shared.loops, [](const Loop* l) { return is_counted(*l); });
    const Loop* loop = first == body.end() ? nullptr : reduction(*first);
    if (!counted || loop == nullptr) {
      all.push_back(s);
      return;
    }
    terms_ = terms_ ? max(*terms_, terms_of(*loop)) : terms_of(*loop);
    const auto at = static_cast<std::size_t>(first - body.begin());
    const bool is_bare = as_loop(*first) != nullptr;
    part(is_bare ? fold_later(body, at, shared.loops, all) : body, at, shared.loops, all);
  }

  /// Returns the loop that the statement is, or that stands alone in branches, if all that it does
  /// is fold into its own accumulators.
  static const Loop* reduction(const Stmt& s) {
    if (const auto* branch = std::get_if<If>(&s.kind))
      return branch->body.size() == 1 ? reduction(branch->body.front()) : nullptr;
    const Loop* loop = as_loop(s);
    if (loop == nullptr || loop->accumulators.empty() || !outer_folds(*loop).empty() ||
        !std::ranges::all_of(loop->accumulators, is_combined, &Accumulator::op))
      return nullptr;
    return tensors_written(loop->body).empty() && is_counted(*loop) ? loop : nullptr;
  }

  /// If the iterations of the reduction `at` hold reductions, adds a nest that shares those and
  /// stores their values, and returns the body in which the reduction reads the stored values.
  Body fold_later(Body body, std::size_t at, const std::vector<const Loop*>& shared, Body& all) {
    const Loop loop = *as_loop(body[at]);
    const std::vector<const Loop*> nest = nest_of(loop);
    if (accumulators_declared(nest.back()->body).empty() ||
        !std::ranges::all_of(nest, [](const Loop* l) { return is_counted(*l); }) ||
        !folds_last(*nest.back()))
      return body;
    const auto [shape, location] = iterations_of(shared);
    std::vector<Expr> store_at = location, load_at = location, extents = shape;
    Expr flat = 0, count = 1;
    for (const Loop* l : nest) {
      flat = flat * l->end + Expr(l->variable);
      count = count * l->end;
    }
    const Symbol later = make_.variable(loop.variable.name());
    store_at.push_back(flat);
    load_at.emplace_back(later);
    extents.push_back(count);
    Loop folds{later, 0, count, 1, loop.accumulators, {}};
    Body iterations = nest.back()->body;
    for (Stmt& s : iterations) {
      const auto* fold = std::get_if<Fold>(&s.kind);
      if (fold == nullptr) continue;
      const Fold was = *fold;
      const DType dtype = was.value->dtype;
      const std::string tensor = make_.temporary(was.accumulator + "_of", dtype, extents);
      s = {Store{tensor, store_at, was.value}};
      folds.body.push_back({Fold{was.accumulator, was.op, load_value(tensor, load_at, dtype), 0}});
    }
    for (std::size_t k = nest.size(); k-- > 0;) {
      Loop shares = *nest[k];
      shares.accumulators.clear();
      shares.body = std::move(iterations);
      iterations = {{std::move(shares)}};
    }
    Body names(body.begin(), body.begin() + static_cast<std::ptrdiff_t>(at));
    names.push_back(std::move(iterations.front()));
    Body made = around(std::move(names), shared, false);
    rename(made);
    std::ranges::move(made, std::back_inserter(all));
    body[at] = {std::move(folds)};
    return body;
  }

  /// Returns true if only folds stand from the first outer fold to the end of the iterations.
  static bool folds_last(const Loop& loop) {
    const auto is_fold = [](const Stmt& s) { return std::holds_alternative<Fold>(s.kind); };
    const auto first = std::ranges::find_if(loop.body, is_fold);
    if (!std::all_of(first, loop.body.end(), is_fold)) return false;
    const std::set<std::string> inner = accumulators_declared(loop.body);
    bool outer = false;
    for_each({loop.body.begin(), first}, [&](const Stmt& s) {
      const auto* fold = std::get_if<Fold>(&s.kind);
      outer = outer || (fold != nullptr && !inner.contains(fold->accumulator));
    });
    return !outer;
  }

  /// Returns the extents of the iterations and the indices of one, without loops of one iteration.
  static std::pair<std::vector<Expr>, std::vector<Expr>> iterations_of(
      const std::vector<const Loop*>& shared) {
    std::pair<std::vector<Expr>, std::vector<Expr>> out;
    for (const Loop* l : shared) {
      if (is_single(*l)) continue;
      out.first.push_back(l->end);
      out.second.emplace_back(l->variable);
    }
    return out;
  }

  /// Puts two nests in place of the iteration `body` of these loops; statement `at` is the
  /// reduction.
  void part(const Body& body, std::size_t at, const std::vector<const Loop*>& shared, Body& all) {
    const Loop& loop = *reduction(body[at]);
    auto [shape, location] = iterations_of(shared);
    Expr iterations = 1;
    for (const Expr& e : shape) iterations = iterations * e;
    const Expr wanted = min(kMaxParts, ceil_div(kIterations, max(1, iterations)));
    const std::int64_t unit = holds_loop(loop.body) ? kRows : kElements;
    const Expr units = max(1, ceil_div(loop.end, unit * wanted));
    const Expr length = unit * make_.size("length" + std::to_string(unit), units);
    const Expr parts = make_.size("parts", ceil_div(loop.end, unit * units));
    shape.push_back(parts);

    const Symbol k = make_.variable("k"), part = make_.variable("part");
    const auto behind = body.begin() + static_cast<std::ptrdiff_t>(at);
    const Body names(body.begin(), behind);
    Loop of_part = loop, of_parts{part, 0, parts, 1, loop.accumulators, {}};
    of_part.begin = length * Expr(k);
    of_part.end = min(loop.end, length * Expr(k) + length);
    Body first = names;
    first.push_back(with_loop(body[at], std::move(of_part)));
    for (const Accumulator& a : loop.accumulators) {
      const std::string tensor = make_.temporary("part_" + a.name, a.dtype, shape);
      std::vector<Expr> stored = location, read = location;
      stored.emplace_back(k);
      read.emplace_back(part);
      first.push_back({Store{tensor, stored, accumulated_value(a.name, a.dtype)}});
      of_parts.body.push_back({Fold{a.name, a.op, load_value(tensor, read, a.dtype), 0}});
    }
    first = around(std::move(first), shared, false);
    rename(first);
    all.push_back({Loop{k, 0, parts, 1, {}, std::move(first)}});

    Body second = names;
    second.push_back({std::move(of_parts)});
    second.insert(second.end(), behind + 1, body.end());
    second = around(std::move(second), shared, true);
    std::ranges::move(second, std::back_inserter(all));
  }

  /// Returns the statement with another loop in its branches.
  static Stmt with_loop(Stmt s, Loop loop) {
    if (auto* branch = std::get_if<If>(&s.kind))
      branch->body.front() = with_loop(branch->body.front(), std::move(loop));
    else
      s = {std::move(loop)};
    return s;
  }

  static bool is_single(const Loop& loop) { return loop.end == Expr(1); }

  /// Wraps the body in the shared loops; `single`: also in those of one iteration.
  static Body around(Body body, const std::vector<const Loop*>& shared, bool single) {
    for (std::size_t k = shared.size(); k-- > 0;) {
      if (is_single(*shared[k]) && !single) {
        rewrite_exprs(body, [&](const Expr& e) {
          return e.substitute({{shared[k]->variable, 0}});
        });
        continue;
      }
      Loop loop = *shared[k];
      loop.body = std::move(body);
      body = {{std::move(loop)}};
    }
    return body;
  }

  /// Gives the loops, accumulators and names of the body names of their own.
  void rename(Body& body) {
    std::map<Symbol, Expr> variables;
    std::map<std::string, std::string> names;
    rename(body, variables, names);
    rewrite_exprs(body, [&](const Expr& e) {
      const Expr moved = e.substitute(variables);
      if (!moved.has_load()) return moved;
      return moved.transform([&](const Atom& a) {
        const auto bound = a.kind == Atom::Kind::load ? names.find(a.tensor) : names.end();
        return bound == names.end() ? rebuild(a) : load(bound->second, a.args);
      });
    });
    rewrite_values(body, [&](const Value& v) {
      const auto* bound = std::get_if<value::Named>(&v->kind);
      const auto* folded = std::get_if<value::Accumulated>(&v->kind);
      if (bound == nullptr && folded == nullptr) return v;
      const auto own = names.find(bound != nullptr ? bound->name : folded->name);
      if (own == names.end()) return v;
      return bound != nullptr ? named_value(own->second, v->dtype)
                              : accumulated_value(own->second, v->dtype);
    });
  }

  /// Renames the declarations of loops, accumulators and names.
  void rename(Body& body, std::map<Symbol, Expr>& variables,
              std::map<std::string, std::string>& names) {
    const auto own = [&](std::string& name) {
      name = names.emplace(name, make_.fresh(name)).first->second;
    };
    for (Stmt& s : body) {
      if (auto* let = std::get_if<Let>(&s.kind)) own(let->name);
      if (auto* loop = as_loop(s)) {
        const Symbol v = make_.variable(loop->variable.name());
        variables.emplace(loop->variable, Expr(v));
        loop->variable = v;
        for (Accumulator& a : loop->accumulators) own(a.name);
      }
      if (auto* fold = std::get_if<Fold>(&s.kind)) fold->accumulator = names.at(fold->accumulator);
      if (Body* nested = nested_body(s)) rename(*nested, variables, names);
    }
  }

  const LoopProgram& p_;
  Rewriting make_;
  std::optional<Expr> terms_;
};

}  // namespace

std::optional<SplitReduction> with_split_reduction(const LoopProgram& p) {
  return ReductionSplitter(p).run();
}

}  // namespace mote::cuda
