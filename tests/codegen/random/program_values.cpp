// SPDX-License-Identifier: Apache-2.0
// Draws nodes of random programs that compute values: Map in its many ops, where, masks, casts,
// Reduce, Select, scatters, and the idioms of products, normalisations, running sums, sums over the
// windows that hold an element, and twins.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "program_builder.h"
#include "twin.h"

namespace mote::test {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

}  // namespace

DType ProgramBuilder::some_dtype() {
  if (rng_.chance(15)) return rng_.pick({DType::f16, DType::bf16, DType::i8, DType::u8});
  return rng_.pick({DType::f64, DType::f64, DType::f64, DType::f64, DType::f64, DType::f32,
                    DType::f32, DType::i64, DType::i32, DType::boolean});
}

Number ProgramBuilder::some_number(DType dtype) {
  if (dtype == DType::boolean) return Number(rng_.below(2));
  if (dtype == DType::u8) return Number(rng_.pick({0, 1, 2, 5, 250}));
  if (is_integer(dtype)) return Number(rng_.pick({-3, -1, 0, 1, 2, 5}));
  return Number(rng_.pick({-2.0, -0.5, 0.0, 1.0, 1.5, 3.0, 0.1}));
}

Number ProgramBuilder::some_fill(DType dtype) {
  if (dtype == DType::boolean) return Number(rng_.below(2));
  if (dtype == DType::u8) return Number(rng_.pick({0, 0, 1, 3, 255}));
  if (is_integer(dtype)) return Number(rng_.pick({0, 0, 1, 3, -7}));
  return Number(rng_.pick({0.0, 0.0, 0.0, 3.0, 1.0, -kInf}));
}

Uop ProgramBuilder::like(const Extents& shape, std::optional<DType> dtype) {
  std::vector<Uop> same;
  for (const Uop& u : pool_)
    if (same_shape(u.shape(), shape) && (!dtype || u.dtype() == *dtype)) same.push_back(u);
  if (!same.empty() && rng_.chance(75)) return rng_.pick(same);
  const Uop u = rng_.pick(pool_);
  std::vector<Expr> from;
  for (int k = 0; k < u.rank(); ++k) from.push_back(some_index(static_cast<int>(shape.size())));
  const Uop made = u.rank() == 0 && shape.empty() ? u : read(u, shape, from);
  return dtype ? as(made, *dtype) : made;
}

Uop ProgramBuilder::make_unary(const Uop& u) {
  using enum MapOp;
  if (u.dtype() == DType::boolean) return map(logical_not, std::vector{u});
  if (is_integer(u.dtype()))
    return map(rng_.pick({neg, abs, sign, neg, abs, sign, bitwise_not}), std::vector{u});
  const MapOp op =
      rng_.pick({neg,   neg,   neg,   abs,   abs,   sign,  floor,   ceil,      round,
                 trunc, recip, sqrt,  rsqrt, exp,   log,   tanh,    sin,       cos,
                 erf,   expm1, log1p, atan,  isnan, isinf, next_up, next_down, lowest_bit});
  return map(op, std::vector{u});
}

Uop ProgramBuilder::make_binary(const Uop& u) {
  using enum MapOp;
  const Uop v = like(u.shape(), u.dtype());
  if (u.dtype() == DType::boolean)
    return map(rng_.pick({logical_and, logical_or, logical_xor}), std::vector{u, v});
  MapOp op = rng_.pick({add, add, add, sub, sub, mul, mul, mul, min, max, max, div, mod, pow});
  if (is_integer(u.dtype()) && rng_.chance(30))
    op = rng_.pick({bitwise_and, bitwise_or, bitwise_xor, shift_left, shift_right});
  if (u.dtype() == DType::i64 && rng_.chance(10)) op = philox;
  if (rng_.chance(20))
    return map(op, {Operand(u), Operand(scalar(some_number(u.dtype()), u.dtype()))});
  if (rng_.chance(5)) return map(op, std::vector{u, u});
  return rng_.chance(50) ? map(op, std::vector{u, v}) : map(op, std::vector{v, u});
}

Uop ProgramBuilder::condition(const Extents& shape) {
  using enum MapOp;
  const Uop u = like(shape, std::nullopt);
  if (u.dtype() == DType::boolean) return u;
  const Uop v =
      rng_.chance(50) ? scalar(some_number(u.dtype()), u.dtype()) : like(shape, u.dtype());
  return map(rng_.pick({lt, le, gt, ge, eq, ne}), std::vector{u, v});
}

