// SPDX-License-Identifier: Apache-2.0
// Simplifies expressions and conditions under the facts of the enclosing loops, conditions and
// guards: proved conditions are removed, refuted branches too, neighbouring branches on the same
// conditions become one, and a loop of one iteration without accumulators becomes its body. Arrays
// that were local to its iterations are local to those of the loop around it.
#include <algorithm>
#include <optional>
#include <utility>

#include "ir/dependence.h"
#include "mote/codegen/passes.h"
#include "passes/conditions.h"

namespace mote {
namespace {

Value simplified(const Value& v, const Facts& facts);

std::vector<Expr> simplified(const std::vector<Expr>& index, const Facts& facts) {
  std::vector<Expr> r;
  r.reserve(index.size());
  for (const Expr& e : index) r.push_back(facts.simplify(e));
  return r;
}

Value simplified_guard(const value::Guard& g, DType dtype, const Facts& facts) {
  const auto kept = clean(g.conditions, facts);
  if (!kept) return constant(g.otherwise, dtype);
  const Value then = simplified(g.then, kept->empty() ? facts : assuming(facts, *kept));
  return guarded(*kept, then, g.otherwise, facts);
}

Value simplified(const Value& v, const Facts& facts) {
  if (const auto* i = std::get_if<value::Index>(&v->kind)) {
    const Expr e = facts.simplify(i->e);
    return e == i->e ? v : index_value(e, v->dtype);
  }
  if (const auto* l = std::get_if<value::Load>(&v->kind)) {
    std::vector<Expr> index = simplified(l->index, facts);
    return index == l->index ? v : load_value(l->tensor, std::move(index), v->dtype);
  }
  if (const auto* g = std::get_if<value::Guard>(&v->kind))
    return simplified_guard(*g, v->dtype, facts);
  const auto* op = std::get_if<value::Op>(&v->kind);
  if (!op) return v;
  std::vector<Value> args;
  args.reserve(op->args.size());
  for (const Value& a : op->args) args.push_back(simplified(a, facts));
  return mapped(v, std::move(args));
}

void append(Body& out, Body more) { std::move(more.begin(), more.end(), std::back_inserter(out)); }

/// Appends a branch, or adds it to one before it on the same conditions, which that cannot change.
void append_branch(Body& out, If branch) {
  If* last = out.empty() ? nullptr : std::get_if<If>(&out.back().kind);
  const bool loads = std::any_of(branch.conditions.begin(), branch.conditions.end(), has_load);
  if (last && last->conditions == branch.conditions && !loads) {
    append(last->body, std::move(branch.body));
  } else {
    out.push_back({std::move(branch)});
  }
}

void simplify_values(Stmt& s, const Facts& facts) {
  if (auto* x = std::get_if<Store>(&s.kind)) {
    x->index = simplified(x->index, facts);
    x->value = simplified(x->value, facts);
  } else if (auto* r = std::get_if<StoreReduce>(&s.kind)) {
    r->index = simplified(r->index, facts);
    r->value = simplified(r->value, facts);
  } else if (auto* f = std::get_if<Fold>(&s.kind)) {
    f->value = simplified(f->value, facts);
    f->position = facts.simplify(f->position);
  } else if (auto* let = std::get_if<Let>(&s.kind)) {
    let->value = simplified(let->value, facts);
  }
}

class Simplifier {
 public:
  explicit Simplifier(std::vector<TensorDecl>& tensors) : tensors_(tensors) {}

  Body simplified(Body body, const Facts& facts) {
    Body out;
    for (Stmt& s : body) {
      if (auto* loop = std::get_if<Loop>(&s.kind)) {
        simplify_loop(std::move(*loop), facts, out);
        continue;
      }
      if (auto* branch = std::get_if<If>(&s.kind)) {
        simplify_branch(std::move(*branch), facts, out);
        continue;
      }
      simplify_values(s, facts);
      out.push_back(std::move(s));
    }
    return out;
  }

 private:
  void simplify_loop(Loop loop, const Facts& facts, Body& out) {
    loop.begin = facts.simplify(loop.begin);
    loop.end = facts.simplify(loop.end);
    loop.step = facts.simplify(loop.step);
    if (runs_once(loop) && give_arrays_to_loop_around(loop.variable)) {
      substitute(loop.body, {{loop.variable, loop.begin}});
      append(out, simplified(std::move(loop.body), facts));
      return;
    }
    Facts inner = facts;
    inner.set_range(loop.variable, loop.begin, loop.end);
    const std::optional<Symbol> around = std::exchange(around_, loop.variable);
    loop.body = simplified(std::move(loop.body), inner);
    around_ = around;
    if (!loop.body.empty() || !loop.accumulators.empty()) out.push_back({std::move(loop)});
  }

  void simplify_branch(If branch, const Facts& facts, Body& out) {
    const auto kept = clean(branch.conditions, facts);
    if (!kept) {
      // The accumulators of loops in here are read outside as neutral: those loops stay, empty.
      if (accumulators_declared(branch.body).empty()) return;
      out.push_back({If{branch.conditions, std::move(branch.body)}});
      return;
    }
    if (kept->empty()) {
      append(out, simplified(std::move(branch.body), facts));
      return;
    }
    Body body = simplified(std::move(branch.body), assuming(facts, *kept));
    if (!body.empty()) append_branch(out, If{*kept, std::move(body)});
  }

  /// Returns false if there are arrays that are local to the iterations of the variable's loop, and
  /// no loop around it.
  bool give_arrays_to_loop_around(const Symbol variable) {
    for (TensorDecl& t : tensors_) {
      if (t.per != variable) continue;
      if (!around_) return false;
      t.per = around_;
    }
    return true;
  }

  std::vector<TensorDecl>& tensors_;
  std::optional<Symbol> around_;  ///< the variable of the innermost loop around a body
};

/// Replaces reads of a temporary whose stores all stood on branches that are never taken: no read
/// of it ever runs, even if its guard is not refuted, so any value will do.
void drop_reads_without_store(LoopProgram& p) {
  const std::set<std::string> written = tensors_written(p.body);
  std::set<std::string> never;
  for (const TensorDecl& t : p.tensors)
    if (t.role == TensorRole::temporary && !written.count(t.name)) never.insert(t.name);
  if (never.empty()) return;
  rewrite_values(p.body, [&](const Value& v) {
    const auto* l = std::get_if<value::Load>(&v->kind);
    if (!l || !never.count(l->tensor)) return v;
    return constant(neutral(ReduceOp::sum, v->dtype), v->dtype);
  });
  rewrite_exprs(p.body, [&](const Expr& e) {
    if (!e.has_load()) return e;
    return e.transform([&](const Atom& a) {
      return a.kind == Atom::Kind::load && never.count(a.tensor) > 0 ? Expr(0) : rebuild(a);
    });
  });
}

}  // namespace

LoopProgram simplify(LoopProgram p) {
  p.body = Simplifier(p.tensors).simplified(std::move(p.body), base_facts(*p.source));
  drop_reads_without_store(p);
  return p;
}

}  // namespace mote
