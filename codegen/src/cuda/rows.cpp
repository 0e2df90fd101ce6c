// SPDX-License-Identifier: Apache-2.0
// Finds the loops that can run as the variant gen's kernels of a block for each iteration.
#include "rows.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/dependence.h"
#include "schedule/combine.h"
#include "schedule/iterations.h"
#include "schedule/unit_strides.h"

namespace mote::cuda {
namespace {

bool can_be_shared(const Accumulator& a) { return is_combined(a.op) && is_real(a.dtype); }

/// Returns true if the innermost loop of a nest accesses tensors only at its own index: a row or a
/// plane, not the window of a convolution, which is short.
bool is_at_own_location(const Loop& loop) {
  return std::ranges::all_of(accesses(loop.body), [&](const Access& a) {
    return std::ranges::all_of(a.index, [&](const Expr& e) {
      return !e.mentions(loop.variable) || e == Expr(loop.variable);
    });
  });
}

/// A statement that the threads of a block cannot share, and why.
struct Obstacle {
  const Stmt* statement;
  const char* why;  ///< empty: its iterations depend on one another
};

/// Returns the first loop of the nest `s` of p that the threads of a block cannot share; nullopt if
/// they can share all of them.
std::optional<Obstacle> first_obstacle(const LoopProgram& p, const Stmt& s) {
  const std::vector<const Loop*> nest = nest_of(*as_loop(s));
  if (holds_loop(nest.back()->body)) return Obstacle{&s, "it holds loops that are not just a nest"};
  if (!outer_folds(*nest.front()).empty())
    return Obstacle{&s, "it folds into an accumulator of a loop around it"};
  if (!std::ranges::all_of(nest.front()->accumulators, can_be_shared))
    return Obstacle{&s, "only sums, products, maxima and minima of reals are combined"};
  if (nest.size() > 1 && !is_at_own_location(*nest.back()))
    return Obstacle{&s, "its innermost loop goes along a window"};
  const Stmt* at = &s;
  for (const Loop* loop : nest) {
    const auto own = independent_iterations(p, *at);
    if (!own) return Obstacle{at, ""};
    if (!own->empty()) return Obstacle{at, "its iterations have memory of their own"};
    if (loop->step != Expr(1)) return Obstacle{at, "its step is not 1"};
    if (loop != nest.front() && (loop->begin.has_load() || loop->end.has_load()))
      return Obstacle{at, "its limits are data"};
    at = &loop->body.front();
  }
  return std::nullopt;
}

/// Returns the statement that is the innermost loop of the nest.
const Stmt& innermost(const Stmt& s) {
  const Stmt* at = &s;
  for (std::size_t below = nest_of(*as_loop(s)).size(); below > 1; --below)
    at = &as_loop(*at)->body.front();
  return *at;
}

/// Returns true for conditions that all threads of a block decide alike, such as which outputs the
/// call has.
bool is_uniform(const Conditions& conditions) {
  return std::ranges::none_of(conditions, [](const Condition& c) { return c.e.has_load(); });
}

/// Collects the strides that the loops of an iteration require.
class RowStrides {
 public:
  /// `reduces`: one of the loops must reduce.
  RowStrides(const LoopProgram& p, bool reduces) : p_(p), reduces_(!reduces) {}

  bool add(const Body& body) {
    return std::ranges::all_of(body, [&](const Stmt& s) { return add(s); });
  }
  std::optional<std::vector<KnownStride>> result() const {
    return reduces_ ? std::optional(all_) : std::nullopt;
  }
  /// Returns the first statement that cannot be shared.
  const std::optional<Obstacle>& obstacle() const { return obstacle_; }

 private:
  bool add(const Stmt& s) {
    if (std::holds_alternative<StoreReduce>(s.kind)) return stop({&s, "it scatters"});
    if (const auto* branch = std::get_if<If>(&s.kind))
      return is_uniform(branch->conditions) ? add(branch->body)
                                            : stop({&s, "threads may decide it differently"});
    const Loop* inner = as_loop(s);
    if (inner == nullptr) return true;
    if (const auto obstacle = first_obstacle(p_, s)) return stop(*obstacle);
    reduces_ = reduces_ || !inner->accumulators.empty();
    const auto strides = unit_strides(p_, innermost(s));
    if (!strides || !are_compatible(all_, *strides))
      return stop({&s, "its elements are adjacent for no strides that suit the other loops"});
    for (const KnownStride& k : *strides)
      if (std::ranges::find(all_, k) == all_.end()) all_.push_back(k);
    return true;
  }

  bool stop(const Obstacle& obstacle) {
    obstacle_ = obstacle;
    return false;
  }

  const LoopProgram& p_;
  std::vector<KnownStride> all_;
  bool reduces_;
  std::optional<Obstacle> obstacle_;
};

}  // namespace

std::vector<const Loop*> nest_of(const Loop& loop) {
  std::vector<const Loop*> nest = {&loop};
  while (nest.back()->body.size() == 1) {
    const Loop* next = as_loop(nest.back()->body.front());
    if (next == nullptr || !next->accumulators.empty()) break;
    nest.push_back(next);
  }
  return nest;
}

std::optional<std::vector<KnownStride>> strides_of_rows(const LoopProgram& p, const Loop& loop,
                                                        bool reduces) {
  RowStrides strides(p, reduces);
  return strides.add(loop.body) ? strides.result() : std::nullopt;
}

std::string why_no_rows(const LoopProgram& p, const Loop& loop) {
  RowStrides strides(p, false);
  (void)strides.add(loop.body);
  if (!strides.obstacle()) return "";
  const auto& [statement, why] = *strides.obstacle();
  std::string text = to_string(*statement);
  text.resize(std::min(text.size(), text.find('\n')));
  return fmt::format("the threads of a block cannot share `{}`: {}", text,
                     *why != '\0' ? why : why_dependent(p, *statement));
}

std::optional<Expr> longest_row(const Body& stage) {
  std::optional<Expr> longest;
  for_each(stage, [&](const Stmt& s) {
    const Loop* loop = as_loop(s);
    if (loop == nullptr || loop->kind == LoopKind::threads || holds_loop(loop->body)) return;
    const Expr row = loop->end - loop->begin;
    const auto is_fixed = [](Symbol v) { return v.kind() != SymbolKind::loop; };
    if (row.has_load() || !std::ranges::all_of(row.symbols(), is_fixed)) return;
    longest = longest ? max(*longest, row) : row;
  });
  return longest;
}

}  // namespace mote::cuda