Uop ProgramBuilder::make_where(const Uop& u) {
  const Uop c = condition(u.shape());
  const Uop other =
      rng_.chance(40) ? scalar(some_number(u.dtype()), u.dtype()) : like(u.shape(), u.dtype());
  const bool bare = c.rank() != u.rank();
  if (bare) return {};
  return rng_.chance(50) ? map(MapOp::where, std::vector{c, u, other})
                         : map(MapOp::where, std::vector{c, other, u});
}

// Chooses values by position: causal masks, stripes, frames.
Uop ProgramBuilder::make_mask(const Uop& u) {
  using enum MapOp;
  if (u.rank() == 0) return {};
  Shape shape;
  for (const Expr& e : u.shape()) shape.emplace_back(e);
  const Uop left = iota(iota_value(u.rank()), shape);
  if (rng_.chance(20) && u.dtype() != DType::boolean)
    return map(rng_.pick({add, mul}), std::vector{u, as(left, u.dtype())});
  const Uop right = rng_.chance(50) ? scalar(Number(rng_.below(4)), DType::i64)
                                    : iota(iota_value(u.rank()), shape);
  Uop c = map(rng_.pick({lt, le, gt, ge, eq, ne}), std::vector{left, right});
  if (c.rank() != u.rank()) return {};
  if (rng_.chance(15))
    c = map(rng_.pick({logical_and, logical_or}), std::vector{c, condition(u.shape())});
  if (rng_.chance(10)) c = map(logical_not, std::vector{c});
  const Uop other = scalar(some_fill(u.dtype()), u.dtype());
  return rng_.chance(75) ? map(where, std::vector{c, u, other})
                         : map(where, std::vector{c, other, u});
}

Uop ProgramBuilder::make_cast(const Uop& u) {
  if (rng_.chance(30))
    return cast(u, rng_.pick({DType::f16, DType::bf16, DType::i8, DType::u8, DType::u8}));
  return cast(
      u, rng_.pick({DType::f64, DType::f64, DType::f32, DType::i64, DType::i32, DType::boolean}));
}

Uop ProgramBuilder::reduced(ReduceOp op, const Uop& u, const std::vector<int>& axes) {
  const bool logical = op == ReduceOp::any || op == ReduceOp::all;
  if (logical) return reduce(op, as(u, DType::boolean), axes);
  if (u.dtype() == DType::boolean) return reduce(op, cast(u, DType::i64), axes);
  return reduce(op, u, axes);
}

// Computes the position of the greatest element over axes that are never empty, like a window of C.
Uop ProgramBuilder::argmax_of_some(const Uop& u) {
  Extents shape = u.shape();
  shape.push_back(Expr::size("C"));
  if (!fits(shape)) return {};
  std::vector<Expr> from = identity(u.rank());
  from.back() = from.back() + Expr::loop(u.rank());
  const ReduceOp op = rng_.pick({ReduceOp::argmax, ReduceOp::argmin});
  return reduced(op, read(u, shape, from), {u.rank()});
}

Uop ProgramBuilder::make_reduce(const Uop& u) {
  using enum ReduceOp;
  if (u.rank() == 0) return {};
  std::vector<int> axes;
  for (int k = 0; k < u.rank(); ++k)
    if (rng_.chance(40)) axes.push_back(k);
  if (axes.empty()) axes.push_back(rng_.below(u.rank()));
  ReduceOp op =
      rng_.pick({sum, sum, sum, prod, max, min, argmax, argmin, argmax, argmin, any, all});
  const bool positive = std::all_of(axes.begin(), axes.end(), [&](int k) {
    return surely_positive(unaliased(u.shape()[static_cast<std::size_t>(k)]));
  });
  if (!positive && (op == argmax || op == argmin)) op = rng_.pick({max, min});
  if (!positive && rng_.chance(10)) return argmax_of_some(u);
  return reduced(op, u, axes);
}

// Reads y[i] = x[…index[i]…] by an index that is computed from positions, or read from data.
Uop ProgramBuilder::make_select(const Uop& u) {
  if (u.rank() == 0) return {};
  const int axis = rng_.below(u.rank());
  Extents shape = u.shape();
  shape[static_cast<std::size_t>(axis)] = some_extent();
  if (!fits(shape)) return {};
  Shape axes;
  for (const Expr& e : shape) axes.emplace_back(e);
  Uop index;
  if (rng_.chance(40)) {
    index = iota(iota_value(u.rank()), axes);
  } else {
    index = like(shape, std::nullopt);
    if (!is_integer(index.dtype())) index = cast(index, DType::i64);
    if (index.rank() != u.rank()) return {};
    if (rng_.chance(30)) index = index + 1;
  }
  return select(u, axis, index, some_fill(u.dtype()));
}

