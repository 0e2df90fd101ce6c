// SPDX-License-Identifier: Apache-2.0
// In: the loops of a stage; out: the tile that they form. The form is found from the loops that
// each operand depends on, never from an op's name, so the same form covers a matmul, a convolution
// and their gradients. A limit of the reduction that depends on an output's axis becomes a
// condition: a tile's iterations are the same for all of its elements.
#include "tiles.h"

#include <algorithm>
#include <set>
#include <utility>

#include "c/writer.h"
#include "ir/dependence.h"

namespace mote::cuda {
namespace {

using Symbols = std::set<Symbol>;

bool mentions(const Expr& e, const Symbols& any) {
  return std::ranges::any_of(any, [&](Symbol s) { return e.mentions(s); });
}

/// Returns the loop variables of the value's indices and conditions; nullopt if it reads a value
/// computed in the iteration, `of_iteration`, or elements by indices that are data.
std::optional<Symbols> moves_with(const Value& value, const std::set<std::string>& of_iteration) {
  Symbols found;
  bool known = true;
  const auto add = [&](const Expr& e) {
    known = known && !e.has_load();
    for (const Symbol s : e.symbols())
      if (s.kind() == SymbolKind::loop) found.insert(s);
  };
  for_each_value(value, [&](const Value& v) {
    if (const auto* load = std::get_if<value::Load>(&v->kind)) {
      known = known && !of_iteration.contains(load->tensor);
      std::ranges::for_each(load->index, add);
    }
    if (const auto* index = std::get_if<value::Index>(&v->kind)) add(index->e);
    if (const auto* guard = std::get_if<value::Guard>(&v->kind))
      for (const Condition& c : guard->conditions) add(c.e);
    if (const auto* bound = std::get_if<value::Named>(&v->kind))
      known = known && !of_iteration.contains(bound->name);
    known = known && !std::holds_alternative<value::Accumulated>(v->kind);
  });
  return known ? std::optional(found) : std::nullopt;
}

/// Returns an expression that is >= 0 exactly if e is, without a quotient of e: a / d + r >= 0 is a
/// + r·d >= 0.
Expr without_quotient(const Expr& e) {
  for (const Term& t : e.terms()) {
    if (t.atoms.size() != 1 || t.atoms[0].kind != Atom::Kind::div) continue;
    const Expr& a = t.atoms[0].args[0];
    const Expr& d = t.atoms[0].args[1];
    const Expr quotient = Expr::from_atom(t.atoms[0]);
    if (t.coefficient == 1) return a + (e - quotient) * d;
    if (t.coefficient == -1) return (e + quotient + 1) * d - a - 1;
  }
  return e;
}

class Finder {
 public:
  Finder(const LoopProgram& p, const Body& stage, bool tf32) : p_(p), stage_(stage), tf32_(tf32) {}

  std::optional<TileForm> run() {
    const bool found = find_iteration() && find_sum() && is_rest_plain() && find_operands() &&
                       part_axes() && find_depth() && part_conditions();
    return found ? std::optional(std::move(form_)) : std::nullopt;
  }

 private:
  /// Finds the stage's loops, in the branches that hold nothing else: an output may be left out.
  bool find_iteration() {
    if (stage_.empty()) return false;
    const Stmt* s = &stage_.back();
    while (const auto* branch = std::get_if<If>(&s->kind)) {
      if (branch->body.size() != 1) return false;
      s = &branch->body.front();
    }
    const Loop* first = as_loop(*s);
    if (first == nullptr || first->kind != LoopKind::threads) return false;
    chain_ = threads_chain(*first);
    form_.innermost = chain_.back();
    const auto is_name = [](const Stmt& s) { return std::holds_alternative<Let>(s.kind); };
    return std::all_of(stage_.begin(), stage_.end() - 1, is_name);
  }

  bool find_sum() {
    for (const Stmt& s : form_.innermost->body) {
      if (as_loop(s) == nullptr) continue;
      if (form_.sum != nullptr) return false;
      form_.sum = &s;
    }
    if (form_.sum == nullptr) return false;
    const auto& declared = as_loop(*form_.sum)->accumulators;
    if (declared.size() != 1 || declared[0].op != ReduceOp::sum) return false;
    form_.accumulator = declared.data();
    return true;
  }

  /// Returns true if an element's other statements have no loops and no memory of a thread's own.
  bool is_rest_plain() {
    bool plain = true;
    for (const Stmt& s : form_.innermost->body) {
      if (&s == form_.sum) continue;
      for_each({s}, [&](const Stmt& inner) {
        plain =
            plain && as_loop(inner) == nullptr && !std::holds_alternative<StoreReduce>(inner.kind);
        if (const auto* let = std::get_if<Let>(&inner.kind)) of_iteration_.insert(let->name);
      });
    }
    for (const Access& a : accesses(form_.innermost->body)) {
      const TensorDecl* t = find_tensor(p_, a.tensor);
      plain = plain && (t == nullptr || !t->per);
      if (a.write) of_iteration_.insert(a.tensor);
    }
    return plain;
  }

