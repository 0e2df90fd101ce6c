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

/// Returns the loop over the tiles of an axis, with `before` ahead of the statements of a tile.
Body tiles(const TileAxis& axis, Body before, Body inner) {
  std::ranges::move(inner, std::back_inserter(before));
  Body out;
  out.push_back({Loop{axis.start, axis.begin, axis.end, axis.amount, {}, std::move(before)}});
  return out;
}

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

TileAmounts amounts_of(const std::map<Symbol, TiledReduction>& reductions,
                       const RegisterShape& shape) {
  const auto folds = static_cast<std::int64_t>(most_folds(reductions));
  return {std::max<std::int64_t>(1, shape.rows / folds),
          lanes_of(reductions, shape.vector_bytes) * shape.vectors};
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

/// The statements of a tile's sums: lists of bodies, one for all sums, or one for each where a call
/// may leave out an output.
struct NestTiler::TileSums {
  bool is_blocked;
  Symbol start;  ///< the first row of the tile
  Expr all_rows;
  std::vector<Body> zeros = std::vector<Body>(1), starts = zeros, terms = zeros, ends = zeros;
  Body some = {};  ///< the terms that only some rows have
};

/// Appends the sums of a tile; sums in blocks go into the body of a tile of columns.
void NestTiler::add_sums(const TiledReduction& r, Body& out) {
  const BlockedLoops loops = blocked_loops(r);
  const bool is_blocked = !loops.blocks.empty();
  Body block;
  const CopyLocations locations{loops, is_blocked ? block : before_rows_,
                                rows_outside_ ? before_vectors_ : out};
  std::map<std::string, Value> operands;
  for (std::size_t k = 0; k < r.shared.operands.size(); ++k) {
    const SharedOperand& o = r.shared.operands[k];
    operands[operand_name(k)] =
        is_direct(program(), tile_, r, o) ? o.value : copied(r, o, locations);
  }
  TileSums sums{is_blocked, is_blocked ? symbol(rows().variable.name() + "_tile") : rows().start,
                ceil_div(rows().end - rows().begin, rows().amount) * rows().amount};
  add_statements(r, operands, sums, out);
  const auto ranges = ranges_of(r);
  Body of_tile = tile_of_sums(r, loops, ranges, sums);
  if (is_blocked) {
    add_blocks(loops, std::move(sums), std::move(of_tile), std::move(block));
    return;
  }
  std::ranges::move(of_tile, std::back_inserter(out));
  if (ranges) out.push_back(terms_of_some(r, *ranges, std::move(sums.some)));
}

/// Makes the statements of all sums. Appends those that read sums in blocks where they are wanted.
void NestTiler::add_statements(const TiledReduction& r,
                               const std::map<std::string, Value>& operands, TileSums& sums,
                               Body& out) {
  // A call that lacks an output leaves out the statements of the sums that only that output needs.
  const bool is_one = program().source->outputs.size() == 1;
  const std::vector<Expr> here = {kRow, kLane};
  const std::vector<Expr> in_all = {Expr(sums.start) - rows().begin + Expr(kRow), kLane};
  const int bits = r.pairs ? 32 : 64;
  for (std::size_t k = 0; k < r.nest.folds.size(); ++k) {
    const Fold& fold = r.nest.folds[k];
    const DType dtype = fold.value->dtype;
    const Value term = term_of(r, k, operands);
    if (!is_one && k > 0)
      for (std::vector<Body>* bodies : {&sums.zeros, &sums.starts, &sums.terms, &sums.ends})
        bodies->emplace_back();
    const std::string in_registers = add_tensor(
        fold.accumulator,
        {dtype, amounts(), sums.is_blocked ? sums.start : per(), TensorMemory::registers, bits});
    const std::string& array = array_for(fold.accumulator, dtype, bits);
    const Value zero = constant(neutral(fold.op, dtype), dtype);
    sums.terms.back().push_back({StoreReduce{in_registers, here, *combine_of(fold.op), term}});
    sums.some.push_back({StoreReduce{array, here, *combine_of(fold.op), term}});
    if (!sums.is_blocked) {
      sums.starts.back().push_back({Store{in_registers, here, zero}});
      sums.ends.back().push_back({Store{array, here, load_value(in_registers, here, dtype)}});
      continue;
    }
    const std::string all =
        add_tensor("all_" + fold.accumulator, {dtype,
                                               {sums.all_rows, Expr(vector().amount)},
                                               vector().start,
                                               TensorMemory::automatic,
                                               bits});
    sums.zeros.back().push_back({Store{all, here, zero}});
    sums.starts.back().push_back({Store{in_registers, here, load_value(all, in_all, dtype)}});
    sums.ends.back().push_back({Store{all, in_all, load_value(in_registers, here, dtype)}});
    std::vector<Expr> of_tile = in_all;
    of_tile[0] = of_tile[0].substitute({{sums.start, Expr(rows().start)}});
    out.push_back(over_registers({{Store{array, here, load_value(all, of_tile, dtype)}}}));
  }
}

/// Returns the statements of a tile: its sums start, the loops add their terms, and its sums end.
Body NestTiler::tile_of_sums(const TiledReduction& r, const BlockedLoops& loops,
                             const std::optional<RowRanges>& ranges, TileSums& sums) {
  std::vector<LoopRange> inner = loops.inner;
  Conditions others = r.shared.other_conditions;
  if (ranges) {
    inner = rows_first(r);
    inner.front() = {symbol(inner.front().variable.name()), ranges->all_begin, ranges->all_end};
    const std::map<Symbol, Expr> own = {
        {rows_first(r).front().variable, Expr(inner.front().variable)}};
    for (Body& body : sums.terms) substitute(body, own);
    for (Condition& c : others) c.e = c.e.substitute(own);
  }
  const auto add_registers = [&](std::vector<Body>& bodies, Body& to) {
    for (Body& body : bodies) to.push_back(over_registers(std::move(body)));
  };
  Body of_tile, of_term;
  add_registers(sums.starts, of_tile);
  for (Body& body : sums.terms)
    of_term.push_back(
        over_registers(std::move(body), skips_terms(r) ? r.shared.row_conditions : Conditions{}));
  std::ranges::move(in_loops(inner, under(std::move(others), std::move(of_term))),
                    std::back_inserter(of_tile));
  add_registers(sums.ends, of_tile);
  return of_tile;
}

/// Puts the tiles of all rows into the loops over blocks, in front of the rows.
void NestTiler::add_blocks(const BlockedLoops& loops, TileSums sums, Body of_tile, Body block) {
  substitute(of_tile, {{rows().start, Expr(sums.start)}});
  TileAxis axis = rows();
  axis.start = sums.start;
  std::ranges::move(tiles(axis, {}, std::move(of_tile)), std::back_inserter(block));
  for (Body& body : sums.zeros)
    std::ranges::move(
        in_own_loops({{kRow, 0, sums.all_rows}, {kLane, 0, vector().amount}}, std::move(body)),
        std::back_inserter(before_rows_));
  for (auto l = loops.blocks.rbegin(); l != loops.blocks.rend(); ++l) {
    Loop around = *l;
    around.body = std::exchange(block, {});
    block.push_back({std::move(around)});
  }
  std::ranges::move(block, std::back_inserter(before_rows_));
}

/// Returns the number of rows; of a block, which lies in a loop around the rows, that of the first.
Expr NestTiler::rows_of_first_block() const {
  std::map<Symbol, Expr> first;
  for (std::size_t k = 0; k < tile_.around; ++k)
    first.emplace(chain_.loops[k]->variable, chain_.loops[k]->begin);
  return (all_rows_.end - all_rows_.begin).substitute(first);
}

Conditions NestTiler::demands() const {
  const Expr columns = vector().end - vector().begin;
  Conditions all = {
      {Condition::Kind::nonneg, columns - (tile_.may_be_narrow ? 1 : vector().amount)},
      {Condition::Kind::nonneg, 2 * rows_of_first_block() - rows().amount}};
  const auto add = [&](const Conditions& more) {
    for (const Condition& c : more)
      if (std::ranges::find(all, c) == all.end()) all.push_back(c);
  };
  add(demands_);
  for (const auto& [variable, r] : reductions_) add(r.demands);
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
