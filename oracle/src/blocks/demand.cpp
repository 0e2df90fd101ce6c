// SPDX-License-Identifier: Apache-2.0
// Visits readers before their operands: it finds the conditions under which each reader reads its
// operands, and keeps the conditions that all readers have in common.
#include "demand.h"

#include <algorithm>
#include <optional>

#include "masked.h"

namespace mote::blocks {
namespace {

/// The expression in the loops that `names` gives; nullopt if a loop of the first `rank` has no new
/// name.
std::optional<Expr> renamed(const Expr& e, const std::map<Symbol, Expr>& names, int rank) {
  for (int k = 0; k < rank; ++k)
    if (e.symbols().contains(loop_symbol(k)) && !names.contains(loop_symbol(k))) return {};
  return e.substitute(names);
}

template <typename Conditions>
Conditions renamed(const Conditions& all, const std::map<Symbol, Expr>& names, int rank) {
  Conditions result;
  for (const auto& [op, a, b] : all) {
    const std::optional<Expr> left = renamed(a, names, rank), right = renamed(b, names, rank);
    if (left && right) result.emplace_back(op, *left, *right);
  }
  return result;
}

/// Maps the reader's loops to those of its operand, for axes that it reads whole.
std::map<Symbol, Expr> loops_read(const uop::Reindex& r) {
  std::map<Symbol, Expr> names;
  for (std::size_t k = 0; k < r.from.size(); ++k)
    if (const std::optional<Symbol> loop = r.from[k].as_symbol())
      names.emplace(*loop, Expr::loop(static_cast<int>(k)));
  return names;
}

/// Maps the loops of a reduction's result to those of its terms.
std::map<Symbol, Expr> loops_of_terms(const uop::Reduce& r) {
  std::map<Symbol, Expr> names;
  int location = 0;
  for (int k = 0; k < r.x.rank(); ++k)
    if (std::ranges::find(r.axes, k) == r.axes.end())
      names.emplace(loop_symbol(location++), Expr::loop(k));
  return names;
}

}  // namespace

Demand::Demand(const std::vector<Uop>& outputs) {
  for (const Uop& u : outputs) add(u, {});
  const std::vector<Uop> order = topological(outputs);
  for (std::size_t k = order.size(); k-- > 0;)
    read_by(order[k], Conditions(seen_.at(order[k].id())));
}

void Demand::add(const Uop& x, const Conditions& given) {
  const Conditions when = x.rank() == 0 ? Conditions() : given;
  const auto [at, is_first] = seen_.try_emplace(x.id(), when);
  if (is_first) return;
  std::erase_if(at->second,
                [&](const Condition& c) { return std::ranges::find(when, c) == when.end(); });
}

void Demand::read_by(const Uop& reader, const Conditions& when) {
  if (const auto* m = as<uop::Map>(reader)) {
    for (std::size_t k = 0; k < m->args.size(); ++k) {
      Conditions own = when;
      if (m->op == MapOp::where && k == 1) join(own, choosing(m->args[0]));
      add(m->args[k], own);
    }
  } else if (const auto* r = as<uop::Reindex>(reader)) {
    add(r->x, renamed(when, loops_read(*r), reader.rank()));
  } else if (const auto* d = as<uop::Reduce>(reader)) {
    add(d->x, renamed(when, loops_of_terms(*d), reader.rank()));
  } else if (const auto* s = as<uop::StopGradient>(reader)) {
    add(s->x, when);
  } else {
    for (const Uop& x : operands(reader)) add(x, {});
  }
}

void Demand::join(Conditions& all, const Conditions& more) {
  for (const Condition& c : more)
    if (std::ranges::find(all, c) == all.end()) all.push_back(c);
}

Demand::Conditions Demand::choosing(const Uop& condition) {
  Conditions all;
  for (const Uop& u : position_conditions(condition)) {
    const auto& m = *as<uop::Map>(u);
    all.emplace_back(m.op, position_of(m.args[0]), position_of(m.args[1]));
    made_.try_emplace({u.shape(), all.back()}, u);
  }
  return all;
}

std::vector<Uop> Demand::nodes_of(const Conditions& all, const Uop& of) {
  std::vector<Uop> nodes;
  for (const Condition& c : all) {
    const auto [at, is_new] = made_.try_emplace({of.shape(), c});
    const auto& [op, a, b] = c;
    if (is_new)
      at->second = map(op, std::vector<Uop>{iota(a, shape_of(of)), iota(b, shape_of(of))});
    nodes.push_back(at->second);
  }
  return nodes;
}

std::vector<Uop> Demand::conditions(const Uop& u) {
  const auto at = seen_.find(u.id());
  return at == seen_.end() ? std::vector<Uop>() : nodes_of(at->second, u);
}

std::vector<Uop> Demand::conditions_of_terms(const Uop& u, const uop::Reduce& r) {
  const auto at = seen_.find(u.id());
  if (at == seen_.end()) return {};
  return nodes_of(renamed(at->second, loops_of_terms(r), u.rank()), r.x);
}

}  // namespace mote::blocks
