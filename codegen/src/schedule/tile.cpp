// SPDX-License-Identifier: Apache-2.0
#include "schedule/tile.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <tuple>

#include "ir/dependence.h"
#include "ir/integer_range.h"
#include "passes/conditions.h"
#include "schedule/combine.h"
#include "schedule/iterations.h"
#include "schedule/paths.h"

namespace mote {
namespace {

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

}  // namespace

void add_demands(Conditions& all, const Conditions& more) {
  for (const Condition& c : more) {
    const auto value = c.e.constant();
    if (!value) {
      add_missing(all, {c});
    } else if (c.kind == Condition::Kind::zero ? *value != 0 : *value < 0) {
      throw CannotTile{"a tile takes more iterations than its loop has in any call"};
    }
  }
}

Symbol Tiler::fresh_variable(const LoopProgram& p, const std::string& hint,
                             std::set<std::string>& used) {
  std::string name = hint;
  for (int k = 2; fresh_name(p, name) != name || !used.insert(name).second; ++k)
    name = hint + std::to_string(k);
  return {SymbolKind::loop, name};
}

Tiler::Tiler(LoopProgram& p, const Body& body, std::vector<TileAxis> axes,
             const std::set<std::string>& own, std::set<std::string> used, std::size_t innermost)
    : p_(p), body_(body), axes_(std::move(axes)), innermost_(innermost), used_(std::move(used)) {
  for (const TileAxis& a : axes_) used_.insert(a.start.name());
  for (const std::string& name : own) {
    const TensorDecl t = *find_tensor(p_, name);
    if (!t.shape.empty()) throw CannotTile{fmt::format("each iteration has an array {}", name)};
    if (names_in_index(body_, name)) throw CannotTile{fmt::format("{} is an index", name)};
    array_for(name, t.dtype);
    std::erase_if(p_.tensors, [&](const TensorDecl& other) { return other.name == name; });
  }
}

std::string Tiler::arrays() const {
  std::string out;
  for (const auto& [name, array] : arrays_) {
    out += fmt::format("{}{}", out.empty() ? "" : ", ", array);
    for (const TileAxis& a : axes_) out += fmt::format("[{}]", a.amount);
    out += " for " + name;
  }
  return out;
}

std::vector<Expr> Tiler::position() const {
  std::vector<Expr> out;
  for (const TileAxis& a : axes_) out.push_back(Expr(a.variable) - a.first);
  return out;
}

std::vector<Expr> Tiler::amounts() const {
  std::vector<Expr> out;
  for (const TileAxis& a : axes_) out.emplace_back(a.amount);
  return out;
}

bool Tiler::mentions_axis(const Expr& e) const {
  return std::ranges::any_of(axes_, [&](const TileAxis& a) { return e.mentions(a.variable); });
}

const std::string& Tiler::array_for(const std::string& name, DType dtype, int integer_bits) {
  const auto found = arrays_.find(name);
  if (found != arrays_.end()) return found->second;
  const std::string array = symbol(name + "s").name();
  p_.tensors.push_back({array, TensorRole::temporary, dtype, amounts(),
                        std::vector<std::string>(axes_.size()), per(), TensorMemory::automatic,
                        integer_bits});
  return arrays_.emplace(name, array).first->second;
}

Body Tiler::distributed(const Body& body) {
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
    if (branch != nullptr)
      out.push_back({moved(*branch)});
    else
      move_loop(*as_loop(s), out);
  }
  close(group, out);
  return out;
}

/// Wraps statements without loops in loops over the tile.
void Tiler::close(Body& group, Body& out) {
  if (group.empty()) return;
  for (const Stmt& s : group) {
    const auto* let = std::get_if<Let>(&s.kind);
    if (let == nullptr || count_readers(group, let->name) == count_readers(body_, let->name))
      continue;
    if (names_in_index(body_, let->name)) throw CannotTile{let->name + " is an index"};
    array_for(let->name, let->value->dtype);
  }
  Body body;
  for (const Stmt& s : group) body.push_back(on_arrays(s));
  out.push_back(over_tile(std::move(body)));
  group.clear();
}

bool Tiler::stores_arrays_only(const Body& body) const {
  return std::ranges::all_of(accesses(body), [&](const Access& a) {
    return !a.write || std::ranges::any_of(
                           arrays_, [&](const auto& array) { return array.second == a.tensor; });
  });
}

