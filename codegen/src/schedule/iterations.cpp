// SPDX-License-Identifier: Apache-2.0
// Finds dependences between the iterations of a loop from the index expressions of its accesses.
#include "schedule/iterations.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "ir/dependence.h"
#include "ir/references.h"
#include "passes/leave_out.h"
#include "schedule/unflatten.h"

namespace mote {
namespace {

/// An index, split along a loop: factor · v + fixed + moving; only `moving` changes in an
/// iteration.
struct Along {
  Expr factor;
  Expr fixed;
  Expr moving;
};

Expr expr_of(const Term& t) {
  Expr e = t.coefficient;
  for (const Atom& a : t.atoms) e = e * Expr::from_atom(a);
  return e;
}

std::optional<Along> along(const Expr& index, Symbol v, const std::set<Symbol>& outer) {
  const auto linear = linear_in(index, v);
  if (!linear || linear->factor.has_load()) return std::nullopt;
  const auto moves = [&](const Expr& e) {
    return e.has_load() || std::ranges::any_of(e.symbols(), [&](Symbol s) {
             return s.kind() == SymbolKind::loop && !outer.contains(s);
           });
  };
  if (moves(linear->factor)) return std::nullopt;
  Along a{linear->factor, 0, 0};
  for (const Term& t : linear->rest.terms()) {
    const Expr e = expr_of(t);
    (moves(e) ? a.moving : a.fixed) = (moves(e) ? a.moving : a.fixed) + e;
  }
  return a;
}

/// Returns the facts of the source, and that the parameters wanted() of outputs are at least 0.
Facts facts_of(const LoopProgram& p) {
  Facts facts = base_facts(*p.source);
  for (const TensorDecl& t : p.tensors)
    if (t.role == TensorRole::output) facts.set_lower(wanted(t.name), 0);
  return facts;
}

bool is_in(const TensorReference& r, const Stmt& s) {
  return std::ranges::find(r.path, &s) != r.path.end();
}

/// The references of a program, and what loops that are asked about one after the other share of
/// the proofs.
class ProgramReferences {
 public:
  explicit ProgramReferences(const LoopProgram& p)
      : program(p), facts(facts_of(p)), all(references(p.body)) {}

  /// Returns true if each read of the tensor in the program finds a value that its own iteration of
  /// all loops around both stored.
  bool is_filled_first(const std::string& tensor) const {
    const auto [known, is_new] = filled_.emplace(tensor, false);
    if (is_new) {
      const std::vector<const TensorReference*> touched = of(tensor);
      known->second = std::ranges::all_of(touched, [&](const TensorReference* read) {
        return read->kind == TensorReference::Kind::store ||
               is_stored_in_iteration_of(*read, touched, facts);
      });
    }
    return known->second;
  }

  const LoopProgram& program;
  const Facts facts;
  const std::vector<TensorReference> all;

 private:
  std::vector<const TensorReference*> of(const std::string& tensor) const {
    std::vector<const TensorReference*> found;
    for (const TensorReference& r : all)
      if (r.tensor == tensor) found.push_back(&r);
    return found;
  }

  mutable std::map<std::string, bool> filled_;  ///< the answers of is_filled_first
};

class Iterations {
 public:
  Iterations(const ProgramReferences& references, const Stmt& s)
      : references_(references),
        p_(references.program),
        s_(s),
        loop_(*as_loop(s)),
        base_(references.facts),
        all_(references.all) {
    for (const TensorReference& r : all_) {
      if (!is_in(r, s)) continue;
      inside_.push_back(&r);
      for (const Stmt* outer : r.path) {
        if (outer == &s) break;
        if (const Loop* l = as_loop(*outer)) outer_.insert(l->variable);
      }
    }
  }

  std::optional<std::set<std::string>> run() const {
    std::set<std::string> own;
    if (has_one_iteration(loop_)) return own;
    std::set<std::string> seen;
    for (const TensorReference* r : inside_) {
      if (!r->is_write() || !seen.insert(r->tensor).second) continue;
      if (are_apart(r->tensor)) continue;
      if (!is_filled_first(r->tensor)) return std::nullopt;
      own.insert(r->tensor);
    }
    return own;
  }

