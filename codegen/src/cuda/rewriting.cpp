// SPDX-License-Identifier: Apache-2.0
// Checks the properties that loops need to be divided, and counts their terms.
#include "rewriting.h"

#include "ir/dependence.h"

namespace mote::cuda {

bool is_counted(const Loop& loop) {
  return loop.begin == Expr(0) && loop.step == Expr(1) && is_fixed(loop.end);
}

Body replaced(const Body& body, const std::function<void(const Stmt&, Body&)>& replace) {
  Body all;
  for (const Stmt& s : body) {
    if (const auto* branch = std::get_if<If>(&s.kind))
      all.push_back({If{branch->conditions, replaced(branch->body, replace)}});
    else
      replace(s, all);
  }
  return all;
}

Expr terms_of(const Loop& loop) {
  Expr inner = 1;
  for_each(loop.body, [&](const Stmt& s) {
    if (const Loop* l = as_loop(s)) inner = max(inner, terms_of(*l));
  });
  const Expr count = loop.end - loop.begin;
  return is_fixed(count) ? count * inner : inner;
}

}  // namespace mote::cuda
