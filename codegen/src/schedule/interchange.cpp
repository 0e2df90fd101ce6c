// SPDX-License-Identifier: Apache-2.0
// Distributes a loop, expands its scalars to arrays of a tile, and interchanges loops. In: a loop
// with independent iterations, which may have scalars of their own; out: a loop over its tiles.
#include "schedule/interchange.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "ir/dependence.h"
#include "passes/conditions.h"
#include "schedule/combine.h"
#include "schedule/iterations.h"

namespace mote {
namespace {

/// An exception for a loop that cannot move; caught at the end of this file.
struct Impossible {};

int count_readers(const Body& body, const std::string& name) {
  int found = 0;
  for_each(body, [&](const Stmt& s) {
    if (nested_body(s) != nullptr) {
      for_each_expr(s, [&](const Expr& e) {
        for_each_load(e, [&](const Atom& a) { found += a.tensor == name ? 1 : 0; });
      });
    } else {
      found += names_read(s).contains(name) ? 1 : 0;
    }
  });
  return found;
}

bool names_in_index(const Body& body, const std::string& name) {
  bool found = false;
  for_each(body, [&](const Stmt& s) {
    for_each_expr(s, [&](const Expr& e) {
      for_each_load(e, [&](const Atom& a) { found = found || a.tensor == name; });
    });
  });
  return found;
}

class Inward {
 public:
  Inward(LoopProgram& p, const Loop& loop, std::int64_t tile)
      : p_(p), loop_(loop), tile_(tile), start_(symbol(loop.variable.name() + "_tile")) {}

  Stmt run() {
    if (loop_.step != Expr(1) || !loop_.accumulators.empty() || !outer_folds(loop_).empty())
      throw Impossible{};
    expand_scalars();
    Body body = distributed(loop_.body);
    return {Loop{start_, loop_.begin, loop_.end, Expr(tile_), {}, std::move(body)}};
  }

  std::string arrays() const {
    std::string out;
    for (const auto& [name, array] : arrays_)
      out += fmt::format("{}{}[{}] for {}", out.empty() ? "" : ", ", array, tile_, name);
    return out;
  }

 private:
  Symbol symbol(const std::string& hint) {
    std::string name = hint;
    for (int k = 2; fresh_name(p_, name) != name || !used_.insert(name).second; ++k)
      name = hint + std::to_string(k);
    return {SymbolKind::loop, name};
  }

  std::vector<Expr> place() const { return {Expr(loop_.variable) - Expr(start_)}; }

  const std::string& array_for(const std::string& name, DType dtype) {
    const auto found = arrays_.find(name);
    if (found != arrays_.end()) return found->second;
    const std::string array = symbol(name + "s").name();
    p_.tensors.push_back({array, TensorRole::temporary, dtype, {Expr(tile_)}, {""}, start_.name()});
    return arrays_.emplace(name, array).first->second;
  }

  /// Expands the scalars that are local to an iteration of the loop.
  void expand_scalars() {
    std::vector<TensorDecl> scalars;
    for (const TensorDecl& t : p_.tensors)
      if (t.scope == loop_.variable.name()) scalars.push_back(t);
    for (const TensorDecl& t : scalars) {
      if (!t.shape.empty() || names_in_index(loop_.body, t.name)) throw Impossible{};
      array_for(t.name, t.dtype);
      std::erase_if(p_.tensors, [&](const TensorDecl& other) { return other.name == t.name; });
    }
  }

  Body distributed(const Body& body) {
    Body out;
    Body group;
    for (const Stmt& s : body) {
      const Body* inner = nested_body(s);
      const auto* branch = std::get_if<If>(&s.kind);
      if (inner == nullptr || (branch != nullptr && !holds_loop(*inner) && !is_still(*branch))) {
        group.push_back(s);
        continue;
      }
      close(group, out);
      out.push_back(branch != nullptr ? Stmt{moved(*branch)} : Stmt{moved(*as_loop(s), out)});
    }
    close(group, out);
    return out;
  }

  /// Wraps statements without loops in a loop over the tile.
  void close(Body& group, Body& out) {
    if (group.empty()) return;
    for (const Stmt& s : group) {
      const auto* let = std::get_if<Let>(&s.kind);
      if (let == nullptr || count_readers(group, let->name) == count_readers(loop_.body, let->name))
        continue;
      if (names_in_index(loop_.body, let->name)) throw Impossible{};
      array_for(let->name, let->value->dtype);
    }
    Body body;
    for (const Stmt& s : group) body.push_back(on_arrays(s));
    out.push_back(over_tile(std::move(body)));
    group.clear();
  }

