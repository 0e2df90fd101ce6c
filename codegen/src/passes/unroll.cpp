// SPDX-License-Identifier: Apache-2.0
// Replaces a loop of few iterations whose sums ask which iteration it is, g == 2 ? v : 0, by a copy
// of its body for each. In each copy the answers are known, and the sums of zeros are left out. The
// gradient of a tensor of which an op reads w[0], w[1], … by themselves (the gates of a cell) has
// such loops.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <set>
#include <utility>

#include "ir/dependence.h"
#include "mote/codegen/passes.h"
#include "passes/conditions.h"

namespace mote {
namespace {

constexpr std::int64_t kMaxIterations = 8;

/// Returns c if the conditions hold in iteration c of the variable alone.
std::optional<std::int64_t> only_iteration(const Conditions& conditions, Symbol variable) {
  for (const Condition& c : conditions) {
    if (c.kind != Condition::Kind::zero) continue;
    const auto linear = linear_in(c.e, variable);
    if (!linear) continue;
    const auto factor = linear->factor.constant(), rest = linear->rest.constant();
    if (factor && rest && (*factor == 1 || *factor == -1)) return *factor * -*rest;
  }
  return std::nullopt;
}

/// Returns true for 0, but not for -0.
bool is_zero(const Number& n) {
  return n.is_real() ? n.real() == 0 && !std::signbit(n.real()) : n.integer() == 0;
}

const value::Guard* guard_of_sum(const Fold& fold) {
  const auto* guard = std::get_if<value::Guard>(&fold.value->kind);
  return fold.op == ReduceOp::sum && guard && is_zero(guard->otherwise) ? guard : nullptr;
}

/// Returns true for a loop of few iterations, each fold in which is a sum of one iteration alone.
bool is_of_cases(const Loop& loop) {
  const auto iterations = most_iterations(loop);
  if (!iterations || *iterations > kMaxIterations || loop.begin != Expr(0) ||
      loop.step != Expr(1) || loop.end != Expr(*iterations) || !loop.accumulators.empty())
    return false;
  const std::set<std::string> own = accumulators_declared(loop.body);
  std::set<std::int64_t> cases;
  bool fits = true;
  for_each(loop.body, [&](const Stmt& s) {
    if (std::holds_alternative<Let>(s.kind) || std::holds_alternative<StoreReduce>(s.kind))
      fits = false;
    const auto* fold = std::get_if<Fold>(&s.kind);
    if (!fold || !fits) return;
    const auto* guard = guard_of_sum(*fold);
    const auto iteration = guard && own.count(fold->accumulator) > 0
                               ? only_iteration(guard->conditions, loop.variable)
                               : std::nullopt;
    fits = iteration.has_value();
    if (fits) cases.insert(*iteration);
  });
  return fits && cases.size() > 1;
}

/// Makes the copies of one loop's body.
class Cases {
 public:
  Cases(const Loop& loop, std::set<std::string>& used) : loop_(loop), used_(used) {}

  Body run() {
    Body all;
    for (std::int64_t k = 0; k < loop_.end.constant(); ++k) {
      Body body = loop_.body;
      left_out_.clear();
      note_left_out(body, k);
      if (k > 0) give_own_names(body);
      leave_out(body);
      substitute(body, {{loop_.variable, Expr(k)}});
      std::ranges::move(body, std::back_inserter(all));
    }
    return all;
  }

 private:
  /// Notes the sums that are 0 in iteration k.
  void note_left_out(const Body& body, std::int64_t k) {
    std::set<std::string> others;
    for_each(body, [&](const Stmt& s) {
      const auto* fold = std::get_if<Fold>(&s.kind);
      if (!fold) return;
      const bool is_left_out = only_iteration(guard_of_sum(*fold)->conditions, loop_.variable) != k;
      (is_left_out ? left_out_ : others).insert(fold->accumulator);
    });
    for (const std::string& name : others) left_out_.erase(name);
  }

  std::string fresh(const std::string& hint) {
    std::string name = hint;
    for (int k = 2; !used_.insert(name).second; ++k) name = hint + std::to_string(k);
    return name;
  }

  void give_own_names(Body& body) {
    std::map<Symbol, Expr> variables;
    std::map<std::string, std::string> accumulators;
    rename_loops(body, variables, accumulators);
    substitute(body, variables);
    rewrite_values(body, [&](const Value& v) {
      const auto* read = std::get_if<value::Accumulated>(&v->kind);
      const auto found = read ? accumulators.find(read->name) : accumulators.end();
      return found == accumulators.end() ? v : accumulated_value(found->second, v->dtype);
    });
    std::set<std::string> renamed;
    for (const std::string& name : left_out_) renamed.insert(accumulators.at(name));
    left_out_ = std::move(renamed);
  }

