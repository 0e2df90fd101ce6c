// SPDX-License-Identifier: Apache-2.0
// In: `for r { … for n { s[n] += f(r, n) } }`, whose iterations have nothing in common but the sums
// s. Out: `for part { for n { sp[part, n] = 0 } for r in the part { … sp[part, n] += f(r, n) } }
// for part { for n { s[n] += sp[part, n] } }`.
#include "schedule/partial.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "ir/dependence.h"
#include "ir/references.h"
#include "mote/codegen/walk.h"
#include "passes/conditions.h"
#include "schedule/combine.h"
#include "schedule/iterations.h"
#include "schedule/tile.h"

namespace mote {
namespace {

/// An array to which a loop adds, and the array of its partial sums.
struct Sums {
  TensorDecl array;
  ScatterOp op;
  std::string parts;
};

/// Returns true if the loop `around` holds the other one.
bool holds(const Loop& around, const Loop& loop) {
  bool found = false;
  for_each(around.body, [&](const Stmt& s) {
    const Loop* l = as_loop(s);
    found = found || (l != nullptr && l->variable == loop.variable);
  });
  return found;
}

/// Returns true if a loop stores all elements of the temporary before any is changed. A loop around
/// `loop` has not stored all of them when that begins.
bool is_filled_before(const TensorDecl& t, const std::vector<TensorReference>& all,
                      const Loop& loop) {
  const auto first = std::ranges::find(all, t.name, &TensorReference::tensor);
  if (first == all.end() || first->kind != TensorReference::Kind::store) return false;
  std::set<Symbol> seen;
  for (std::size_t axis = 0; axis < t.shape.size(); ++axis) {
    const auto v = first->index[axis].as_symbol();
    if (!v || !seen.insert(*v).second) return false;
    const auto runs_over_axis = [&](const Stmt* s) {
      const Loop* l = as_loop(*s);
      return l != nullptr && l->variable == *v && l->begin == Expr(0) && l->step == Expr(1) &&
             l->end == t.shape[axis] && !holds(*l, loop);
    };
    if (std::ranges::none_of(first->path, runs_over_axis)) return false;
  }
  return std::ranges::all_of(first->path, [](const Stmt* s) { return as_loop(*s) != nullptr; });
}

/// Returns the temporaries, filled before the loop, that it changes in one way alone: by adding to
/// elements, or by one of the other reductions.
std::vector<Sums> sums_of(const LoopProgram& p, const Loop& loop) {
  std::map<std::string, std::optional<ScatterOp>> ops;
  const auto drop = [&](const std::string& tensor) { ops[tensor] = std::nullopt; };
  for_each(loop.body, [&](const Stmt& s) {
    if (const auto* sum = std::get_if<StoreReduce>(&s.kind)) {
      const auto [found, is_new] = ops.emplace(sum->tensor, sum->op);
      if (sum->op == ScatterOp::set || (!is_new && found->second != sum->op)) drop(sum->tensor);
    } else if (const auto* store = std::get_if<Store>(&s.kind)) {
      drop(store->tensor);
    }
  });
  for (const Access& a : accesses(loop.body))
    if (!a.write) drop(a.tensor);
  std::vector<Sums> found;
  const std::vector<TensorReference> all = references(p.body);
  for (const TensorDecl& t : p.tensors) {
    const auto op = ops.find(t.name);
    if (op != ops.end() && op->second && t.role == TensorRole::temporary && !t.per &&
        t.integer_bits == 64 && t.memory == TensorMemory::automatic &&
        is_filled_before(t, all, loop))
      found.push_back({t, *op->second, ""});
  }
  return found;
}

class Parts {
 public:
  Parts(LoopProgram& p, const Loop& loop, std::int64_t amount, std::vector<Sums> sums)
      : p_(p), loop_(loop), amount_(amount), sums_(std::move(sums)) {
    const Expr count = (loop.end - loop.begin + (amount - 1)) / amount;
    count_ = base_facts(*p.source).prove_nonneg(count) ? count : max(0, count);
    for (Sums& s : sums_) {
      TensorDecl parts = s.array;
      parts.name = s.parts = symbol(s.array.name + "_of_parts").name();
      parts.shape.insert(parts.shape.begin(), count_);
      parts.axis_names.insert(parts.axis_names.begin(), "");
      p_.tensors.push_back(std::move(parts));
    }
  }

