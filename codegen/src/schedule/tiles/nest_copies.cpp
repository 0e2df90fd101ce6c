// SPDX-License-Identifier: Apache-2.0
// The part of NestTiler that decides where operands are copied, and copies them.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "ir/dependence.h"
#include "passes/conditions.h"
#include "schedule/tiles/nest_tiler.h"
#include "schedule/tiles/reduction_loops.h"

namespace mote {
namespace {

Conditions both(Conditions a, const Conditions& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

Conditions at(Conditions conditions, const std::map<Symbol, Expr>& element) {
  for (Condition& c : conditions) c.e = c.e.substitute(element);
  return conditions;
}

/// Returns the store of one of a pair's two elements.
Stmt half(const Store& s, int which) {
  const std::map<Symbol, Expr> of_half = {{kHalf, which}};
  Store out{s.tensor, s.index, substitute(s.value, of_half)};
  for (Expr& e : out.index) e = e.substitute(of_half);
  return {std::move(out)};
}

/// Calls `fill` with loops, conditions and stores that fill a panel of pairs. Where no condition
/// depends on kHalf, both elements of a pair are stored together.
template <typename F>
void fill_pairs(const PairLoop& pairs, const std::vector<LoopRange>& loops,
                const Conditions& conditions, const Store& store, const F& fill) {
  // The loop has all pairs, or those of a block.
  const auto with = [&](const Expr& begin, const Expr& end) {
    std::vector<LoopRange> changed = loops;
    LoopRange& l = *std::ranges::find(changed, pairs.variable, &LoopRange::variable);
    const bool is_whole = l.begin == Expr(0) && l.end == ceil_div(pairs.terms, 2);
    l.begin = is_whole ? begin : max(l.begin, begin);
    l.end = is_whole ? end : min(l.end, end);
    return changed;
  };
  if (std::ranges::any_of(conditions, [](const Condition& c) { return c.e.mentions(kHalf); })) {
    for (const int which : {0, 1})
      fill(with(0, (pairs.terms + 1 - which) / 2), at(conditions, {{kHalf, which}}),
           Body{half(store, which)});
    return;
  }
  const DType dtype = store.value->dtype;
  const Store clear{store.tensor, store.index, constant(neutral(ReduceOp::sum, dtype), dtype)};
  const Expr whole = pairs.terms / 2;
  fill(with(0, whole), conditions, Body{half(store, 0), half(store, 1)});
  fill(with(whole, ceil_div(pairs.terms, 2)), conditions, Body{half(store, 0), half(clear, 1)});
}

/// The most positions of a window's panel for each that its rows and taps would read if they shared
/// none.
constexpr std::int64_t kMostPositions = 8;

/// Throws CannotTile for a range that no sizes bound.
Expr extent_of(const LoopRange& range) {
  if (const auto extent = greatest_extent(range)) return *extent;
  throw CannotTile{fmt::format("no sizes bound the iterations of {}", range.variable.name())};
}

}  // namespace

/// Returns the variable of the innermost loop around that of the rows, if the terms are those of a
/// block of such a loop.
std::optional<Symbol> NestTiler::loop_of_panel(const TiledReduction& r) const {
  const auto is_in_block = [](const LoopRange& l) {
    return mentions_loop(l.begin) || mentions_loop(l.end);
  };
  if (std::ranges::none_of(r.nest.loops, is_in_block)) return std::nullopt;
  return chain_.loops[tile_.around - 1]->variable;
}

/// Copies what a block of tiles of rows reads of the operand along a window to a panel, each
/// element once for all rows and taps that read it. The panel has 0 where a condition of the rows
/// does not hold.
Value NestTiler::copied_window(const TiledReduction& r, const SharedOperand& o,
                               const BlockedLoops& loops) {
  const Window window = *window_of(r, o, tile_.rows.variable, facts_in(program(), chain_));
  const Expr block(*block_of_rows_);
  const Symbol position = symbol("position");
  std::vector<LoopRange> all, filled;
  std::vector<Expr> shape, index, read;
  Expr first;
  for (std::size_t k = 0; k < loops.inner.size(); ++k) {
    const LoopRange& l = loops.inner[k];
    if (l.variable != window.tap) {
      all.push_back(l);
      filled.push_back(l);
      shape.push_back(loops.extents[k]);
      index.push_back(Expr(l.variable) - l.begin);
      read.push_back(index.back());
      continue;
    }
    const auto positions = [&](const Expr& rows, const Expr& taps) {
      return window.position(rows - 1, taps - 1) + 1;
    };
    const Expr amount = rows_of_block();
    const Expr most = positions(amount, loops.extents[k]);
    first = window.position(block, l.begin);
    all.push_back({position, 0, most});
    filled.push_back({position, 0, positions(min(amount, rows().end - block), l.end - l.begin)});
    shape.push_back(most);
    // A panel with many positions that no tap reads takes longer to fill than it saves.
    demands_.push_back(
        {Condition::Kind::nonneg, kMostPositions * amount * loops.extents[k] - most});
    index.emplace_back(position);
    read.push_back(window.position(Expr(rows().variable) - block, Expr(l.variable) - l.begin));
  }
  if (r.pairs) {
    shape.emplace_back(2);
    index.emplace_back(kHalf);
    read.emplace_back(kHalf);
  }
  const DType dtype = o.value->dtype;
  const std::string name = add_tensor(
      "window", {dtype, shape, block_of_rows_, TensorMemory::automatic, r.pairs ? 16 : 64});
  panels_.push_back(fmt::format("{} to {}", to_string(o.value), name));
  const Expr here = first + Expr(position);
  const Conditions of_rows = window.at(conditions_of(r, o.side), here);
  add_copy(r, {all, filled, both(of_rows, r.shared.other_conditions)},
           {name, index, window.at(o.value, here)}, !of_rows.empty(), before_tiles_);
  return load_value(name, read, dtype);
}

/// Appends the loops that copy the store's elements to a panel where the conditions hold; with
/// `clears`, all of the panel is 0 before.
void NestTiler::add_copy(const TiledReduction& r, const CopyRanges& ranges, const Store& store,
                         bool clears, Body& location) {
  const auto fill = [&](const std::vector<LoopRange>& loops, Conditions where, Body stores) {
    std::ranges::move(in_own_loops(loops, under(std::move(where), std::move(stores))),
                      std::back_inserter(location));
  };
  const DType dtype = store.value->dtype;
  const Store clear{store.tensor, store.index, constant(neutral(ReduceOp::sum, dtype), dtype)};
  if (clears) fill(ranges.all, {}, r.pairs ? Body{half(clear, 0), half(clear, 1)} : Body{{clear}});
  if (!r.pairs)
    fill(ranges.filled, ranges.conditions, {{store}});
  else
    fill_pairs(*r.pairs, ranges.filled, ranges.conditions, store, fill);
}

/// Copies the operand's elements that a tile needs to a panel: adjacent memory, in the order in
/// which the tile reads them. The panel has 0 for terms that a condition of its axis leaves out,
/// and in rows behind the end; what a condition of no axis leaves out is not read.
Value NestTiler::copied(const TiledReduction& r, const SharedOperand& o,
                        const CopyLocations& locations) {
  if (block_of_rows_ && o.side == Side::rows && !is_ahead(r, o))
    return copied_window(r, o, locations.loops);
  const bool is_column = o.side == Side::vector;
  const TileAxis axis = is_column ? vector() : all_rows_;
  const bool ahead = is_ahead(r, o);
  const Symbol part = symbol(axis.variable.name() + "_part");
  const Expr start = ahead ? axis.begin + Expr(part) * axis.amount : Expr(axis.start);
  std::vector<LoopRange> all, filled;
  std::vector<Expr> shape, index, read;
  const auto add = [&](const LoopRange& l, const Expr& from_nest) {
    all.push_back(l);
    filled.push_back(l);
    shape.push_back(extent_of(l));
    index.push_back(Expr(l.variable) - l.begin);
    read.push_back(from_nest);
  };
  const auto add_reduction = [&] {
    const std::vector<LoopRange> whole = ordered_loops(r);
    const BlockedLoops& loops = locations.loops;
    for (std::size_t k = 0; k < (ahead ? whole : loops.inner).size(); ++k) {
      const LoopRange& l = (ahead ? whole : loops.inner)[k];
      add(l, Expr(l.variable) - l.begin);
      if (!ahead) shape.back() = loops.extents[k];
    }
  };
  if (ahead) {
    for (const LoopRange& l : loops_of(outer_loops_of(chain_, tile_), r, o))
      add(l, Expr(l.variable) - l.begin);
    add({part, 0, ceil_div(axis.end - axis.begin, axis.amount)},
        (Expr(axis.start) - axis.begin) / axis.amount);
  }
  std::map<Symbol, Expr> element;
  if (is_column) {
    add_reduction();
    add({kLane, 0, axis.amount}, kLane);
    const Expr whole = min(start, axis.end - axis.amount);
    element = {{axis.variable, tile_.may_be_narrow
                                   ? min(max(axis.begin, whole) + Expr(kLane), axis.end - 1)
                                   : whole + Expr(kLane)}};
  } else {
    // The rows of a term are adjacent where all tiles of columns share a panel, which is filled
    // once.
    if (ahead) add_reduction();
    add({kRow, 0, axis.amount}, kRow);
    filled.back().end = min(axis.amount, axis.end - start);
    if (!ahead) add_reduction();
    element = {{axis.variable, start + Expr(kRow)}};
  }
  if (r.pairs) {
    shape.emplace_back(2);
    index.emplace_back(kHalf);
    read.emplace_back(kHalf);
  }
  const DType dtype = o.value->dtype;
  const std::string name =
      add_tensor(is_column ? "columns" : "rows",
                 {dtype, shape, ahead ? loop_of_panel(r) : std::optional(axis.start),
                  TensorMemory::automatic, r.pairs ? 16 : 64});
  panels_.push_back(fmt::format("{} to {}{}", to_string(o.value), name, ahead ? " ahead" : ""));
  const Conditions conditions =
      ahead ? conditions_of(r, o.side) : both(conditions_of(r, o.side), r.shared.other_conditions);
  add_copy(r, {all, filled, at(conditions, element)}, {name, index, substitute(o.value, element)},
           !is_column || !conditions_of(r, o.side).empty(),
           ahead       ? ahead_
           : is_column ? locations.columns
                       : locations.rows);
  return load_value(name, read, dtype);
}

bool NestTiler::is_ahead(const TiledReduction& r, const SharedOperand& o) const {
  return is_copied_ahead(program(), chain_, tile_, r, o);
}

/// Where each tile of columns has copies of its own, sums over three or more loops, none of which
/// runs along a window, are computed in blocks, so that the copy of a block stays in the
/// second-level cache while all tiles of rows use it. A block has the last loop and a part of the
/// one around it.
NestTiler::BlockedLoops NestTiler::blocked_loops(const TiledReduction& r) {
  const auto& operands = r.shared.operands;
  const bool copies_columns = std::ranges::any_of(
      operands, [&](const SharedOperand& o) { return o.side == Side::vector && !is_ahead(r, o); });
  const bool copies_rows = std::ranges::any_of(operands, [&](const SharedOperand& o) {
    return o.side == Side::rows && !is_direct(program(), tile_, r, o) && !is_ahead(r, o);
  });
  BlockedLoops loops{{}, ordered_loops(r), {}};
  const bool is_blocked = !rows_outside_ && !tile_.row_start && copies_columns && !copies_rows &&
                          loops.inner.size() > 2 && !has_window(r);
  for (; is_blocked && loops.inner.size() > 2; loops.inner.erase(loops.inner.begin())) {
    const LoopRange& l = loops.inner.front();
    loops.blocks.push_back({l.variable, l.begin, l.end, 1, {}, {}});
  }
  for (const LoopRange& l : loops.inner) loops.extents.push_back(extent_of(l));
  if (!is_blocked) return loops;
  LoopRange& part = loops.inner.front();
  const Symbol start = symbol(part.variable.name() + "_block");
  loops.blocks.push_back({start, part.begin, part.end, tile_.block, {}, {}});
  part = {part.variable, Expr(start), min(Expr(start) + tile_.block, part.end)};
  loops.extents.front() = tile_.block;
  return loops;
}

}  // namespace mote
