// SPDX-License-Identifier: Apache-2.0
// The part of NestTiler that makes the statements of sums: those of a tile in registers, and the
// loops over blocks of the sums.
#include <algorithm>
#include <utility>

#include "schedule/combine.h"
#include "schedule/tiles/nest_tiler.h"
#include "schedule/tiles/reduction_loops.h"

namespace mote {

/// The statements of a tile's sums: lists of bodies, one for all sums, or one for each where a call
/// may leave out an output.
struct NestTiler::TileSums {
  bool is_blocked;
  Symbol start;  ///< the first row of the tile
  /// The axes of the arrays that hold sums in blocks, and their indices in a tile: of the nest's
  /// other loops and tiles of columns, where blocks lie around these, and of all rows.
  std::vector<Expr> shape, index;
  std::vector<Body> zeros = std::vector<Body>(1), starts = zeros, terms = zeros, ends = zeros;
  Body some = {};  ///< the terms that only some rows have

  bool is_around_nest() const { return shape.size() > 2; }
};

NestTiler::TileSums NestTiler::start_sums(const BlockedLoops& loops) {
  if (loops.blocks.empty()) return {false, rows().start, {}, {}};
  TileSums sums{true, symbol(rows().variable.name() + "_tile"), {}, {}};
  if (loops.are_around_nest) {
    for (const LoopRange& l : outer_loops_of(chain_, tile_)) {
      sums.shape.push_back(extent_of(l));
      sums.index.push_back(Expr(l.variable) - l.begin);
    }
    sums.shape.push_back(ceil_div(vector().end - vector().begin, vector().amount));
    sums.index.push_back((Expr(vector().start) - vector().begin) / vector().amount);
  }
  sums.shape.push_back(ceil_div(rows().end - rows().begin, rows().amount) * rows().amount);
  sums.shape.emplace_back(vector().amount);
  sums.index.push_back(Expr(sums.start) - rows().begin + Expr(kRow));
  sums.index.emplace_back(kLane);
  return sums;
}

/// Appends the sums of a tile; sums in blocks go into the body of a tile of columns, or ahead of
/// the nest.
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
  TileSums sums = start_sums(loops);
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
    const std::string all = add_tensor(
        "all_" + fold.accumulator,
        {dtype, sums.shape, sums.is_around_nest() ? std::nullopt : std::optional(vector().start),
         TensorMemory::automatic, bits});
    std::vector<Expr> of_row = sums.index, of_tile = sums.index;
    of_row[of_row.size() - 2] = kRow;
    for (Expr& e : of_tile) e = e.substitute({{sums.start, Expr(rows().start)}});
    sums.zeros.back().push_back({Store{all, of_row, zero}});
    sums.starts.back().push_back({Store{in_registers, here, load_value(all, sums.index, dtype)}});
    sums.ends.back().push_back({Store{all, sums.index, load_value(in_registers, here, dtype)}});
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

/// Returns the body, which is for one tile of columns, in loops over the nest's other loops and all
/// tiles of columns.
Body NestTiler::in_tiles_of_columns(Body body) {
  const TileAxis& columns = vector();
  const Symbol part = symbol(columns.variable.name() + "_part");
  substitute(body, {{columns.start, columns.begin + columns.amount * Expr(part)}});
  std::vector<LoopRange> loops = outer_loops_of(chain_, tile_);
  loops.push_back({part, 0, ceil_div(columns.end - columns.begin, columns.amount)});
  return in_own_loops(loops, std::move(body));
}

/// Puts the tiles of all rows into the loops over blocks, in front of the rows or of the nest.
void NestTiler::add_blocks(const BlockedLoops& loops, TileSums sums, Body of_tile, Body block) {
  Body& out = loops.are_around_nest ? ahead_ : before_rows_;
  const auto add = [&](Body body, Body& to) {
    if (loops.are_around_nest) body = in_tiles_of_columns(std::move(body));
    std::ranges::move(body, std::back_inserter(to));
  };
  substitute(of_tile, {{rows().start, Expr(sums.start)}});
  TileAxis axis = rows();
  axis.start = sums.start;
  add(tiles(axis, {}, std::move(of_tile)), block);
  const Expr all_rows = sums.shape[sums.shape.size() - 2];
  for (Body& body : sums.zeros)
    add(in_own_loops({{kRow, 0, all_rows}, {kLane, 0, vector().amount}}, std::move(body)), out);
  for (auto l = loops.blocks.rbegin(); l != loops.blocks.rend(); ++l) {
    Loop around = *l;
    around.body = std::exchange(block, {});
    block.push_back({std::move(around)});
  }
  std::ranges::move(block, std::back_inserter(out));
}

}  // namespace mote
