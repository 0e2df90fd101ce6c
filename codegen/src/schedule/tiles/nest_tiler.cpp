// SPDX-License-Identifier: Apache-2.0
#include "schedule/tiles/nest_tiler.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "ir/dependence.h"
#include "mote/codegen/walk.h"
#include "schedule/combine.h"
#include "schedule/tiles/panels.h"
#include "schedule/tiles/reduction_loops.h"

namespace mote {
namespace {

/// Returns the dtype of all sums. Throws CannotTile if some are kept in float, others in double.
DType sums_dtype(const std::map<Symbol, TiledReduction>& reductions) {
  const DType first = reductions.begin()->second.nest.folds.front().value->dtype;
  for (const auto& [variable, r] : reductions)
    for (const Fold& f : r.nest.folds)
      if (native_bytes(f.value->dtype) != native_bytes(first))
        throw CannotTile{"sums of f32 and f64"};
  return first;
}

std::size_t most_folds(const std::map<Symbol, TiledReduction>& reductions) {
  std::size_t most = 1;
  for (const auto& [variable, r] : reductions) most = std::max(most, r.nest.folds.size());
  return most;
}

std::set<std::string> used_names(const TileOfNest& tile,
                                 const std::optional<Symbol>& block_of_rows) {
  std::set<std::string> used = tile.used_names;
  if (block_of_rows) used.insert(block_of_rows->name());
  return used;
}

/// Returns the axes of a tile. Where tiles of rows share panels of windows, the rows are those of a
/// block.
std::vector<TileAxis> axes_of(const LoopProgram& p, const TileOfNest& tile,
                              const std::optional<Symbol>& block_of_rows) {
  std::set<std::string> used = used_names(tile, block_of_rows);
  const auto start = [&](const Loop& loop) {
    return Tiler::fresh_variable(p, loop.variable.name() + "_tile", used);
  };
  const Symbol row = tile.row_start ? *tile.row_start : start(tile.rows);
  const Symbol column = start(tile.vector);
  const Expr last = min(Expr(column), tile.vector.end - tile.width);
  const Expr first = tile.may_be_narrow ? max(tile.vector.begin, last) : last;
  Expr begin = tile.rows.begin, end = tile.rows.end;
  if (block_of_rows) {
    begin = Expr(*block_of_rows);
    end = min(begin + tile.tiles * tile.height, end);
  }
  return {{tile.rows.variable, begin, end, tile.height, row, Expr(row)},
          {tile.vector.variable, tile.vector.begin, tile.vector.end, tile.width, column, first}};
}

/// Returns the variable of a loop over blocks of rows whose tiles share panels of windows; nullopt
/// if the rows read none, or other operands that are copied for each of their tiles.
std::optional<Symbol> block_of_rows(const LoopProgram& p, const SharedLoops& chain,
                                    const TileOfNest& tile,
                                    const std::map<Symbol, TiledReduction>& reductions) {
  // The narrowest tile takes windows of all steps, which wider ones may refuse.
  if (tile.row_start || tile.may_be_narrow || !are_columns_ahead(p, chain, tile, reductions))
    return std::nullopt;
  bool reads_windows = false;
  for (const auto& [variable, r] : reductions)
    for (const SharedOperand& o : r.shared.operands) {
      if (o.side != Side::rows || is_direct(p, tile, r, o) || is_copied_ahead(p, chain, tile, r, o))
        continue;
      if (!window_of(r, o, tile.rows.variable, facts_in(p, chain))) return std::nullopt;
      reads_windows = true;
    }
  if (!reads_windows) return std::nullopt;
  std::set<std::string> used = tile.used_names;
  return Tiler::fresh_variable(p, tile.rows.variable.name() + "_block", used);
}

}  // namespace

Body tiles(const TileAxis& axis, Body before, Body inner) {
  std::ranges::move(inner, std::back_inserter(before));
  Body out;
  out.push_back({Loop{axis.start, axis.begin, axis.end, axis.amount, {}, std::move(before)}});
  return out;
}

TileAmounts amounts_of(const std::map<Symbol, TiledReduction>& reductions,
                       const RegisterShape& shape) {
  const auto folds = static_cast<std::int64_t>(most_folds(reductions));
  return {std::max<std::int64_t>(1, shape.rows / folds),
          lanes_of(reductions, shape.vector_bytes) * shape.vectors};
}

Expr extent_of(const LoopRange& range) {
  if (const auto extent = greatest_extent(range)) return *extent;
  throw CannotTile{fmt::format("no sizes bound the iterations of {}", range.variable.name())};
}

std::int64_t lanes_of(const std::map<Symbol, TiledReduction>& reductions, int vector_bytes) {
  return vector_bytes / native_bytes(sums_dtype(reductions));
}

NestTiler::NestTiler(LoopProgram& p, const SharedLoops& chain,
                     const std::map<Symbol, TiledReduction>& reductions, const TileOfNest& tile)
    : NestTiler(p, chain, reductions, tile, block_of_rows(p, chain, tile, reductions)) {}

NestTiler::NestTiler(LoopProgram& p, const SharedLoops& chain,
                     const std::map<Symbol, TiledReduction>& reductions, const TileOfNest& tile,
                     const std::optional<Symbol>& block_of_rows)
    : Tiler(p, chain.loops.back()->body, axes_of(p, tile, block_of_rows), chain.own,
            used_names(tile, block_of_rows),
            !block_of_rows && are_columns_ahead(p, chain, tile, reductions) ? 1 : 0),
      chain_(chain),
      reductions_(reductions),
      tile_(tile),
      rows_outside_(!block_of_rows && are_columns_ahead(p, chain, tile, reductions_)),
      block_of_rows_(block_of_rows),
      all_rows_(rows()) {
  all_rows_.begin = tile.rows.begin;
  all_rows_.end = tile.rows.end;
  if (tile.row_start && !rows_outside_) throw CannotTile{"a tile of rows shares no operands"};
}

Body NestTiler::run() {
  Body body = distributed();
  Body nest = rows_outside_
                  ? tiles(rows(), std::move(before_vectors_), tiles(vector(), {}, std::move(body)))
                  : tiles(vector(), std::move(before_rows_), tiles(rows(), {}, std::move(body)));
  if (block_of_rows_) {
    TileAxis blocks = all_rows_;
    blocks.start = *block_of_rows_;
    blocks.amount = rows_of_block();
    nest = tiles(blocks, std::move(before_tiles_), std::move(nest));
  }
  Body out = std::move(ahead_);
  std::ranges::move(in_loops(outer_loops_of(chain_, tile_), std::move(nest)),
                    std::back_inserter(out));
  return out;
}

Body NestTiler::run_for_rows(const Conditions& of_tile, Body& ahead) {
  Body nest = tiles(vector(), {}, under(of_tile, distributed()));
  std::ranges::move(nest, std::back_inserter(before_vectors_));
  std::ranges::move(ahead_, std::back_inserter(ahead));
  return in_own_loops(outer_loops_of(chain_, tile_), std::move(before_vectors_));
}

/// Returns the statements, which access one row and lane of registers, for all of them for which
/// the guard holds; rows behind the end are the last one again.
Stmt NestTiler::over_registers(Body body, Conditions guard) {
  const Symbol i = symbol("row");
  const Symbol j = symbol("lane");
  Body lanes;
  lanes.push_back({Loop{j, 0, vector().amount, 1, {}, std::move(body), LoopKind::simd}});
  Loop all{
      i, 0, rows().amount, 1, {}, under(std::move(guard), std::move(lanes)), LoopKind::unrolled};
  substitute(all.body, {{kRow, Expr(i)},
                        {kLane, Expr(j)},
                        {rows().variable, min(Expr(rows().start) + Expr(i), rows().end - 1)}});
  return {std::move(all)};
}

/// Returns the parts of a reduction's range that all rows of a tile have, or only some; nullopt if
/// all rows have the whole range.
std::optional<RowRanges> NestTiler::ranges_of(const TiledReduction& r) const {
  if (!tile_.row_start || r.shared.row_conditions.empty()) return std::nullopt;
  const Expr start(rows().start);
  const auto s = row_ranges(rows_first(r).front(), r.shared.row_conditions,
                            {rows().variable, start, start + (rows().amount - 1)});
  if (!s) throw CannotTile{"rows leave out terms along several axes"};
  return s;
}

/// Returns the terms that only some rows of the tile have, which are added to the arrays of sums
/// row by row.
Stmt NestTiler::terms_of_some(const TiledReduction& r, const RowRanges& ranges, const Body& terms) {
  const Symbol row = symbol(rows().variable.name());
  const std::vector<LoopRange> loops = rows_first(r);
  const LoopRange& range = loops.front();
  const RowRanges own =
      *row_ranges(range, r.shared.row_conditions, {rows().variable, Expr(row), Expr(row)});
  Loop all{row, rows().start, min(Expr(rows().start) + rows().amount, rows().end), 1, {}, {}};
  const auto add = [&](const Expr& begin, const Expr& end) {
    std::vector<LoopRange> part = loops;
    part.front() = {range.variable, begin, end};
    const Symbol lane = symbol("lane");
    Body body = terms;
    substitute(body, {{kRow, Expr(row) - Expr(rows().start)},
                      {kLane, Expr(lane)},
                      {rows().variable, Expr(row)}});
    Body lanes;
    lanes.push_back({Loop{lane, 0, vector().amount, 1, {}, std::move(body), LoopKind::simd}});
    std::ranges::move(in_own_loops(part, under(r.shared.other_conditions, std::move(lanes))),
                      std::back_inserter(all.body));
  };
  add(own.begin, min(ranges.all_begin, own.end));
  add(max(own.begin, max(ranges.all_begin, ranges.all_end)), own.end);
  return {std::move(all)};
}

std::string NestTiler::add_tensor(const std::string& hint, NewTensor t) {
  const std::string name = symbol(hint).name();
  const std::size_t rank = t.shape.size();
  program().tensors.push_back({name, TensorRole::temporary, t.dtype, std::move(t.shape),
                               std::vector<std::string>(rank), t.per, t.memory, t.integer_bits});
  program().tensors.back().ordered_like = t.ordered_like;
  return name;
}

/// Returns the body in loops of new names.
Body NestTiler::in_own_loops(const std::vector<LoopRange>& loops, Body body) {
  std::map<Symbol, Expr> renamed;
  std::vector<LoopRange> own;
  for (const LoopRange& l : loops) {
    const Symbol v = symbol(l.variable == kRow    ? "row"
                            : l.variable == kLane ? "lane"
                                                  : l.variable.name());
    own.push_back({v, l.begin.substitute(renamed), l.end.substitute(renamed)});
    renamed.emplace(l.variable, Expr(v));
  }
  substitute(body, renamed);
  return in_loops(own, std::move(body));
}

void NestTiler::move_loop(const Loop& loop, Body& out) {
  const auto found = reductions_.find(loop.variable);
  if (found == reductions_.end())
    Tiler::move_loop(loop, out);
  else
    add_sums(found->second, out);
}

/// Returns the term of fold k, with what the map has for each operand.
Value NestTiler::term_of(const TiledReduction& r, std::size_t k,
                         const std::map<std::string, Value>& operands) {
  const Value term = rewrite(r.shared.terms[k], [&](const Value& v) {
    const auto* named = std::get_if<value::Named>(&v->kind);
    const auto operand = named == nullptr ? operands.end() : operands.find(named->name);
    return operand == operands.end() ? v : operand->second;
  });
  if (!r.pairs) return term;
  return op_value(MapOp::add, {substitute(term, {{kHalf, 0}}), substitute(term, {{kHalf, 1}})},
                  term->dtype, term->dtype);
}

/// Returns true if the terms that a condition of the rows leaves out are skipped. Products of
/// integers with 0 are 0.
bool NestTiler::skips_terms(const TiledReduction& r) const { return tile_.skips_terms && !r.pairs; }

/// Returns the number of rows; of a block, which lies in a loop around the rows, that of the first.
Expr NestTiler::rows_of_first_block() const {
  std::map<Symbol, Expr> first;
  for (std::size_t k = 0; k < tile_.around; ++k)
    first.emplace(chain_.loops[k]->variable, chain_.loops[k]->begin);
  return (all_rows_.end - all_rows_.begin).substitute(first);
}

Conditions NestTiler::demands() const {
  const Expr columns = vector().end - vector().begin;
  Conditions all;
  add_demands(all,
              {{Condition::Kind::nonneg, columns - (tile_.may_be_narrow ? 1 : vector().amount)},
               {Condition::Kind::nonneg, 2 * rows_of_first_block() - rows().amount}});
  add_demands(all, demands_);
  for (const auto& [variable, r] : reductions_) add_demands(all, r.demands);
  return all;
}

bool NestTiler::multiplies_padding() const {
  return std::ranges::any_of(reductions_, [&](const auto& r) {
    const SharedOperands& shared = r.second.shared;
    if (r.second.pairs) return false;
    return !shared.vector_conditions.empty() ||
           (!shared.row_conditions.empty() && !tile_.row_start && !tile_.skips_terms);
  });
}

std::string NestTiler::effect() const { return fmt::format("copies {}", fmt::join(panels_, ", ")); }

}  // namespace mote