  /// Returns the loop over parts, and the loop that adds up their sums.
  Body run() {
    const Symbol part = symbol(loop_.variable.name() + "_part");
    Body of_part = for_elements([&](const Sums& s, std::vector<Expr> index) -> Stmt {
      index.insert(index.begin(), number(part));
      const DType dtype = s.array.dtype;
      return {
          Store{s.parts, std::move(index), constant(neutral(*reduction_of(s.op), dtype), dtype)}};
    });
    Loop own = loop_;
    own.begin = Expr(part);
    own.end = min(Expr(part) + amount_, loop_.end);
    to_part(own.body, part, own.end);
    of_part.push_back({std::move(own)});
    const Symbol added = symbol(loop_.variable.name() + "_part");
    Body all = for_elements([&](const Sums& s, const std::vector<Expr>& index) -> Stmt {
      std::vector<Expr> from = index;
      from.insert(from.begin(), Expr(added));
      return {StoreReduce{s.array.name, index, s.op,
                          load_value(s.parts, std::move(from), s.array.dtype)}};
    });
    Body both;
    both.push_back({Loop{part, loop_.begin, loop_.end, amount_, {}, std::move(of_part)}});
    both.push_back({Loop{added, 0, count_, 1, {}, std::move(all)}});
    return both;
  }

 private:
  Symbol symbol(const std::string& hint) { return Tiler::fresh_variable(p_, hint, used_); }

  /// Returns the statements for all elements of the arrays, in loops that arrays of one shape
  /// share.
  template <typename F>
  Body for_elements(const F& statement) {
    Body nests;
    for (std::size_t k = 0; k < sums_.size();) {
      const std::vector<Expr>& shape = sums_[k].array.shape;
      std::vector<Symbol> variables;
      std::vector<Expr> index;
      for (std::size_t axis = 0; axis < shape.size(); ++axis) {
        variables.push_back(symbol("i"));
        index.push_back(Expr(variables.back()));
      }
      Body body;
      std::size_t last = k;
      for (; last < sums_.size() && sums_[last].array.shape == shape; ++last)
        body.push_back(statement(sums_[last], index));
      for (std::size_t axis = shape.size(); axis-- > 0;) {
        Body around;
        around.push_back({Loop{variables[axis], 0, shape[axis], 1, {}, std::move(body)}});
        body = std::move(around);
      }
      std::ranges::move(body, std::back_inserter(nests));
      k = last;
    }
    return nests;
  }

  /// Returns the number of the part.
  Expr number(Symbol part) const { return (Expr(part) - loop_.begin) / amount_; }

  /// Returns true for a loop over the block of one iteration, which may be of several rows.
  bool is_over_block(const Loop& l) const {
    return l.begin == Expr(loop_.variable) &&
           std::ranges::count(arms(l.end, Atom::Kind::min), Expr(loop_.variable) + loop_.step) > 0;
  }

  /// Makes the body add to the part's sums. Loops over a block end with the part, as is seen then.
  void to_part(Body& body, Symbol part, const Expr& end) const {
    for (Stmt& s : body) {
      if (Loop* l = as_loop(s); l != nullptr && is_over_block(*l)) l->end = min(l->end, end);
      if (auto* sum = std::get_if<StoreReduce>(&s.kind)) {
        const auto of =
            std::ranges::find(sums_, sum->tensor,
                              [](const Sums& one) -> const std::string& { return one.array.name; });
        if (of == sums_.end()) continue;
        sum->tensor = of->parts;
        sum->index.insert(sum->index.begin(), number(part));
      } else if (Body* inner = nested_body(s)) {
        to_part(*inner, part, end);
      }
    }
  }

  LoopProgram& p_;
  const Loop loop_;
  const std::int64_t amount_;
  std::vector<Sums> sums_;
  Expr count_ = 0;  ///< of the parts
  std::set<std::string> used_;
};

}  // namespace

Refusal add_up_parts(LoopProgram& p, const Path& path, std::int64_t amount, std::string& effect) {
  const Stmt& s = at(p, path);
  const Loop loop = *as_loop(s);
  if (auto why = why_not_serial(s)) return why;
  if (auto why = why_not_serial_around(p, path)) return why;
  const auto step = loop.step.constant();
  if (!step || amount % *step != 0)
    return fmt::format("parts of {} do not consist of whole steps of {}", amount,
                       loop.variable.name());
  if (!loop.accumulators.empty() || !outer_folds(loop).empty()) return kDependent;
  if (!is_fixed(loop.begin) || !is_fixed(loop.end)) return "its limits change";
  const std::vector<Sums> sums = sums_of(p, loop);
  if (sums.empty()) return "it adds to no array that was filled before, or reads what it adds to";
  LoopProgram now = p;
  Body both = Parts(now, loop, amount, sums).run();
  Body& around =
      path.size() == 1 ? now.body : *nested_body(at(now, Path(path.begin(), path.end() - 1)));
  const auto position = around.begin() + static_cast<std::ptrdiff_t>(path.back());
  around.insert(around.erase(position), both.begin(), both.end());
  const Stmt& parts = at(std::as_const(now), path);
  if (!shared_loops(now, parts)) return why_dependent(now, parts);
  std::vector<std::string> names;
  for (const Sums& one : sums) names.push_back(one.array.name);
  effect = fmt::format("partial sums of {}", fmt::join(names, ", "));
  p = std::move(now);
  return std::nullopt;
}

}  // namespace mote