  /// Returns the accesses because of which run() returns nullopt.
  std::string dependence() const {
    for (const TensorReference* w : inside_) {
      if (!w->is_write() || are_apart(w->tensor) || is_filled_first(w->tensor)) continue;
      for (const TensorReference* r : inside(w->tensor))
        if (!r->is_write() && !are_apart(std::vector{w, r}))
          return fmt::format("one may store {}, which another reads as {}", text(*w), text(*r));
      return fmt::format("several may store {}", text(*w));
    }
    return "";
  }

 private:
  static std::string text(const TensorReference& r) {
    return to_string(load_value(r.tensor, r.index, DType::i64));
  }

  std::vector<const TensorReference*> inside(const std::string& tensor) const {
    std::vector<const TensorReference*> found;
    for (const TensorReference* r : inside_)
      if (r->tensor == tensor) found.push_back(r);
    return found;
  }

  /// Returns true if no two iterations access the same element.
  bool are_apart(const std::string& tensor) const { return are_apart(inside(tensor)); }

  bool are_apart(const std::vector<const TensorReference*>& touched) const {
    if (are_apart_on_an_axis(touched)) return true;
    const std::vector<TensorReference> others = unflattened(
        touched, base_, [this](const Expr& e) { return !e.has_load() && is_fixed_in_loop(e); });
    std::vector<const TensorReference*> unflat;
    for (const TensorReference& r : others) unflat.push_back(&r);
    return !unflat.empty() && are_apart_on_an_axis(unflat);
  }

  /// Returns true if on some axis, or by all digits of a number, no two iterations access the same
  /// position.
  bool are_apart_on_an_axis(const std::vector<const TensorReference*>& touched) const {
    for (std::size_t axis = 0; axis < touched.front()->index.size(); ++axis) {
      if (are_in_ranges(touched, axis) || is_number(touched, axis)) return true;
      const auto on_axis = [axis](const TensorReference& r) { return r.index[axis]; };
      if (are_apart(touched, on_axis)) return true;
    }
    return are_apart_by_digits(touched);
  }

  /// Returns true if the index of each on the axis is the number of the iteration.
  bool is_number(const std::vector<const TensorReference*>& touched, std::size_t axis) const {
    const auto step = loop_.step.constant();
    if (!step || *step < 2) return false;
    const Expr number = (Expr(loop_.variable) - loop_.begin) / loop_.step;
    return std::ranges::all_of(touched,
                               [&](const TensorReference* r) { return r->index[axis] == number; });
  }

  /// Returns true if all references are at the digits of a number, each on an axis of its own, and
  /// no two iterations have the same number.
  bool are_apart_by_digits(const std::vector<const TensorReference*>& touched) const {
    std::optional<std::vector<DigitAxis>> axes;
    const std::vector<LoopDigit>* digits = nullptr;
    for (const TensorReference* r : touched) {
      const Loop* counted = loop_of_digits(*r);
      const auto found = counted == nullptr || !are_fixed(counted->digits)
                             ? std::nullopt
                             : axes_of_digits(*r, *counted);
      if (!found ||
          (axes && (*axes != *found || !std::ranges::equal(*digits, counted->digits, are_alike))))
        return false;
      axes = found;
      digits = &counted->digits;
    }
    return are_apart(touched,
                     [this](const TensorReference& r) { return loop_of_digits(r)->number; });
  }

  /// Returns the loop around the reference whose number changes with this loop.
  const Loop* loop_of_digits(const TensorReference& r) const {
    for (const Stmt* s : r.path) {
      const Loop* l = as_loop(*s);
      if (l != nullptr && !l->digits.empty() && l->number.mentions(loop_.variable)) return l;
    }
    return nullptr;
  }

  /// An axis whose index is a digit plus what no iteration of this loop changes.
  struct DigitAxis {
    std::size_t axis;
    Expr rest;
    friend bool operator==(const DigitAxis&, const DigitAxis&) = default;
  };

  /// Returns the axis of each digit of the loop; nullopt if a digit has none of its own.
  std::optional<std::vector<DigitAxis>> axes_of_digits(const TensorReference& r,
                                                       const Loop& counted) const {
    std::vector<DigitAxis> axes;
    for (const LoopDigit& d : counted.digits) {
      const std::size_t before = axes.size();
      for (std::size_t k = 0; k < r.index.size() && axes.size() == before; ++k) {
        const Expr rest = r.index[k] - Expr(d.variable);
        if (r.index[k].mentions(d.variable) && !rest.has_load() && is_fixed_in_loop(rest))
          axes.push_back({k, rest});
      }
      if (axes.size() == before) return std::nullopt;
    }
    return axes;
  }