Uop ProgramBuilder::some_base(const Extents& shape, DType dtype) {
  if (rng_.chance(50)) return like(shape, dtype);
  Shape axes;
  for (const Expr& e : shape) axes.emplace_back(e);
  return reindex(scalar(some_number(dtype), dtype), axes, {});
}

ScatterOp ProgramBuilder::some_scatter_op(DType dtype) {
  using enum ScatterOp;
  if (dtype == DType::boolean) return rng_.pick({max, min, set});
  return rng_.pick({add, add, add, mul, max, min, set, set});
}

// Draws the target indices of a tensor of that rank: shifted, strided, windows as of a convolution,
// or any map, with duplicates and out of range.
std::vector<Expr> ProgramBuilder::some_locations(int rank, int target_rank) {
  std::vector<Expr> to;
  for (int k = 0; k < target_rank; ++k) {
    if (k < rank && rng_.chance(50)) {
      const Expr i = Expr::loop(k);
      to.push_back(rng_.pick<Expr>({i, i, i + 1, i - 1, i * 2, i * Expr::param("s")}));
      if (k + 1 < rank && rng_.chance(25))
        to.back() = to.back() + Expr::loop(k + 1) - Expr::param("p");
    } else {
      to.push_back(some_index(rank));
    }
  }
  return to;
}

Uop ProgramBuilder::make_scatter(const Uop& u) {
  const int rank = rng_.below(10) == 0 ? 0 : 1 + rng_.below(3);
  Extents shape;
  for (int k = 0; k < rank; ++k)
    shape.push_back(k < u.rank() && rng_.chance(50) ? u.shape()[static_cast<std::size_t>(k)]
                                                    : some_extent());
  if (!fits(shape)) return {};
  const Uop base = some_base(shape, u.dtype());
  const std::vector<Expr> to = some_locations(u.rank(), rank);
  return scatter(some_scatter_op(u.dtype()), base, u, {to.begin(), to.end()});
}

// Scatters by an index that is computed from positions, or read from data.
Uop ProgramBuilder::make_select_scatter(const Uop& u) {
  if (u.rank() == 0) return {};
  const int axis = rng_.below(u.rank());
  Extents shape = u.shape();
  shape[static_cast<std::size_t>(axis)] = some_extent();
  if (!fits(shape)) return {};
  Uop index;
  if (rng_.chance(30)) {
    Shape axes;
    for (const Expr& e : u.shape()) axes.emplace_back(e);
    index = iota(iota_value(u.rank()), axes);
  } else {
    index = like(u.shape(), std::nullopt);
    if (!is_integer(index.dtype())) index = cast(index, DType::i64);
    if (index.rank() != u.rank()) return {};
  }
  return select_scatter(some_scatter_op(u.dtype()), some_base(shape, u.dtype()), u, axis, index);
}

Uop ProgramBuilder::make_param(const Uop& u) {
  const MapOp op = rng_.pick({MapOp::add, MapOp::mul, MapOp::max});
  if (u.dtype() == DType::boolean) return {};
  if (is_real(u.dtype())) return map(op, std::vector{u, param("eps", u.dtype())});
  return map(op, std::vector{u, param(rng_.chance(50) ? "s" : "p", u.dtype())});
}

Uop ProgramBuilder::make_stop(const Uop& u) { return stop_gradient(u); }

// Makes a matrix product along the last axis of u: sum over k of u[…, k] * v[k, j]. Some are
// products of bytes.
Uop ProgramBuilder::make_product(const Uop& u) {
  if (u.rank() == 0 || u.rank() > 2 || u.dtype() == DType::boolean) return {};
  Extents wide = u.shape();
  const Expr inner = wide.back();
  const Expr columns = some_extent();
  wide.push_back(columns);
  if (!fits(wide)) return {};
  const bool is_of_bytes = rng_.chance(is_integer(u.dtype()) ? 60 : 25);
  const auto factor = [&](const Extents& shape, DType byte) {
    return is_of_bytes ? cast(like(shape, byte), DType::i32) : like(shape, u.dtype());
  };
  std::vector<Expr> from;
  for (int k = 0; k < u.rank(); ++k) from.push_back(Expr::loop(k));
  const Uop left = read(is_of_bytes ? factor(u.shape(), DType::u8) : u, wide, from);
  const Uop right = read(factor({inner, columns}, DType::i8), wide,
                         {Expr::loop(u.rank() - 1), Expr::loop(u.rank())});
  return reduced(ReduceOp::sum, left * right, {u.rank() - 1});
}