Stmt Tiler::over_tile(Body body) {
  rewrite_values(body, [this](const Value& value) { return on_arrays(value); });
  const bool fills_arrays = stores_arrays_only(body);
  for (auto axis = axes_.rbegin(); axis != axes_.rend(); ++axis) {
    const TileAxis& a = *axis;
    const bool is_whole = a.is_whole && fills_arrays;
    const Symbol v = symbol(a.variable.name());
    substitute(body, {{a.variable, is_whole ? a.first + Expr(v) : Expr(v)}});
    Loop loop{v, Expr(a.start), min(Expr(a.start) + Expr(a.amount), a.end), 1, {}, std::move(body)};
    if (is_whole) std::tie(loop.begin, loop.end) = std::pair(Expr(0), Expr(a.amount));
    body = {};
    body.push_back({std::move(loop)});
  }
  return std::move(body.front());
}

Value Tiler::on_arrays(const Value& v) const {
  const auto* named = std::get_if<value::Named>(&v->kind);
  const auto* folded = std::get_if<value::Accumulated>(&v->kind);
  const auto* loaded = std::get_if<value::Load>(&v->kind);
  if (named == nullptr && folded == nullptr && loaded == nullptr) return v;
  const auto found = arrays_.find(named != nullptr    ? named->name
                                  : folded != nullptr ? folded->name
                                                      : loaded->tensor);
  return found == arrays_.end() ? v : load_value(found->second, position(), v->dtype);
}

Stmt Tiler::on_arrays(const Stmt& s) const {
  if (const auto* fold = std::get_if<Fold>(&s.kind)) {
    const auto array = arrays_.find(fold->accumulator);
    if (array == arrays_.end()) return s;
    return {StoreReduce{array->second, position(), *combine_of(fold->op), fold->value}};
  }
  if (const auto* reduced = std::get_if<StoreReduce>(&s.kind)) {
    const auto scalar = arrays_.find(reduced->tensor);
    if (scalar == arrays_.end()) return s;
    return {StoreReduce{scalar->second, position(), reduced->op, reduced->value}};
  }
  if (const auto* stored = std::get_if<Store>(&s.kind)) {
    const auto scalar = arrays_.find(stored->tensor);
    if (scalar == arrays_.end()) return s;
    return {Store{scalar->second, position(), stored->value}};
  }
  if (const auto* branch = std::get_if<If>(&s.kind)) {
    If copy{branch->conditions, {}};
    for (const Stmt& inner : branch->body) copy.body.push_back(on_arrays(inner));
    return {std::move(copy)};
  }
  const auto* let = std::get_if<Let>(&s.kind);
  if (let == nullptr || !arrays_.contains(let->name)) return s;
  return {Store{arrays_.at(let->name), position(), let->value}};
}

void Tiler::move_loop(const Loop& loop, Body& out) {
  for (const Expr* e : {&loop.begin, &loop.end, &loop.step})
    if (e->has_load() || mentions_axis(*e))
      throw CannotTile{fmt::format("the limits of {} move", loop.variable.name())};
  const std::set<std::string> in_32_bits = short_extrema(p_, loop.body);
  Body starts;
  for (const Accumulator& a : loop.accumulators) {
    if (!has_lanes(a))
      throw CannotTile{fmt::format("{} is no sum, product, max or min of numbers", a.name)};
    starts.push_back({Store{array_for(a.name, a.dtype, in_32_bits.contains(a.name) ? 32 : 64),
                            position(), constant(neutral(a.op, a.dtype), a.dtype)}});
  }
  if (!starts.empty()) out.push_back(over_tile(std::move(starts)));
  out.push_back({Loop{loop.variable, loop.begin, loop.end, loop.step, {}, distributed(loop.body)}});
}

/// Returns true if the branch is taken, or not taken, for the whole tile.
bool Tiler::is_still(const If& branch) const {
  return std::ranges::none_of(
      branch.conditions, [&](const Condition& c) { return has_load(c) || mentions_axis(c.e); });
}

/// Returns the branch with the tile inside. It must hold no accumulators, which would be neutral if
/// it is not taken.
If Tiler::moved(const If& branch) {
  if (!is_still(branch)) throw CannotTile{"a condition moves"};
  if (!accumulators_declared(branch.body).empty()) throw CannotTile{"a branch holds a reduction"};
  return {branch.conditions, distributed(branch.body)};
}

}  // namespace mote
