// SPDX-License-Identifier: Apache-2.0
#include "passes/fused_body.h"

#include <algorithm>

#include "mote/codegen/walk.h"

namespace mote {
namespace {

std::vector<Limits> sorted_limits(const std::vector<const Loop*>& chain) {
  std::vector<Limits> r;
  for (const Loop* l : chain) r.push_back(limits_of(*l));
  std::sort(r.begin(), r.end());
  return r;
}

Ranged ranged(PlacedAccess&& a) {
  Ranged r{std::move(a.access.index), {}};
  for (const Stmt* s : a.path)
    if (const Loop* l = as_loop(*s)) r.ranges.push_back({l->variable, l->begin, l->end});
  return r;
}

void substitute(Ranged& a, const std::map<Symbol, Expr>& env) {
  for (Expr& e : a.index) e = e.substitute(env);
  for (LoopRange& range : a.ranges) {
    range.begin = range.begin.substitute(env);
    range.end = range.end.substitute(env);
  }
}

/// Returns the summary of `merged` from those of its parts: the accesses of b, whose variable has
/// become that of `merged`, come after those of a.
Summary united(Summary a, Summary b, const Loop& merged, Symbol variable_of_b, int id) {
  const std::map<Symbol, Expr> env = {{variable_of_b, Expr(merged.variable)}};
  for (auto& [tensor, touches] : b.touches) {
    Touches& all = a.touches[tensor];
    for (auto [from, to] : {std::pair{&touches.reads, &all.reads}, {&touches.writes, &all.writes}})
      for (Ranged& access : *from) {
        if (variable_of_b != merged.variable) substitute(access, env);
        to->push_back(std::move(access));
      }
  }
  a.effects = united(std::move(a.effects), std::move(b.effects));
  a.chain = sorted_limits(perfect_chain(merged));
  a.id = id;
  return a;
}

}  // namespace

Limits limits_of(const Loop& l) { return {l.begin, l.end, l.step}; }

Summary summary_of(const Stmt& s, int id, Effects effects) {
  Summary r{id, std::move(effects)};
  const Loop* loop = as_loop(s);
  if (!loop) return r;
  for (PlacedAccess& a : placed_accesses(loop->body)) {
    Touches& t = r.touches[a.access.tensor];
    (a.access.write ? t.writes : t.reads).push_back(ranged(std::move(a)));
  }
  r.chain = sorted_limits(perfect_chain(*loop));
  return r;
}

void FusedBody::add(const Stmt& s) {
  summaries.push_back(
      std::make_unique<Summary>(summary_of(s, new_id(summaries.size()), effects_of({&s, 1}))));
  const Summary& of_s = *summaries.back();
  if (of_s.chain.empty()) return;
  for (const std::string& tensor : of_s.effects.touched) touchers_[tensor].push_back(of_s.id);
}

int FusedBody::new_id(std::size_t position) {
  const int id = static_cast<int>(became_.size());
  became_.push_back(id);
  at_.push_back(position);
  blocks_left_.push_back(-1);
  blocks_right_.push_back(-1);
  return id;
}

int FusedBody::now(int id) {
  while (became_[static_cast<std::size_t>(id)] != id) {
    int& next = became_[static_cast<std::size_t>(id)];
    next = became_[static_cast<std::size_t>(next)];
    id = next;
  }
  return id;
}

std::size_t FusedBody::position(int id) { return at_[static_cast<std::size_t>(now(id))]; }

bool FusedBody::lies_between(int id, std::size_t p, std::size_t q) {
  return id >= 0 && position(id) > p && position(id) < q;
}

bool FusedBody::may_go_left(std::size_t p, std::size_t q) {
  return !lies_between(blocks_left_[static_cast<std::size_t>(summaries[q]->id)], p, q);
}

bool FusedBody::may_go_right(std::size_t p, std::size_t q) {
  return !lies_between(blocks_right_[static_cast<std::size_t>(summaries[p]->id)], p, q);
}

bool FusedBody::is_free_to_go_left(std::size_t p, std::size_t q) {
  if (!may_go_left(p, q)) return false;
  for (std::size_t k = q; --k > p;)
    if (!are_independent(summaries[k]->effects, summaries[q]->effects)) {
      blocks_left_[static_cast<std::size_t>(summaries[q]->id)] = summaries[k]->id;
      return false;
    }
  return true;
}

bool FusedBody::is_free_to_go_right(std::size_t p, std::size_t q) {
  if (!may_go_right(p, q)) return false;
  for (std::size_t k = p + 1; k < q; ++k)
    if (!are_independent(summaries[k]->effects, summaries[p]->effects)) {
      blocks_right_[static_cast<std::size_t>(summaries[p]->id)] = summaries[k]->id;
      return false;
    }
  return true;
}

void FusedBody::merge(std::size_t p, std::size_t q, const Loop& merged, Symbol variable_of_q,
                      bool left) {
  const int id = new_id(0);
  for (const std::size_t part : {p, q}) became_[static_cast<std::size_t>(summaries[part]->id)] = id;
  *summaries[left ? p : q] =
      united(std::move(*summaries[p]), std::move(*summaries[q]), merged, variable_of_q, id);
  summaries.erase(summaries.begin() + static_cast<std::ptrdiff_t>(left ? q : p));
  for (std::size_t k = p; k < summaries.size(); ++k)
    at_[static_cast<std::size_t>(summaries[k]->id)] = k;
  alike_.clear();
}

bool FusedBody::every_toucher_has(const Limits& limits, const std::string& tensor) {
  const auto [found, is_new] = alike_.try_emplace({limits, tensor}, true);
  if (!is_new) return found->second;
  std::vector<int>& ids = touchers_[tensor];
  for (int& id : ids) id = now(id);
  std::ranges::sort(ids);
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return found->second = std::ranges::all_of(ids, [&](int id) {
           return std::ranges::binary_search(summaries[position(id)]->chain, limits);
         });
}

}  // namespace mote
