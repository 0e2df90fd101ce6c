// SPDX-License-Identifier: Apache-2.0
// Draws nodes of random programs that read through index maps: shifts, reversals, strides,
// permutations, merged and split axes, diagonals, windows, and maps that leave the range.
#include <algorithm>

#include "program_builder.h"

namespace mote::test {

std::vector<Expr> ProgramBuilder::identity(int rank) {
  std::vector<Expr> from;
  for (int k = 0; k < rank; ++k) from.push_back(Expr::loop(k));
  return from;
}

Uop ProgramBuilder::read(const Uop& u, const Extents& shape, const std::vector<Expr>& from) {
  Shape axes;
  for (const Expr& e : shape) axes.emplace_back(e);
  std::vector<IndexText> index(from.begin(), from.end());
  return reindex(u, axes, index, some_fill(u.dtype()));
}

// Draws an expression that is affine in one or two axes of a rank, often out of range.
Expr ProgramBuilder::some_index(int rank) {
  if (rank == 0) return Expr(rng_.pick({0, 0, 1, 2, -1}));
  const Expr i = Expr::loop(rng_.below(rank));
  const Expr j = Expr::loop(rng_.below(rank));
  switch (rng_.below(12)) {
    case 0:
      return i + rng_.pick({-2, -1, 1, 2});
    case 1:
      return -i + 3;
    case 2:
      return i * 2 - 1;
    case 3:
      return i + j - 1;
    case 4:
      return i / 2;
    case 5:
      return i % 2;
    case 6:
      return i * Expr::param("s") - Expr::param("p");
    case 7:
      return Expr(rng_.below(3));
    case 8:
      return rng_.chance(50) ? min(i, j) : max(i - 1, Expr(0));
    case 9:
      return i - j;
    default:
      return i;
  }
}

Expr ProgramBuilder::iota_value(int rank) {
  const Expr i = Expr::loop(rng_.below(rank));
  const Expr j = Expr::loop(rng_.below(rank));
  switch (rng_.below(9)) {
    case 0:
      return i + rng_.pick({-1, 1, 2});
    case 1:
      return (i + j) % 2;
    case 2:
      return i * 2 - j;
    case 3:
      return Expr::size(rng_.pick({"A", "B", "C"})) - 1 - i;
    case 4:
      return i * Expr::param("s") + Expr::param("p");
    case 5:
      return (i + 1) / 2;
    case 6:
      return i + j;
    default:
      return i;
  }
}

Uop ProgramBuilder::make_broadcast(const Uop& u) {
  const int at = rng_.below(u.rank() + 1);
  Extents shape = u.shape();
  shape.insert(shape.begin() + at, some_extent());
  if (!fits(shape)) return {};
  std::vector<Expr> from;
  for (int k = 0; k < u.rank(); ++k) from.push_back(Expr::loop(k < at ? k : k + 1));
  return read(u, shape, from);
}

// Shifts, reverses or strides one axis, or combines these; it may get another extent.
Uop ProgramBuilder::make_shift(const Uop& u) {
  if (u.rank() == 0) return {};
  const int at = rng_.below(u.rank());
  const auto axis = static_cast<std::size_t>(at);
  Extents shape = u.shape();
  std::vector<Expr> from = identity(u.rank());
  const Expr i = Expr::loop(at);
  switch (rng_.below(7)) {
    case 0:
      from[axis] = shape[axis] - 1 - i;
      break;
    case 1:
      from[axis] = i * rng_.pick({2, 3}) + rng_.pick({-1, 0, 1});
      break;
    case 2:
      from[axis] = i * Expr::param("s") - Expr::param("p");
      break;
    case 3:
      from[axis] = -i + 3;
      break;
    case 4:
      from[axis] = i - Expr::param("p");
      break;
    default:
      from[axis] = i + rng_.pick({-2, -1, 1, 2});
  }
  if (rng_.chance(25)) {
    const Expr longer = shape[axis] + rng_.pick({1, 2});
    shape[axis] = rng_.pick({longer, ceil_div(shape[axis], 2), some_extent()});
  }
  return read(u, shape, from);
}

Uop ProgramBuilder::make_permutation(const Uop& u) {
  if (u.rank() < 2) return {};
  std::vector<int> order;
  for (int k = 0; k < u.rank(); ++k) order.push_back(k);
  rng_.shuffle(order);
  Extents shape(u.shape().size());
  std::vector<Expr> from;
  for (std::size_t k = 0; k < order.size(); ++k) {
    from.push_back(Expr::loop(order[k]));
    shape[static_cast<std::size_t>(order[k])] = u.shape()[k];
  }
  return read(u, shape, from);
}

// Merges two adjacent axes into one: i/Q and i%Q.
Uop ProgramBuilder::make_merge(const Uop& u) {
  if (u.rank() < 2) return {};
  const auto at = static_cast<std::size_t>(rng_.below(u.rank() - 1));
  const Expr inner = u.shape()[at + 1];
  const Expr merged = Expr::loop(static_cast<int>(at));
  Extents shape = u.shape();
  shape[at] = shape[at] * inner;
  shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(at) + 1);
  std::vector<Expr> from;
  for (std::size_t k = 0; k < u.shape().size(); ++k)
    from.push_back(k == at       ? merged / inner
                   : k == at + 1 ? merged % inner
                                 : Expr::loop(static_cast<int>(k < at ? k : k - 1)));
  return read(u, shape, from);
}