// Makes e / sum(e), e = f(x - max(x)): a row with two reductions.
Uop ProgramBuilder::make_normalised(const Uop& u) {
  if (u.rank() == 0 || !is_real(u.dtype())) return {};
  const Axes axis = {rng_.below(u.rank())};
  const Uop shifted = u - (rng_.chance(50) ? max(u, axis) : mean(u, axis));
  const Uop e = rng_.chance(50) ? exp(shifted) : shifted * shifted;
  return rng_.chance(50) ? e / sum(e, axis) : shifted * sum(e, axis);
}

// Makes masked attention: w = where(mask, f(x), c), w / sum(w), and a product that reads w again
// for each column. A value that is read that often gets a temporary, with the mask in it.
Uop ProgramBuilder::make_masked(const Uop& u) {
  if (u.rank() == 0 || u.rank() > 2 || !is_real(u.dtype())) return {};
  const Uop e = rng_.chance(50) ? exp(u) : map(MapOp::sin, std::vector{u});
  Uop w = rng_.chance(30) ? make_shift(e) : make_mask(e);
  if (!w || w.rank() != u.rank() || w.dtype() != u.dtype()) return {};
  const int last = w.rank() - 1;
  if (rng_.chance(40)) w = w / sum(w, {last});
  if (rng_.chance(30)) w = w - max(w, {last});
  const Uop rows = rng_.chance(50) ? w : make_mask(w);
  if (!rows) return {};
  return rng_.chance(70) ? make_product(rows) : w * sum(rows, {last});
}

// Makes y[…, i] = sum over j <= i of x[…, j], or over j < i, or over those after i.
Uop ProgramBuilder::make_running(const Uop& u) {
  if (u.rank() == 0 || u.dtype() == DType::boolean) return {};
  const int r = u.rank();
  Extents wide = u.shape();
  wide.push_back(u.shape().back());
  if (!fits(wide)) return {};
  Shape shape;
  for (const Expr& e : wide) shape.emplace_back(e);
  const Expr behind = Expr::loop(r) - Expr::loop(r - 1);
  const int gap = rng_.chance(30) ? 1 : 0;
  const Uop seen = iota(rng_.chance(50) ? behind : -behind, shape) >= gap;
  const Uop all = where(seen, read(u, wide, identity(r)), 0);
  return reduced(rng_.pick({ReduceOp::sum, ReduceOp::max, ReduceOp::prod}), all, {r - 1});
}

// Makes the sum, at each element, over the windows with a stride that hold it: the gradient of a
// pooling, or the transpose of a convolution.
Uop ProgramBuilder::make_overlap(const Uop& u) {
  if (u.rank() == 0 || !is_real(u.dtype())) return {};
  const int last = u.rank() - 1, tap = u.rank();
  Extents wide = u.shape();
  wide.back() = some_extent();
  wide.push_back(rng_.pick<Expr>({Expr::size("C"), 2, 3}));
  if (!fits(wide)) return {};
  Shape shape;
  for (const Expr& e : wide) shape.emplace_back(e);
  const Expr stride = rng_.chance(60) ? Expr::param("s") : Expr(2);
  const Expr at = Expr::loop(last) + Expr::param("p") - Expr::loop(tap) * rng_.pick({1, 2, 2, 3});
  std::vector<Expr> from = identity(u.rank());
  from.back() = at / stride;
  const Uop is_window =
      map(MapOp::eq, std::vector{iota(at % stride, shape), scalar(Number(0), DType::i64)});
  const Uop all = where(is_window, read(u, wide, from), 0);
  return reduced(ReduceOp::sum, all, {tap});
}

/// Adds a twin, mostly of a costly value, from which the schedule's step once can keep the program,
/// and reads both, or sums over the twin.
Uop ProgramBuilder::make_twin(const Uop& x) {
  constexpr std::size_t kMostNodes = 12;
  if (x.rank() < 2 || topological(std::array{x}).size() > kMostNodes) return {};
  const Uop u = is_real(x.dtype()) && rng_.chance(70)
                    ? map(rng_.pick({MapOp::sin, MapOp::exp, MapOp::tanh}), std::vector{x})
                    : x;
  std::vector<int> order;
  for (int k = 0; k < u.rank(); ++k) order.push_back(k);
  rng_.shuffle(order);
  const Uop twin = twin_of(u, order);
  if (u.dtype() == DType::boolean || rng_.chance(10)) return twin;
  if (rng_.chance(25)) return reduced(ReduceOp::sum, twin, {rng_.below(twin.rank())});
  std::vector<Expr> from;
  for (const int axis : order) from.push_back(Expr::loop(axis));
  return map(rng_.pick({MapOp::max, MapOp::add}), std::vector{u, read(twin, u.shape(), from)});
}

}  // namespace mote::test