  /// Returns true if the digits have the same limits in all iterations of this loop.
  bool are_fixed(const std::vector<LoopDigit>& digits) const {
    return std::ranges::all_of(digits, [this](const LoopDigit& d) {
      return is_fixed_in_loop(d.begin) && is_fixed_in_loop(d.end) && is_fixed_in_loop(d.step);
    });
  }

  bool is_fixed_in_loop(const Expr& e) const {
    return std::ranges::all_of(e.symbols(), [this](Symbol s) {
      return s.kind() != SymbolKind::loop || outer_.contains(s);
    });
  }

  /// Replaces the variables of inner loops over parts of this loop's range by this loop's variable
  /// plus an offset.
  Expr from_part(const TensorReference& r, const Expr& index, Facts* facts) const {
    std::map<Symbol, Expr> offsets;
    for (const Symbol v : loops_over_parts(r.path, loop_, base_)) {
      const Symbol offset(SymbolKind::loop, v.name() + " offset");
      offsets.emplace(v, Expr(loop_.variable) + Expr(offset));
      if (facts != nullptr) facts->set_range(offset, 0, loop_.step);
    }
    return offsets.empty() ? index : index.substitute(offsets);
  }

  /// Returns the length if conditions around the reference confine its index to the `length`
  /// elements from v * length on.
  std::optional<Expr> range_of(const TensorReference& r, std::size_t axis) const {
    const Expr& index = r.index[axis];
    std::optional<Expr> length;
    bool ends = false;
    for (const Stmt* s : r.path) {
      const auto* branch = std::get_if<If>(&s->kind);
      if (branch == nullptr) continue;
      for (const Condition& c : branch->conditions) {
        const auto linear = linear_in(c.e, loop_.variable);
        if (c.kind != Condition::Kind::nonneg || !linear || linear->factor == Expr(0)) continue;
        if (linear->rest == index) length = -linear->factor;
        ends = ends || (length && linear->factor == *length && linear->rest == *length - 1 - index);
      }
    }
    const auto is_size = [](Symbol v) { return v.kind() == SymbolKind::size; };
    const bool fixed =
        length && !length->has_load() && std::ranges::all_of(length->symbols(), is_size);
    return fixed && ends && !changes(index) ? length : std::nullopt;
  }

  /// Returns true if the loop stores an element that the expression loads.
  bool changes(const Expr& e) const {
    bool changed = false;
    for_each_load(e, [&](const Atom& a) {
      changed = changed || std::ranges::any_of(inside_, [&](const TensorReference* r) {
                  return r->is_write() && r->tensor == a.tensor;
                });
    });
    return changed;
  }

  bool are_in_ranges(const std::vector<const TensorReference*>& touched, std::size_t axis) const {
    const auto length = range_of(*touched.front(), axis);
    return length && std::ranges::all_of(touched, [&](const TensorReference* r) {
             return range_of(*r, axis) == length;
           });
  }

  /// Returns true if that expression at the references is never the same in two iterations.
  template <typename F>
  bool are_apart(const std::vector<const TensorReference*>& touched, const F& at) const {
    std::optional<Along> first;
    bool moves = false;
    for (const TensorReference* r : touched) {
      const Expr index = from_part(*r, at(*r), nullptr);
      const auto a = along(index, loop_.variable, outer_);
      if (a ? first && (a->factor != first->factor || a->fixed != first->fixed) : index.has_load())
        return false;
      if (a && !first) first = a;
      moves = moves || !a || a->moving != Expr(0);
    }
    if (!first) return false;
    if (!moves)
      return std::ranges::all_of(touched, [&](const TensorReference* r) {
        const Facts facts = facts_at(*r, base_);
        return facts.prove_positive(first->factor) || facts.prove_positive(-first->factor);
      });
    return std::ranges::all_of(touched, [&](const TensorReference* r) {
      Facts facts = facts_at(*r, base_);
      const Expr index = from_part(*r, at(*r), &facts);
      const Expr moving = index - first->factor * Expr(loop_.variable) - first->fixed;
      const Expr gap = first->factor * loop_.step;
      const bool up = facts.prove_nonneg(moving) && facts.prove_positive(gap - moving);
      return up || (facts.prove_nonneg(-moving) && facts.prove_positive(moving - gap));
    });
  }

