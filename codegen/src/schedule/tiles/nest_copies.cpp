// SPDX-License-Identifier: Apache-2.0
// The part of NestTiler that decides where operands are copied, and copies them.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "ir/dependence.h"
#include "ir/transposed.h"
#include "passes/conditions.h"
#include "schedule/tiles/nest_tiler.h"
#include "schedule/tiles/reduction_loops.h"

namespace mote {
namespace {

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

/// The most positions of a window's panel for each that its iterations would read if they shared
/// none.
constexpr std::int64_t kMostPositions = 8;

bool is_in(const std::vector<LoopRange>& loops, Symbol variable) {
  return std::ranges::find(loops, variable, &LoopRange::variable) != loops.end();
}

/// Returns the axes of an input along which the element's index goes on by 1 with each of the
/// variables.
std::optional<AxesOfInput> axes_along(const LoopProgram& p, const Value& element,
                                      Symbol last_but_one, Symbol last) {
  const auto* load = std::get_if<value::Load>(&element->kind);
  if (load == nullptr || find_tensor(p, load->tensor)->role != TensorRole::input)
    return std::nullopt;
  const auto first = axis_along(load->index, last_but_one);
  const auto second = axis_along(load->index, last);
  if (!first || !second || first == second) return std::nullopt;
  return AxesOfInput{load->tensor, static_cast<int>(*first), static_cast<int>(*second)};
}

/// A loop, and an expression of sizes and parameters that the number of its iterations does not
/// exceed.
struct BoundedLoop {
  const LoopRange& range;
  Expr most;
};

}  // namespace

/// The axes of a panel.
struct NestTiler::PanelAxes {
  std::vector<LoopRange> all, filled;  ///< the loops over all of it, and over what is filled
  std::vector<Expr> shape;
  std::vector<Expr> index;  ///< of an element, in these loops
  std::vector<Expr> read;   ///< of the element that a tile reads