// Splits one axis into two, i*Q + j; the last row may be cut off.
Uop ProgramBuilder::make_split(const Uop& u) {
  if (u.rank() == 0) return {};
  const int at = rng_.below(u.rank());
  const auto axis = static_cast<std::size_t>(at);
  Expr inner = rng_.pick<Expr>({Expr(2), Expr(3), Expr::size("C")});
  Expr outer = ceil_div(u.shape()[axis], inner);
  const auto& terms = u.shape()[axis].terms();
  if (terms.size() == 1 && terms[0].atoms.size() == 2 && terms[0].coefficient == 1) {
    outer = Expr::from_atom(terms[0].atoms[0]);
    inner = Expr::from_atom(terms[0].atoms[1]);
  }
  Extents shape = u.shape();
  shape[axis] = outer;
  shape.insert(shape.begin() + at + 1, inner);
  if (!fits(shape)) return {};
  std::vector<Expr> from;
  for (int k = 0; k < u.rank(); ++k) from.push_back(Expr::loop(k <= at ? k : k + 1));
  from[axis] = Expr::loop(at) * inner + Expr::loop(at + 1);
  return read(u, shape, from);
}

Uop ProgramBuilder::make_diagonal(const Uop& u) {
  if (u.rank() < 2) return {};
  std::vector<Expr> from = identity(u.rank() - 1);
  from.push_back(Expr::loop(rng_.below(u.rank() - 1)));
  if (rng_.chance(20)) from.back() = from.back() + 1;
  return read(u, Extents(u.shape().begin(), u.shape().end() - 1), from);
}

// Reads one axis at a constant, or at a parameter.
Uop ProgramBuilder::make_pick(const Uop& u) {
  if (u.rank() == 0) return {};
  const int at = rng_.below(u.rank());
  Extents shape = u.shape();
  shape.erase(shape.begin() + at);
  std::vector<Expr> from;
  for (int k = 0; k < u.rank(); ++k) from.push_back(Expr::loop(k < at ? k : k - 1));
  from[static_cast<std::size_t>(at)] =
      rng_.pick<Expr>({Expr(0), Expr(1), Expr(2), Expr::param("p")});
  return read(u, shape, from);
}

Uop ProgramBuilder::make_any_map(const Uop& u) {
  const int rank = rng_.below(4);
  const Extents shape = some_shape(rank);
  if (!fits(shape)) return {};
  std::vector<Expr> from;
  for (int k = 0; k < u.rank(); ++k) from.push_back(some_index(rank));
  return read(u, shape, from);
}

// Reads windows of a convolution, reduced right away or later: x[…, i*s + k - p].
Uop ProgramBuilder::make_window(const Uop& u) {
  if (u.rank() == 0 || u.rank() > 2) return {};
  const int at = rng_.below(u.rank());
  Extents shape = u.shape();
  shape.push_back(rng_.pick<Expr>({Expr(2), Expr(3), Expr::size("C")}));
  if (!fits(shape)) return {};
  std::vector<Expr> from = identity(u.rank());
  const Expr step = rng_.pick<Expr>({Expr(1), Expr(1), Expr(2), Expr::param("s")});
  const Expr pad = rng_.pick<Expr>({Expr(0), Expr(1), Expr::param("p")});
  from[static_cast<std::size_t>(at)] = Expr::loop(at) * step + Expr::loop(u.rank()) - pad;
  const Uop windows = read(u, shape, from);
  if (rng_.chance(30)) return windows;
  return reduced(rng_.pick({ReduceOp::sum, ReduceOp::max}), windows, {u.rank()});
}

}  // namespace mote::test
