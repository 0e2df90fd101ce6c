// SPDX-License-Identifier: Apache-2.0
#include "schedule/prefetch.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "ir/dependence.h"
#include "mote/codegen/walk.h"

namespace mote {
namespace {

/// The loops around a row and that of the row itself, outermost first.
using Nest = std::vector<const Loop*>;

Nest nest_of(const LoopProgram& p, const Path& row) {
  Nest nest;
  for (std::size_t depth = 1; depth <= row.size(); ++depth) {
    const auto end = row.begin() + static_cast<std::ptrdiff_t>(depth);
    if (const Loop* l = as_loop(at(p, Path(row.begin(), end)))) nest.push_back(l);
  }
  return nest;
}

/// Returns the values of the nest's variables in the iteration after this one; after the last
/// iteration of all, those of one that there is.
std::map<Symbol, Expr> next_iteration(const Nest& nest) {
  std::map<Symbol, Expr> next;
  Expr carry = 1;
  for (auto l = nest.rbegin(); l != nest.rend(); ++l) {
    const Expr value = Expr((*l)->variable) + carry;
    if (*l == nest.front()) {
      next.emplace((*l)->variable, min(value, (*l)->end - 1));
      break;
    }
    carry = max(0, value + 1 - (*l)->end);  // 1 where the loop begins again, 0 otherwise
    next.emplace((*l)->variable, value - (*l)->end * carry);
  }
  return next;
}

/// Returns true if the access reads the elements of a row of an input, one by one, if the row is
/// another one in the nest's next iteration, and if it lies in the input in all iterations,
/// whatever conditions stand around the access.
bool reads_row(const LoopProgram& p, const Access& a, const Loop& along, const Nest& nest) {
  const TensorDecl* t = find_tensor(p, a.tensor);  // null: an index reads a named value
  if (a.write || t == nullptr || t->role != TensorRole::input) return false;
  Facts facts = base_facts(*p.source);
  for (const Loop* l : nest) set_ranges(*l, facts);
  bool is_along = false, is_next = false;
  for (std::size_t k = 0; k < a.index.size(); ++k) {
    const Expr& e = a.index[k];
    if (e.has_load()) return false;
    is_next = is_next || e.mentions(nest.back()->variable);
    if (e.mentions(along.variable)) {
      const KnownStride adjacent{a.tensor, static_cast<int>(k), 1};
      if (e != Expr(along.variable) || !facts.prove_nonneg(along.begin) ||
          !facts.prove_nonneg(t->shape[k] - along.end) ||
          std::ranges::find(p.strides, adjacent) == p.strides.end())
        return false;
      is_along = true;
    } else if (!facts.prove_nonneg(e) || !facts.prove_positive(t->shape[k] - e)) {
      return false;
    }
  }
  return is_along && is_next;
}

/// A row that loops read: its element in the last of these, and how many they are.
struct Row {
  PrefetchedElement element;
  Loop* last;
  int loops;
};

/// Appends the rows that the loop reads, or counts it for rows that a loop before it read.
void add_rows(const LoopProgram& p, Loop& loop, const Nest& nest, std::vector<Row>& rows) {
  for (const Access& a : accesses(loop.body)) {
    if (!reads_row(p, a, loop, nest)) continue;
    const auto is_same = [&](const Row& r) {
      return r.element.tensor == a.tensor && r.last->begin == loop.begin &&
             r.last->end == loop.end &&
             std::ranges::equal(r.element.index, a.index, [&](const Expr& x, const Expr& y) {
               return x.substitute({{r.last->variable, Expr(loop.variable)}}) == y;
             });
    };
    const auto known = std::ranges::find_if(rows, is_same);
    if (known == rows.end())
      rows.push_back({{a.tensor, a.index}, &loop, 1});
    else if (known->last != &loop)
      *known = {{a.tensor, a.index}, &loop, known->loops + 1};
  }
}

}  // namespace

Refusal prefetch_rows(LoopProgram& p, const Path& row, std::string& effect) {
  const Nest nest = nest_of(p, row);
  for (const Loop* l : nest)
    if (l->begin != Expr(0) || l->step != Expr(1) || is_moving(l->end) || l->end.has_load())
      return fmt::format("what follows the last iteration of loop {} is not known",
                         l->variable.name());
  std::vector<Row> rows;
  for (Stmt& s : as_loop(at(p, row))->body)
    if (Loop* loop = as_loop(s); loop != nullptr && loop->step == Expr(1))
      add_rows(p, *loop, nest, rows);
  std::erase_if(rows, [](const Row& r) { return r.loops < 2; });
  if (rows.empty()) return "no two of its loops read the same row of an input, element by element";
  const std::map<Symbol, Expr> next = next_iteration(nest);
  std::vector<std::string> fetched;
  for (Row& r : rows) {
    for (Expr& e : r.element.index) e = e.substitute(next);
    fetched.push_back(fmt::format("{} before {}", r.element.tensor, r.last->variable.name()));
    r.last->prefetched.push_back(std::move(r.element));
  }
  effect = fmt::format("fetches the next row of {}", fmt::join(fetched, ", "));
  return std::nullopt;
}

}  // namespace mote
