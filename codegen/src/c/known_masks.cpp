// SPDX-License-Identifier: Apache-2.0
#include "c/known_masks.h"

#include <algorithm>
#include <set>

#include "ir/dependence.h"
#include "mote/codegen/walk.h"
#include "passes/conditions.h"

namespace mote::emit {
namespace {

/// Returns true if the expression has no other symbols than these.
bool is_made_of(const Expr& e, const std::set<Symbol>& known) {
  return !e.has_load() &&
         std::ranges::all_of(e.symbols(), [&](Symbol s) { return known.contains(s); });
}

void add_if_known(const Loop& loop, std::set<Symbol>& known) {
  if (is_made_of(loop.begin, known) && is_made_of(loop.end, known) && is_made_of(loop.step, known))
    known.insert(loop.variable);
}

}  // namespace

bool has_known_mask(const LoopProgram& p, const Loop& loop, const Body& body) {
  std::set<Symbol> known;
  for_each(p.body, [&](const Stmt& s) {
    if (const Loop* l = as_loop(s)) add_if_known(*l, known);
  });
  add_if_known(loop, known);
  if (!known.contains(loop.variable)) return false;
  bool found = false;
  const auto look_at = [&](const Conditions& conditions) {
    found = found || std::ranges::any_of(
                         conditions, [&](const Condition& c) { return is_made_of(c.e, known); });
  };
  for_each(body, [&](const Stmt& s) {
    if (const auto* branch = std::get_if<If>(&s.kind)) look_at(branch->conditions);
    for_each_value(s, [&](const Value& v) {
      const auto* guard = std::get_if<value::Guard>(&v->kind);
      if (guard != nullptr && reads_elements(guard->then)) look_at(guard->conditions);
    });
  });
  return found;
}

}  // namespace mote::emit