  void rename_loops(Body& body, std::map<Symbol, Expr>& variables,
                    std::map<std::string, std::string>& accumulators) {
    for (Stmt& s : body) {
      if (Loop* loop = as_loop(s)) {
        const Symbol own(SymbolKind::loop, fresh(loop->variable.name()));
        variables.emplace(std::exchange(loop->variable, own), Expr(own));
        for (Accumulator& a : loop->accumulators) {
          const std::string name = fresh(a.name);
          accumulators.emplace(std::exchange(a.name, name), name);
        }
      }
      if (Body* nested = nested_body(s)) rename_loops(*nested, variables, accumulators);
      if (auto* fold = std::get_if<Fold>(&s.kind))
        fold->accumulator = accumulators.at(fold->accumulator);
    }
  }

  /// Removes the sums that are 0, and the loops that compute nothing else.
  void leave_out(Body& body) {
    remove_folds(body);
    rewrite_values(body, [&](const Value& v) {
      const auto* read = std::get_if<value::Accumulated>(&v->kind);
      if (read && left_out_.count(read->name))
        return constant(neutral(ReduceOp::sum, v->dtype), v->dtype);
      return without_zero(v);
    });
  }

  void remove_folds(Body& body) {
    for (Stmt& s : body) {
      if (Loop* loop = as_loop(s))
        std::erase_if(loop->accumulators,
                      [&](const Accumulator& a) { return left_out_.count(a.name) > 0; });
      if (Body* nested = nested_body(s)) remove_folds(*nested);
    }
    std::erase_if(body, [&](const Stmt& s) {
      const auto* fold = std::get_if<Fold>(&s.kind);
      const Loop* loop = as_loop(s);
      return fold ? left_out_.count(fold->accumulator) > 0
                  : loop && loop->body.empty() && loop->accumulators.empty();
    });
  }

  static bool is_zero_constant(const Value& v) {
    const auto* c = std::get_if<value::Constant>(&v->kind);
    return c && is_zero(c->number);
  }

  /// Returns true for a sum, and a sum of sums: they begin with +0, and +0 + -0 is +0.
  static bool is_never_minus_zero(const Value& v) {
    if (std::holds_alternative<value::Accumulated>(v->kind) || is_zero_constant(v)) return true;
    const auto* op = std::get_if<value::Op>(&v->kind);
    return op && op->op == MapOp::add && std::ranges::any_of(op->args, is_never_minus_zero);
  }

  /// Returns v for v + 0 where that is exact: -0 + 0 is 0.
  static Value without_zero(const Value& v) {
    const auto* op = std::get_if<value::Op>(&v->kind);
    if (!op || op->op != MapOp::add || v->dtype != op->arg_dtype) return v;
    for (const std::size_t k : {0U, 1U}) {
      const Value& other = op->args[1 - k];
      if (is_zero_constant(op->args[k]) && is_never_minus_zero(other) && other->dtype == v->dtype)
        return other;
    }
    return v;
  }

  const Loop& loop_;
  std::set<std::string>& used_;
  std::set<std::string> left_out_;  ///< the accumulators whose sums are 0 in the present copy
};

/// Returns the copies of the loop's body, with their equal loops merged: those of the whole program
/// were merged before, and the copies are to share loops with nothing else.
Body merged_cases(const LoopProgram& p, const Loop& loop, std::set<std::string>& used) {
  LoopProgram cases = p;
  cases.body = Cases(loop, used).run();
  return fuse(std::move(cases)).body;
}

Body unrolled(const LoopProgram& p, Body body, std::set<std::string>& used) {
  Body result;
  for (Stmt& s : body) {
    const Loop* loop = as_loop(s);
    if (loop && is_of_cases(*loop)) {
      std::ranges::move(merged_cases(p, *loop, used), std::back_inserter(result));
      continue;
    }
    if (Body* nested = nested_body(s)) *nested = unrolled(p, std::move(*nested), used);
    result.push_back(std::move(s));
  }
  return result;
}

}  // namespace

LoopProgram unroll(LoopProgram p) {
  std::set<std::string> used = names_used(p);
  Body body = std::move(p.body);
  p.body.clear();
  p.body = unrolled(p, std::move(body), used);
  return simplify(std::move(p));
}

}  // namespace mote
