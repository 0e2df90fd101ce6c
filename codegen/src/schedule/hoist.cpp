// SPDX-License-Identifier: Apache-2.0
#include "schedule/hoist.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "ir/dependence.h"
#include "mote/codegen/walk.h"
#include "passes/conditions.h"
#include "schedule/tile.h"

namespace mote {
namespace {

/// The most conditions of a guard: each adds a loop.
constexpr std::size_t kMaxConditions = 2;

bool reads(const Value& v, const std::string& tensor) {
  bool found = false;
  for_each_value(v, [&](const Value& inner) {
    const auto* load = std::get_if<value::Load>(&inner->kind);
    found = found || (load != nullptr && load->tensor == tensor);
  });
  return found;
}

class Hoist {
 public:
  explicit Hoist(const LoopProgram& p) : p_(p) {}

  Body run(const Body& body) {
    Body out;
    for (const Stmt& s : body) {
      const Loop* loop = as_loop(s);
      const value::Guard* guard = loop == nullptr ? nullptr : still_guard(*loop);
      if (guard != nullptr) {
        add_branches(*loop, *guard, out);
        continue;
      }
      out.push_back(s);
      if (Body* inner = nested_body(out.back())) *inner = run(Body(*inner));
    }
    return out;
  }

  std::vector<std::string> steps;

 private:
  /// Returns the guard of a loop that only stores a guarded value, if its conditions depend on data
  /// that the loop neither changes nor selects.
  const value::Guard* still_guard(const Loop& loop) const {
    const auto* store = loop.body.size() == 1 && loop.accumulators.empty()
                            ? std::get_if<Store>(&loop.body.front().kind)
                            : nullptr;
    const auto* guard = store == nullptr ? nullptr : std::get_if<value::Guard>(&store->value->kind);
    if (guard == nullptr || guard->conditions.size() > kMaxConditions ||
        std::ranges::none_of(guard->conditions, has_load))
      return nullptr;
    const bool is_still = std::ranges::all_of(guard->conditions, [&](const Condition& c) {
      bool still = c.kind == Condition::Kind::nonneg && !c.e.mentions(loop.variable);
      for_each_load(c.e, [&](const Atom& a) { still = still && a.tensor != store->tensor; });
      return still;
    });
    const bool is_temporary = find_tensor(p_, store->tensor)->role == TensorRole::temporary;
    return is_still && !(is_temporary && reads(guard->then, store->tensor)) ? guard : nullptr;
  }

  /// Adds the loop under all conditions; and for each condition, that loop where it is the first
  /// that does not hold. Elements of a temporary are first all given the other value: an iteration
  /// that reads them has stored them then, whatever holds.
  void add_branches(const Loop& loop, const value::Guard& guard, Body& out) {
    steps.push_back(
        fmt::format("ask {} before {}", to_string(guard.conditions), loop.variable.name()));
    const Value otherwise = constant(guard.otherwise, guard.then->dtype);
    const std::string& tensor = std::get<Store>(loop.body.front().kind).tensor;
    if (find_tensor(p_, tensor)->role == TensorRole::temporary) {
      out.push_back({with(loop, otherwise)});
      add(loop, guard.conditions, guard.then, out);
      return;
    }
    add(loop, guard.conditions, guard.then, out);
    Conditions before;
    for (const Condition& c : guard.conditions) {
      Conditions here = before;
      here.push_back({Condition::Kind::nonneg, -1 - c.e / 2});  // -e would overflow for the least e
      add(loop, std::move(here), otherwise, out);
      before.push_back(c);
    }
  }

  void add(const Loop& loop, Conditions conditions, Value value, Body& out) {
    Body inner;
    inner.push_back({with(loop, std::move(value))});
    out.push_back({If{std::move(conditions), std::move(inner)}});
  }

  /// Returns the loop with a variable of its own, storing the value.
  Loop with(Loop loop, Value value) {
    std::get<Store>(loop.body.front().kind).value = std::move(value);
    const Symbol v = Tiler::fresh_variable(p_, loop.variable.name(), used_);
    substitute(loop.body, {{loop.variable, Expr(v)}});
    loop.variable = v;
    return loop;
  }

  const LoopProgram& p_;
  std::set<std::string> used_;
};

}  // namespace

std::vector<std::string> hoist_conditions(LoopProgram& p) {
  Hoist hoist(p);
  p.body = hoist.run(Body(p.body));
  return std::move(hoist.steps);
}

}  // namespace mote
