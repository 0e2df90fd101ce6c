// SPDX-License-Identifier: Apache-2.0
// Draws programs that are sums of products, as tiles in registers compute them: matrix products and
// convolutions whose axes stand in any order, with windows, terms outside of a tensor, factors and
// conditions that follow from positions, gathers, epilogues and several sums.
#include <algorithm>
#include <array>
#include <utility>

#include "program_builder.h"

namespace mote::test {
namespace {

/// A loop of the sums, if the program has it.
struct Around {
  bool is_there = false;
  Expr variable = 0;
  Expr extent = 1;
};

/// The positions that a window reads, and the extent of the axis that it slides along.
struct Windowed {
  Expr index, extent;
};

std::pair<std::vector<Expr>, std::vector<Expr>> extents_and_indices(
    const std::vector<Windowed>& axes) {
  std::vector<Expr> extents;
  std::vector<Expr> indices;
  for (const Windowed& w : axes) {
    extents.push_back(w.extent);
    indices.push_back(w.index);
  }
  return {extents, indices};
}

}  // namespace

/// The loops of a sum: those that both operands have (groups), those of the left operand (a batch,
/// images of one or two axes), those of the right one (columns), and those that are summed over.
struct ProgramBuilder::Products {
  Around batch, groups, columns, channels;
  std::array<Around, 2> images, taps;
  Extents extents;  ///< of all loops, those of the result first
  std::size_t result_rank = 0;
  Windowed window(Rng& rng, std::size_t k) const;
};

/// Draws how the window runs along axis k of the image.
Windowed ProgramBuilder::Products::window(Rng& rng, std::size_t k) const {
  const Expr extent = images[k].extent;
  const Expr i = images[k].variable;
  if (!taps[k].is_there) return {i, extent};
  const Expr tap = taps[k].variable;
  const Expr last = taps[k].extent - 1;
  switch (rng.below(9)) {
    case 0:
      return {i + tap - 1, extent};
    case 1:
      return {i + tap - last, extent};
    case 2:
      return {i + tap * 2 - rng.pick({1, 2}), extent};
    case 3:
      return {i * 2 + tap - rng.pick({0, 1}), rng.chance(50) ? extent : extent * 2};
    case 4:
      return {i * Expr::param("s") + tap - Expr::param("p"), extent};
    case 5:
      return {i - tap + rng.pick({0, 1}), extent};
    case 6:
      return {i + tap * Expr::param("s"), extent};
    default:
      return {i + tap, extent + (last.constant() ? last : taps[k].extent)};
  }
}

ProgramBuilder::Products ProgramBuilder::some_axes() {
  Products all;
  const Expr a = Expr::size("A"), b = Expr::size("B"), c = Expr::size("C"), d = Expr::size("D");
  const bool swaps = rng_.chance(25);
  const int windows = rng_.pick({0, 0, 1, 1, 1, 2});
  bool has_d = false;
  const auto some_d = [&](const Expr& other) {
    if (has_d || rng_.chance(60)) return other;
    has_d = true;
    return d;
  };
  struct Wanted {
    Around* loop;
    Expr extent;
  };
  std::vector<Wanted> result, summed = {{&all.channels, rng_.chance(15) ? c * 2 : c}};
  if (rng_.chance(35)) result.push_back({&all.batch, some_d(rng_.pick({1, 2}))});
  if (rng_.chance(12)) result.push_back({&all.groups, some_d(2)});
  if (windows == 2) result.push_back({all.images.data() + 1, some_d(rng_.pick({2, 3}))});
  result.push_back({all.images.data(), swaps ? b : a});
  result.push_back({&all.columns, swaps ? a : b});
  for (int k = 0; k < windows; ++k)
    summed.push_back({all.taps.data() + k, some_d(rng_.pick({1, 2, 3, 3}))});
  if (rng_.chance(40)) std::swap(result[result.size() - 2], result.back());
  if (rng_.chance(20)) rng_.shuffle(result);
  rng_.shuffle(summed);
  all.result_rank = result.size();
  std::ranges::move(summed, std::back_inserter(result));
  for (const Wanted& w : result) {
    *w.loop = {true, Expr::loop(static_cast<int>(all.extents.size())), w.extent};
    all.extents.push_back(w.extent);
  }
  return all;
}

Uop ProgramBuilder::add_input(DType dtype, const Extents& shape) {
  Shape axes;
  for (const Expr& e : shape) axes.emplace_back(e);
  const char letter =
      static_cast<char>(inputs_.size() < 3 ? 'x' + inputs_.size() : 'h' + inputs_.size());
  inputs_.push_back(input(std::string(1, letter), dtype, axes));
  return inputs_.back();
}

/// Replaces values by position, or multiplies them by it.
Uop ProgramBuilder::changed_by_position(const Uop& u) {
  Shape shape;
  for (const Expr& e : u.shape()) shape.emplace_back(e);
  const Expr i = Expr::loop(rng_.below(u.rank()));
  const Expr j = Expr::loop(rng_.below(u.rank()));
  const Uop position = iota(rng_.pick<Expr>({i, i, i - j, i + j, j * 2 - i}), shape);
  if (rng_.chance(40) && u.dtype() != DType::boolean) return u * cast(position, u.dtype());
  const MapOp op = rng_.pick({MapOp::lt, MapOp::ge, MapOp::ge, MapOp::ne});
  const Uop c = map(op, std::vector{position, scalar(Number(rng_.below(5)), DType::i64)});
  if (c.rank() != u.rank()) return u;
  return map(MapOp::where, std::vector{c, u, scalar(some_fill(u.dtype()), u.dtype())});
}

/// Draws an input with the axes of the left operand, and how the sums read it.
Uop ProgramBuilder::some_left(const Products& all, DType dtype) {
  std::vector<Windowed> axes;
  if (all.batch.is_there) axes.push_back({all.batch.variable, all.batch.extent});
  if (all.groups.is_there) axes.push_back({all.groups.variable, all.groups.extent});
  for (std::size_t k = all.images.size(); k-- > 0;)
    if (all.images[k].is_there) axes.push_back(all.window(rng_, k));
  axes.push_back({all.channels.variable, all.channels.extent});
  if (rng_.chance(25)) std::swap(axes[axes.size() - 2], axes.back());
  if (rng_.chance(15)) rng_.shuffle(axes);
  const auto [shape, from] = extents_and_indices(axes);
  Uop x = add_input(dtype, shape);
  if (rng_.chance(8)) {  // a gather: one index for all rows of an axis
    const int axis = rng_.below(x.rank());
    Shape extents;
    for (const Expr& e : shape) extents.emplace_back(e);
    const Uop rows =
        add_input(rng_.pick({DType::i64, DType::i32}), {shape[static_cast<std::size_t>(axis)]});
    x = select(x, axis, broadcast(rows, extents, {axis}), some_fill(dtype));
  }
  Shape extents;
  for (const Expr& e : all.extents) extents.emplace_back(e);
  const Number fill = rng_.chance(75) ? Number(0) : some_fill(dtype);
  return reindex(x, extents, {from.begin(), from.end()},
                 is_real(dtype) && !fill.is_real() ? Number(0.0) : fill);
}

/// Draws an input with the axes of the right operand, and reads it.
Uop ProgramBuilder::some_right(const Products& all, DType dtype) {
  std::vector<Windowed> axes;
  for (const Around& a : {all.groups, all.taps[1], all.taps[0], all.channels, all.columns})
    if (a.is_there) axes.push_back({a.variable, a.extent});
  if (rng_.chance(30)) std::ranges::reverse(axes);
  if (rng_.chance(15)) rng_.shuffle(axes);
  const auto [shape, from] = extents_and_indices(axes);
  return read(add_input(dtype, shape), all.extents, from);
}

/// Adds a bias, a limit, a factor or another dtype.
Uop ProgramBuilder::some_epilogue(const Uop& sum, const Products& all) {
  Uop u = sum;
  const Extents shape = u.shape();
  if (rng_.chance(30))
    u = u + read(add_input(u.dtype(), {all.columns.extent}), shape, {all.columns.variable});
  if (rng_.chance(15)) u = u * scalar(some_number(u.dtype()), u.dtype());
  if (rng_.chance(20))
    u = map(MapOp::max, std::vector{u, scalar(Number(is_real(u.dtype()) ? Number(0.0) : Number(0)),
                                              u.dtype())});
  if (rng_.chance(10)) u = make_cast(u);
  return u;
}

void ProgramBuilder::add_products() {
  const Products all = some_axes();
  const bool is_of_bytes = rng_.chance(15);
  const DType dtype = is_of_bytes ? DType::i32
                      : rng_.chance(15)
                          ? rng_.pick({DType::f16, DType::bf16, DType::i32, DType::i64})
                          : rng_.pick({DType::f32, DType::f32, DType::f64});
  const auto some_byte = [&] { return rng_.pick({DType::u8, DType::i8}); };
  const auto other = [&] {
    return is_of_bytes ? some_byte() : rng_.chance(8) ? some_dtype() : dtype;
  };
  Uop left = as(some_left(all, other()), dtype);
  Uop right = as(some_right(all, other()), dtype);
  if (rng_.chance(20)) left = changed_by_position(left);
  if (rng_.chance(10)) right = changed_by_position(right);
  if (rng_.chance(10)) left = left * as(some_left(all, other()), dtype);
  Uop term = rng_.chance(93) ? left * right : left + right;
  if (rng_.chance(10)) term = changed_by_position(term);
  std::vector<int> summed;
  for (std::size_t k = all.result_rank; k < all.extents.size(); ++k)
    summed.push_back(static_cast<int>(k));
  const ReduceOp op = rng_.chance(93) ? ReduceOp::sum : rng_.pick({ReduceOp::max, ReduceOp::prod});
  std::vector<Uop> made = {some_epilogue(reduced(op, term, summed), all)};
  if (rng_.chance(15))
    made.push_back(reduced(ReduceOp::sum,
                           rng_.chance(50) ? left : left * as(some_right(all, other()), dtype),
                           summed));
  pool_ = inputs_;
  pool_.insert(pool_.end(), made.begin(), made.end());
}

}  // namespace mote::test