  /// Goes down to the fold, through loops and branches that hold nothing else.
  bool find_operands() {
    const Stmt* s = form_.sum;
    while (!std::holds_alternative<Fold>(s->kind)) {
      const Loop* loop = as_loop(*s);
      const auto* branch = std::get_if<If>(&s->kind);
      if (loop != nullptr && (loop->step != Expr(1) || loop->kind == LoopKind::simd)) return false;
      if (loop != nullptr && s != form_.sum && !loop->accumulators.empty()) return false;
      if (loop != nullptr) depth_.push_back(loop);
      if (branch != nullptr)
        where_.insert(where_.end(), branch->conditions.begin(), branch->conditions.end());
      const Body* body = nested_body(*s);
      if (body == nullptr || body->size() != 1) return false;
      s = &body->front();
    }
    Value v = std::get<Fold>(s->kind).value;
    const auto* guard = std::get_if<value::Guard>(&v->kind);
    if (guard != nullptr && same(guard->otherwise, neutral(ReduceOp::sum, v->dtype))) {
      where_.insert(where_.end(), guard->conditions.begin(), guard->conditions.end());
      v = guard->then;
    }
    const auto* op = std::get_if<value::Op>(&v->kind);
    if (op == nullptr || op->op != MapOp::mul) return false;
    form_.left = op->args[0];
    form_.right = op->args[1];
    const auto kept = [&](DType dtype) { return emit::local_type(dtype, p_.native); };
    const std::string type = kept(form_.accumulator->dtype);
    const auto fragments = fragments_of(form_.left);
    if (p_.native && fragments == fragments_of(form_.right)) form_.fragments = fragments;
    return type != "bool" && kept(form_.left->dtype) == type && kept(form_.right->dtype) == type;
  }

  /// Returns the dtype of a value that is an element of a tensor in memory, if tensor cores take
  /// it.
  std::optional<DType> fragments_of(const Value& v) const {
    const auto* load = std::get_if<value::Load>(&v->kind);
    const TensorDecl* t = load == nullptr ? nullptr : find_tensor(p_, load->tensor);
    if (t == nullptr || t->role == TensorRole::temporary) return std::nullopt;
    const bool is_taken = is_narrow(t->dtype) || (tf32_ && t->dtype == DType::f32);
    return is_taken ? std::optional(t->dtype) : std::nullopt;
  }

  /// Assigns an axis that only one operand depends on to that operand, and the others to the batch.
  /// The innermost axis that is not shared becomes a column.
  bool part_axes() {
    auto left = moves_with(form_.left, of_iteration_);
    auto right = moves_with(form_.right, of_iteration_);
    if (!left || !right) return false;
    for (std::size_t k = chain_.size(); k-- > 0;) {
      const Symbol v = chain_[k]->variable;
      if (left->contains(v) == right->contains(v)) continue;
      if (left->contains(v)) {
        std::swap(left, right);
        std::swap(form_.left, form_.right);
      }
      break;
    }
    for (const Loop* loop : chain_) {
      if (loop->begin.has_load() || loop->end.has_load() || loop->step.has_load()) return false;
      const bool in_left = left->contains(loop->variable);
      const bool in_right = right->contains(loop->variable);
      auto& axes = in_left == in_right ? form_.batch : in_left ? form_.rows : form_.columns;
      axes.push_back({loop->variable, loop->begin, loop->end, loop->step});
    }
    for (const LoopDigit& a : form_.rows) row_.insert(a.variable);
    for (const LoopDigit& a : form_.columns) column_.insert(a.variable);
    return !row_.empty() && !column_.empty();
  }

  /// Finds the limits of the reduction, the same for all elements of a tile.
  bool find_depth() {
    Symbols moving = row_;
    moving.insert(column_.begin(), column_.end());
    for (const Loop* loop : depth_) moving.insert(loop->variable);
    for (const Loop* loop : depth_) {
      const Expr v = loop->variable;
      const auto begin = fixed_limit(loop->begin, Atom::Kind::max, moving, [&](const Expr& e) {
        where_.push_back({Condition::Kind::nonneg, without_quotient(v - e)});
      });
      const auto end = fixed_limit(loop->end, Atom::Kind::min, moving, [&](const Expr& e) {
        where_.push_back({Condition::Kind::nonneg, without_quotient(e - 1 - v)});
      });
      if (!begin || !end) return false;
      form_.reduced.push_back({loop->variable, *begin, *end, loop->step});
    }
    return true;
  }

  bool part_conditions() {
    for (const Condition& c : where_) {
      const bool of_column = mentions(c.e, column_);
      if (c.e.has_load() || (of_column && mentions(c.e, row_))) return false;
      (of_column ? form_.right_where : form_.left_where).push_back(c);
    }
    return true;
  }

  const LoopProgram& p_;
  const Body& stage_;
  bool tf32_;
  TileForm form_{};
  std::vector<const Loop*> chain_;
  std::vector<const Loop*> depth_;
  Conditions where_;
  std::set<std::string> of_iteration_;  ///< names bound and tensors written in the iteration
  Symbols row_, column_;
};

}  // namespace

std::optional<TileForm> tile_form(const LoopProgram& p, const Body& stage, bool tf32) {
  return Finder(p, stage, tf32).run();
}

std::optional<Expr> fixed_limit(const Expr& limit, Atom::Kind kind, const std::set<Symbol>& moving,
                                const std::function<void(const Expr&)>& drop) {
  if (limit.has_load()) return std::nullopt;
  if (!mentions(limit, moving)) return limit;
  const Atom* atom = limit.as_atom();
  if (atom == nullptr || atom->kind != kind) return std::nullopt;
  std::optional<Expr> left;
  for (const Expr& e : atom->args) {
    if (mentions(e, moving))
      drop(e);
    else
      left = !left ? e : kind == Atom::Kind::max ? max(*left, e) : min(*left, e);
  }
  return left;
}

Expr extent(const std::vector<LoopDigit>& axes) {
  Expr all = 1;
  for (const LoopDigit& a : axes) all = all * count_of(a);
  return all;
}

}  // namespace mote::cuda