  /// Returns true for a temporary that only this loop accesses, and each of whose reads finds a
  /// value that its own iteration stored.
  bool is_filled_first(const std::string& tensor) const {
    const TensorDecl& t = *find_tensor(p_, tensor);
    if (t.role != TensorRole::temporary || (p_.is_part && !t.per)) return false;
    if (is_of_block(t.memory)) return loop_.kind == LoopKind::grid;
    const bool only_here = std::ranges::all_of(
        all_, [&](const TensorReference& r) { return r.tensor != tensor || is_in(r, s_); });
    return only_here && references_.is_filled_first(tensor);
  }

  const ProgramReferences& references_;
  const LoopProgram& p_;
  const Stmt& s_;
  const Loop& loop_;
  const Facts& base_;
  const std::vector<TensorReference>& all_;
  std::vector<const TensorReference*> inside_;
  std::set<Symbol> outer_;
};

/// Returns the temporaries of a loop with independent iterations that folds into no accumulator.
std::optional<std::set<std::string>> own_iterations(const ProgramReferences& p, const Stmt& s) {
  const Loop* loop = as_loop(s);
  if (loop == nullptr || !loop->accumulators.empty() || !outer_folds(*loop).empty())
    return std::nullopt;
  return Iterations(p, s).run();
}

}  // namespace

std::set<std::string> outer_folds(const Loop& loop) {
  const std::set<std::string> declared = accumulators_declared(loop.body);
  std::set<std::string> outer;
  for_each(loop.body, [&](const Stmt& s) {
    const auto* fold = std::get_if<Fold>(&s.kind);
    if (fold == nullptr || declared.contains(fold->accumulator)) return;
    const bool own = std::ranges::any_of(
        loop.accumulators, [&](const Accumulator& a) { return a.name == fold->accumulator; });
    if (!own) outer.insert(fold->accumulator);
  });
  return outer;
}

bool holds_loop(const Body& body) {
  bool found = false;
  for_each(body, [&](const Stmt& s) { found = found || as_loop(s) != nullptr; });
  return found;
}

std::optional<std::set<std::string>> independent_iterations(const LoopProgram& p, const Stmt& s) {
  const ProgramReferences references(p);
  return Iterations(references, s).run();
}

std::string why_dependent(const LoopProgram& p, const Stmt& s) {
  const Loop& loop = *as_loop(s);
  std::set<std::string> folded = outer_folds(loop);
  for (const Accumulator& a : loop.accumulators) folded.insert(a.name);
  const std::string iterations = "iterations of " + loop.variable.name();
  if (!folded.empty())
    return fmt::format("{} fold into {}", iterations, fmt::join(folded, " and "));
  const ProgramReferences references(p);
  const std::string between = Iterations(references, s).dependence();
  return between.empty() ? "" : fmt::format("of the {} {}", iterations, between);
}

std::optional<SharedLoops> shared_loops(const LoopProgram& p, const Stmt& s) {
  const ProgramReferences references(p);
  const auto own = own_iterations(references, s);
  if (!own) return std::nullopt;
  SharedLoops found{{as_loop(s)}, *own};
  std::set<Symbol> variables = {found.loops.front()->variable};
  while (true) {
    const Loop& loop = *found.loops.back();
    if (loop.kind == LoopKind::simd || loop.body.size() != 1 || as_loop(loop.body[0]) == nullptr)
      return found;
    const Loop& next = *as_loop(loop.body[0]);
    const auto moves = [&](const Expr& e) {
      return e.has_load() ||
             std::ranges::any_of(variables, [&](Symbol v) { return e.mentions(v); });
    };
    if (moves(next.begin) || moves(next.end) || moves(next.step)) return found;
    const auto inner = own_iterations(references, loop.body[0]);
    if (!inner || !std::ranges::includes(*inner, found.own)) return found;
    found.own = *inner;
    variables.insert(next.variable);
    found.loops.push_back(&next);
  }
}

}  // namespace mote