  Stmt over_tile(Body body) {
    const Symbol v = symbol(loop_.variable.name());
    rewrite_values(body, [this](const Value& value) { return on_arrays(value); });
    rewrite_exprs(body, [&](const Expr& e) { return e.substitute({{loop_.variable, Expr(v)}}); });
    return {Loop{
        v, Expr(start_), min(Expr(start_) + Expr(tile_), loop_.end), Expr(1), {}, std::move(body)}};
  }

  Value on_arrays(const Value& v) {
    const auto* bound = std::get_if<value::Bound>(&v->kind);
    const auto* folded = std::get_if<value::Accumulated>(&v->kind);
    const auto* loaded = std::get_if<value::Load>(&v->kind);
    if (bound == nullptr && folded == nullptr && loaded == nullptr) return v;
    const auto found = arrays_.find(bound != nullptr    ? bound->name
                                    : folded != nullptr ? folded->name
                                                        : loaded->tensor);
    return found == arrays_.end() ? v : load_value(found->second, place(), v->dtype);
  }

  Stmt on_arrays(const Stmt& s) {
    if (const auto* fold = std::get_if<Fold>(&s.kind))
      return {
          StoreReduce{arrays_.at(fold->accumulator), place(), *combine_of(fold->op), fold->value}};
    if (const auto* reduced = std::get_if<StoreReduce>(&s.kind)) {
      const auto scalar = arrays_.find(reduced->tensor);
      if (scalar == arrays_.end()) return s;
      return {StoreReduce{scalar->second, place(), reduced->op, reduced->value}};
    }
    if (const auto* stored = std::get_if<Store>(&s.kind)) {
      const auto scalar = arrays_.find(stored->tensor);
      if (scalar == arrays_.end()) return s;
      return {Store{scalar->second, place(), stored->value}};
    }
    if (const auto* branch = std::get_if<If>(&s.kind)) {
      If copy{branch->conditions, {}};
      for (const Stmt& inner : branch->body) copy.body.push_back(on_arrays(inner));
      return {std::move(copy)};
    }
    const auto* let = std::get_if<Let>(&s.kind);
    if (let == nullptr || !arrays_.contains(let->name)) return s;
    return {Store{arrays_.at(let->name), place(), let->value}};
  }

  /// Returns the loop with the tile inside; `before` gets the start of its accumulators.
  Loop moved(const Loop& loop, Body& before) {
    for (const Expr* e : {&loop.begin, &loop.end, &loop.step})
      if (e->has_load() || e->mentions(loop_.variable)) throw Impossible{};
    Body starts;
    for (const Accumulator& a : loop.accumulators) {
      if (!combine_of(a.op) || !is_real(a.dtype)) throw Impossible{};
      starts.push_back(
          {Store{array_for(a.name, a.dtype), place(), constant(neutral(a.op, a.dtype), a.dtype)}});
    }
    if (!starts.empty()) before.push_back(over_tile(std::move(starts)));
    return {loop.variable, loop.begin, loop.end, loop.step, {}, distributed(loop.body)};
  }

  /// Returns true if the branch is taken, or not taken, for the whole tile.
  bool is_still(const If& branch) const {
    return std::ranges::none_of(branch.conditions, [&](const Condition& c) {
      return has_load(c) || c.e.mentions(loop_.variable);
    });
  }

  /// Returns the branch with the tile inside. It must hold no accumulators, which would be neutral
  /// if it is not taken.
  If moved(const If& branch) {
    if (!is_still(branch)) throw Impossible{};
    if (!accumulators_declared(branch.body).empty()) throw Impossible{};
    return {branch.conditions, distributed(branch.body)};
  }

  LoopProgram& p_;
  const Loop loop_;
  const std::int64_t tile_;
  std::set<std::string> used_;
  const Symbol start_;
  std::map<std::string, std::string> arrays_;  ///< arrays of accumulators, names and scalars
};

}  // namespace

std::optional<Stmt> moved_inward(LoopProgram& p, const Stmt& loop, std::int64_t tile,
                                 std::string& step) {
  const auto own = independent_iterations(p, loop);
  const Loop& moving = *as_loop(loop);
  const auto lives_here = [&](const std::string& t) {
    return find_tensor(p, t)->scope == moving.variable.name();
  };
  if (!own || !std::ranges::all_of(*own, lives_here)) return std::nullopt;
  const std::vector<TensorDecl> before = p.tensors;
  try {
    Inward inward(p, moving, tile);
    Stmt moved = inward.run();
    step = fmt::format("move {} inward, by tiles of {}", moving.variable.name(), tile);
    if (!inward.arrays().empty()) step += ": " + inward.arrays();
    return moved;
  } catch (const Impossible&) {
    p.tensors = before;
    return std::nullopt;
  }
}

}  // namespace mote
