// SPDX-License-Identifier: Apache-2.0
// Intersects the conditions of statements.
#include "passes/common_conditions.h"

#include <algorithm>

#include "passes/conditions.h"

namespace mote {
namespace {

/// Returns the conditions that a statement stands under; nullopt for a Let, which has no effect.
std::optional<Conditions> conditions_of(const Stmt& s) {
  if (std::holds_alternative<Let>(s.kind)) return std::nullopt;
  if (const auto* branch = std::get_if<If>(&s.kind)) return branch->conditions;
  if (const auto* fold = std::get_if<Fold>(&s.kind))
    if (const auto* g = neutral_guard(*fold)) return g->conditions;
  return Conditions{};
}

}  // namespace

const value::Guard* neutral_guard(const Fold& f) {
  const auto* g = std::get_if<value::Guard>(&f.value->kind);
  if (!g || f.op == ReduceOp::argmax || f.op == ReduceOp::argmin) return nullptr;
  return same(g->otherwise, neutral(f.op, f.value->dtype)) ? g : nullptr;
}

Conditions common_conditions(const Body& body) {
  std::optional<Conditions> common;
  for (const Stmt& s : body) {
    const auto own = conditions_of(s);
    if (!own) continue;
    if (!common) {
      common = own;
    } else {
      std::erase_if(*common, [&](const Condition& c) { return !contains(*own, c); });
    }
  }
  Conditions result = common.value_or(Conditions{});
  std::stable_sort(result.begin(), result.end(), [](const Condition& a, const Condition& b) {
    return a.kind == Condition::Kind::nonneg && b.kind == Condition::Kind::zero;
  });
  return result;
}

Body without(Body body, const Condition& gone) {
  Body out;
  const auto is_gone = [&](const Condition& c) { return c == gone; };
  for (Stmt& s : body) {
    if (auto* branch = std::get_if<If>(&s.kind)) {
      std::erase_if(branch->conditions, is_gone);
      if (branch->conditions.empty()) {
        Body nested = std::move(branch->body);
        std::move(nested.begin(), nested.end(), std::back_inserter(out));
        continue;
      }
    } else if (auto* fold = std::get_if<Fold>(&s.kind)) {
      if (const auto* g = neutral_guard(*fold)) {
        Conditions kept = g->conditions;
        std::erase_if(kept, is_gone);
        fold->value = guard_value(std::move(kept), g->then, g->otherwise);
      }
    }
    out.push_back(std::move(s));
  }
  return out;
}

}  // namespace mote