  void add(const LoopRange& l, const Expr& extent, const Expr& from_nest) {
    all.push_back(l);
    filled.push_back(l);
    shape.push_back(extent);
    index.push_back(Expr(l.variable) - l.begin);
    read.push_back(from_nest);
  }
  void add(const BoundedLoop& l) { add(l.range, l.most, Expr(l.range.variable) - l.range.begin); }
  /// Adds the positions of a window and returns the first; `position` is the loop over them.
  Expr add(const Window& window, Symbol position, const BoundedLoop& outer,
           const BoundedLoop& inner) {
    const auto extent = [](const LoopRange& l) { return l.end - l.begin; };
    add({position, 0, window.positions(outer.most, inner.most)},
        window.positions(outer.most, inner.most),
        window.position(Expr(window.outer) - outer.range.begin,
                        Expr(window.inner) - inner.range.begin));
    std::optional<Expr> end;
    for (const Expr& e : arms(inner.range.end, Atom::Kind::min)) {
      const Expr last = window.positions(extent(outer.range), e - inner.range.begin);
      end = end ? min(*end, last) : last;
    }
    filled.back().end = *end;
    return window.position(outer.range.begin, inner.range.begin);
  }
};

/// Returns the variable of the innermost loop around that of the rows, if the terms are those of a
/// block of such a loop.
std::optional<Symbol> NestTiler::loop_of_panel(const TiledReduction& r) const {
  const auto is_in_block = [](const LoopRange& l) {
    return mentions_loop(l.begin) || mentions_loop(l.end);
  };
  if (std::ranges::none_of(r.nest.loops, is_in_block)) return std::nullopt;
  return chain_.loops[tile_.around - 1]->variable;
}

/// Demands that the panel has few positions that no iteration reads: it would take longer to fill
/// than it saves. Without iterations, their number could be negative.
void NestTiler::demand_few_positions(const Window& window, const Expr& outer, const Expr& inner) {
  const Expr positions = window.positions(outer, inner);
  demands_.push_back({Condition::Kind::nonneg, kMostPositions * outer * inner - positions});
  demands_.push_back({Condition::Kind::nonneg, positions});
}

/// Adds the panel and the loops that fill it. Returns what a tile reads of it.
Value NestTiler::filled_panel(const TiledReduction& r, const SharedOperand& o, PanelAxes axes,
                              const NewPanel& panel) {
  if (r.pairs) {
    axes.shape.emplace_back(2);
    axes.index.emplace_back(kHalf);
    axes.read.emplace_back(kHalf);
  }
  const std::string name =
      add_tensor(panel.hint, {o.value->dtype, axes.shape, panel.per, TensorMemory::automatic,
                              r.pairs ? 16 : 64, panel.ordered_like});
  panels_.push_back(fmt::format("{} to {}{}", to_string(o.value), name, panel.when));
  add_copy(r, {axes.all, axes.filled, panel.conditions}, {name, axes.index, panel.element},
           panel.clears, panel.location);
  return load_value(name, axes.read, o.value->dtype);
}

/// Returns the axes of the input in whose order the panel of a window lies: a tile consists of
/// whole squares, which are transposed in registers where results are adjacent along the rows.
std::optional<AxesOfInput> NestTiler::order_of(const TiledReduction& r, const SharedOperand& o,
                                               const Window& window,
                                               const std::vector<LoopRange>& loops) const {
  const std::size_t count = loops.size();
  const bool has_squares = !squares_of_tile(rows().amount, vector().amount).empty() && !r.pairs;
  if (!has_squares || count < 2 || loops[count - 2].variable != window.inner) return std::nullopt;
  return axes_along(program(), window.at(o.value, Expr(window.outer)), window.outer,
                    loops.back().variable);
}

/// Copies what a block of tiles of rows reads of the operand along a window to a panel, each
/// element once for all rows and taps that read it. The panel has 0 where a condition of the rows
/// does not hold.
Value NestTiler::copied_window(const TiledReduction& r, const SharedOperand& o,
                               const BlockedLoops& loops) {
  const Window window = *window_of(r, o, tile_.rows.variable, facts_in(program(), chain_));
  const Expr block(*block_of_rows_);
  const Expr amount = rows_of_block();
  const LoopRange rows_here{tile_.rows.variable, block, block + min(amount, rows().end - block)};
  const std::optional<AxesOfInput> order = order_of(r, o, window, loops.inner);
  // Lines of a panel in order lie as close as a short line of results lets them.
  const Expr most = order ? min(amount, all_rows_.end - all_rows_.begin) : amount;
  const Symbol position = symbol("position");
  PanelAxes panel;
  Expr first;
  for (std::size_t k = 0; k < loops.inner.size(); ++k) {
    const BoundedLoop l{loops.inner[k], loops.extents[k]};
    if (l.range.variable != window.inner) {
      panel.add(l);
      continue;
    }
    first = panel.add(window, position, {rows_here, most}, l);
    demand_few_positions(window, amount, l.most);
  }
  const Expr here = first + Expr(position);
  const Conditions of_rows = window.at(conditions_of(r, o.side), here);
  return filled_panel(r, o, std::move(panel),
                      {.hint = "window",
                       .per = block_of_rows_,
                       .when = "",
                       .conditions = both(of_rows, r.shared.other_conditions),
                       .element = window.at(o.value, here),
                       .clears = !of_rows.empty(),
                       .location = before_tiles_,
                       .ordered_like = order});
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

/// Returns the windows along which the iterations of outer loops read the operand.
std::vector<Window> NestTiler::windows_of(const TiledReduction& r, const SharedOperand& o) const {
  const Facts facts = facts_in(program(), chain_);
  std::vector<Window> windows;
  for (const LoopRange& l : loops_of(outer_loops_of(chain_, tile_), r, o))
    if (const auto window = window_of(r, o, l.variable, facts)) windows.push_back(*window);
  return windows;
}

/// Copies the operand's elements that a tile needs to a panel: adjacent memory, in the order in
/// which the tile reads them. The panel has 0 for terms that a condition of its axis leaves out,
/// and in rows behind the end; what a condition of no axis leaves out is not read. A panel ahead of
/// the nest, or of a block of the sums around it, has what all of its tiles need.
Value NestTiler::copied(const TiledReduction& r, const SharedOperand& o,
                        const CopyLocations& locations) {
  if (block_of_rows_ && o.side == Side::rows && !is_ahead(r, o))
    return copied_window(r, o, locations.loops);
  const bool is_column = o.side == Side::vector;
  const TileAxis axis = is_column ? vector() : all_rows_;
  const bool ahead = is_ahead(r, o);
  const bool of_block = !ahead && is_column && locations.loops.are_around_nest;
  const Symbol part = symbol(axis.variable.name() + "_part");
  const Expr start = ahead || of_block ? axis.begin + Expr(part) * axis.amount : Expr(axis.start);
  const std::vector<LoopRange> outer = loops_of(outer_loops_of(chain_, tile_), r, o);
  Value value = o.value;
  Conditions conditions =
      ahead ? conditions_of(r, o.side) : both(conditions_of(r, o.side), r.shared.other_conditions);
  // In a block, a loop around it has one iteration, along which no window is shared.
  std::vector<Window> windows = of_block ? windows_of(r, o) : std::vector<Window>();
  std::erase_if(windows, [&](const Window& w) { return !is_in(locations.loops.inner, w.inner); });
  PanelAxes panel;
  const auto add_outer = [&] {
    for (const LoopRange& l : outer)
      if (std::ranges::find(windows, l.variable, &Window::outer) == windows.end())
        panel.add({l, extent_of(l)});
    panel.add({part, 0, ceil_div(axis.end - axis.begin, axis.amount)},
              ceil_div(axis.end - axis.begin, axis.amount),
              (Expr(axis.start) - axis.begin) / axis.amount);
  };
  const auto add_inner = [&](const BoundedLoop& inner) {
    const auto window = std::ranges::find(windows, inner.range.variable, &Window::inner);
    if (window == windows.end()) return panel.add(inner);
    const LoopRange& l = *std::ranges::find(outer, window->outer, &LoopRange::variable);
    const Symbol position = symbol("position");
    const Expr here = panel.add(*window, position, {l, extent_of(l)}, inner) + Expr(position);
    demand_few_positions(*window, extent_of(l), inner.most);
    value = window->at(value, here);
    conditions = window->at(std::move(conditions), here);
  };
  const auto add_reduction = [&] {
    const std::vector<LoopRange> whole = ordered_loops(r);
    const BlockedLoops& loops = locations.loops;
    for (std::size_t k = 0; k < (ahead ? whole : loops.inner).size(); ++k)
      if (ahead)
        panel.add({whole[k], extent_of(whole[k])});
      else
        add_inner({loops.inner[k], loops.extents[k]});
  };
  if (ahead || of_block) add_outer();
  std::map<Symbol, Expr> element;
  const LoopRange lanes{kLane, 0, axis.amount};
  const LoopRange rows_of_tile{kRow, 0, axis.amount};
  if (is_column) {
    add_reduction();
    panel.add({lanes, axis.amount});
    const Expr whole = min(start, axis.end - axis.amount);
    element = {{axis.variable, tile_.may_be_narrow
                                   ? min(max(axis.begin, whole) + Expr(kLane), axis.end - 1)
                                   : whole + Expr(kLane)}};
  } else {
    // The rows of a term are adjacent where all tiles of columns share a panel, which is filled
    // once.
    if (ahead) add_reduction();
    panel.add({rows_of_tile, axis.amount});
    panel.filled.back().end = min(axis.amount, axis.end - start);
    if (!ahead) add_reduction();
    element = {{axis.variable, start + Expr(kRow)}};
  }
  return filled_panel(r, o, std::move(panel),
                      {.hint = is_column ? "columns" : "rows",
                       .per = ahead      ? loop_of_panel(r)
                              : of_block ? std::nullopt
                                         : std::optional(axis.start),
                       .when = ahead      ? " ahead"
                               : of_block ? " in each block"
                                          : "",
                       .conditions = at(conditions, element),
                       .element = substitute(value, element),
                       .clears = !is_column || !conditions_of(r, o.side).empty(),
                       .location = ahead       ? ahead_
                                   : is_column ? locations.columns
                                               : locations.rows});
}

bool NestTiler::is_ahead(const TiledReduction& r, const SharedOperand& o) const {
  return is_copied_ahead(program(), chain_, tile_, r, o);
}

/// Returns true if all of the nest's tiles share the copies of a block of the sums: its outer loops
/// run along windows of the operands that are copied, or along an axis of the rows too, and no
/// condition of a copy names others.
bool NestTiler::share_copies_of_blocks(const TiledReduction& r,
                                       const std::vector<LoopRange>& inner) const {
  if (r.pairs) return false;
  const std::vector<LoopRange> outer = outer_loops_of(chain_, tile_);
  const auto have_rows = [&](const LoopRange& l) {
    return std::ranges::any_of(r.shared.operands, [&](const SharedOperand& o) {
      return o.side == Side::rows && mentions(o.value, l.variable);
    });
  };
  std::size_t found = 0;
  for (const SharedOperand& o : r.shared.operands) {
    if (o.side != Side::vector || is_ahead(r, o)) continue;
    const std::vector<Window> windows = windows_of(r, o);
    std::set<Symbol> along;
    for (const Window& w : windows) along.insert(w.inner);
    if (along.size() < windows.size()) return false;
    for (const Symbol v : along) found += is_in(inner, v) ? 1 : 0;
    const std::vector<LoopRange> own = loops_of(outer, r, o);
    for (const LoopRange& l : own)
      if (!have_rows(l) && std::ranges::find(windows, l.variable, &Window::outer) == windows.end())
        return false;
    for (const LoopRange& l : outer)
      if (!is_in(own, l.variable) &&
          std::ranges::any_of(r.shared.other_conditions,
                              [&](const Condition& c) { return c.e.mentions(l.variable); }))
        return false;
  }
  return found > 0;
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
  BlockedLoops loops{{}, ordered_loops(r), {}, false};
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
  loops.are_around_nest = share_copies_of_blocks(r, loops.inner);
  return loops;
}

}  // namespace mote
