// SPDX-License-Identifier: Apache-2.0
#include "schedule/tiles/nest.h"

#include <algorithm>
#include <map>

#include "ir/dependence.h"
#include "mote/codegen/walk.h"
#include "passes/conditions.h"
#include "schedule/combine.h"

namespace mote {
namespace {

bool mentions_moving(const Expr& e, const std::set<Symbol>& fixed) {
  return std::ranges::any_of(
      e.symbols(), [&](Symbol s) { return s.kind() == SymbolKind::loop && !fixed.contains(s); });
}

bool add_range(const Loop& loop, const std::set<Symbol>& fixed, ReductionNest& nest) {
  const auto range = range_of(loop, nest.conditions, fixed);
  if (range) nest.loops.push_back(*range);
  return range.has_value();
}

/// Replaces names that a Let of the body binds.
Value substituted(const Value& v, const std::map<std::string, Value>& lets) {
  return rewrite(v, [&](const Value& node) {
    const auto* named = std::get_if<value::Named>(&node->kind);
    const auto found = named == nullptr ? lets.end() : lets.find(named->name);
    return found == lets.end() ? node : found->second;
  });
}

bool names_in_indices(const Value& v, const std::map<std::string, Value>& lets) {
  bool found = false;
  (void)rewrite_exprs(v, [&](const Expr& e) {
    for_each_load(e, [&](const Atom& a) { found = found || lets.contains(a.tensor); });
    return e;
  });
  return found;
}

/// Collects the folds of a body; false if it does anything else.
bool find_folds(const Body& body, std::vector<Fold>& folds) {
  std::map<std::string, Value> lets;
  for (const Stmt& s : body) {
    const auto* let = std::get_if<Let>(&s.kind);
    const auto* fold = std::get_if<Fold>(&s.kind);
    if (let == nullptr && fold == nullptr) return false;
    const Value& v = let != nullptr ? let->value : fold->value;
    if (names_in_indices(v, lets)) return false;
    if (let != nullptr)
      lets.emplace(let->name, substituted(v, lets));
    else if (combine_of(fold->op))
      folds.push_back({fold->accumulator, fold->op, substituted(v, lets), fold->position});
    else
      return false;
  }
  return !folds.empty();
}

}  // namespace

std::set<Symbol> blocks_of(const std::vector<const Loop*>& loops) {
  std::set<Symbol> blocks;
  for (const Loop* l : loops)
    if (l->step != Expr(1)) blocks.insert(l->variable);
  return blocks;
}

std::optional<Expr> greatest_extent(const LoopRange& range) {
  const Expr extent = range.end - range.begin;
  if (!mentions_loop(extent)) return extent;
  for (const Expr& e : arms(range.end, Atom::Kind::min))
    if (!mentions_loop(e - range.begin)) return e - range.begin;
  return std::nullopt;
}

std::optional<LoopRange> range_of(const Loop& loop, Conditions& conditions,
                                  const std::set<Symbol>& fixed) {
  if (loop.step != Expr(1)) return std::nullopt;
  const Expr v(loop.variable);
  std::optional<Expr> begin, end;
  for (const Expr& e : arms(loop.begin, Atom::Kind::max)) {
    if (e.has_load()) return std::nullopt;
    if (mentions_moving(e, fixed))
      conditions.push_back({Condition::Kind::nonneg, v - e});
    else
      begin = begin ? max(*begin, e) : e;
  }
  for (const Expr& e : arms(loop.end, Atom::Kind::min)) {
    if (e.has_load()) return std::nullopt;
    if (mentions_moving(e, fixed))
      conditions.push_back({Condition::Kind::nonneg, e - v - 1});
    else
      end = end ? min(*end, e) : e;
  }
  if (!begin || !end) return std::nullopt;
  return LoopRange{loop.variable, *begin, *end};
}

std::optional<ReductionNest> reduction_nest(const Loop& reduction, Facts facts,
                                            const std::set<Symbol>& fixed) {
  ReductionNest nest;
  if (reduction.accumulators.empty() || !add_range(reduction, fixed, nest)) return std::nullopt;
  const Body* body = &reduction.body;
  while (body->size() == 1 && nested_body(body->front()) != nullptr) {
    if (const Loop* loop = as_loop(body->front())) {
      if (!loop->accumulators.empty() || !add_range(*loop, fixed, nest)) return std::nullopt;
    } else {
      for (const Condition& c : std::get<If>(body->front().kind).conditions) {
        if (has_load(c)) return std::nullopt;
        nest.conditions.push_back(c);
      }
    }
    body = nested_body(body->front());
  }
  for (const LoopRange& l : nest.loops) {
    if (!facts.prove_nonneg(l.end - l.begin)) return std::nullopt;
    facts.set_range(l.variable, l.begin, l.end);
  }
  auto conditions = clean(nest.conditions, facts);
  if (!conditions || !find_folds(*body, nest.folds)) return std::nullopt;
  nest.conditions = *std::move(conditions);
  return nest;
}

Body under(Conditions conditions, Body body) {
  if (conditions.empty()) return body;
  Body out;
  out.push_back({If{std::move(conditions), std::move(body)}});
  return out;
}

Body in_loops(const std::vector<LoopRange>& ranges, Body body) {
  for (auto r = ranges.rbegin(); r != ranges.rend(); ++r) {
    Loop loop{r->variable, r->begin, r->end, 1, {}, std::move(body)};
    body = {};
    body.push_back({std::move(loop)});
  }
  return body;
}

Facts facts_in(const LoopProgram& p, const SharedLoops& chain) {
  Facts facts = base_facts(*p.source);
  for (const TensorDecl& t : p.tensors)
    for (const Expr& extent : t.shape) facts.assume_nonneg(extent);
  for (const Loop* l : chain.loops) facts.set_range(l->variable, l->begin, l->end);
  return facts;
}

}  // namespace mote
