// SPDX-License-Identifier: Apache-2.0
// Winograd's convolutions F(m x m, 3 x 3) as forms of conv2d: each tile of m + 2 rows and columns
// of x and each kernel is transformed, their products are summed over channels, and the sums are
// transformed back to m x m outputs. With t = m + 2, over tiles (h, w) that begin at output (m h, m
// w):
//
//   V[n, ci, h, w, a, b] = sum_ij B[a, i] B[b, j] x[n, ci, m h + i - pads0, m w + j - pads1]
//   U[co, ci, a, b] = sum_ij G[a, i] G[b, j] w[co, ci, i, j] / g^2
//   y[n, co, m h + p, m w + q] = sum_ab A[p, a] A[q, b] sum_ci U[co, ci, a, b] V[n, ci, h, w, a, b]
//
// Both axes of a transform are one sum, so that the bound holds whichever comes first, and however
// terms are shared between rows.
#include <fmt/format.h>

#include "families.h"

namespace mote {
namespace {

using Matrix = std::vector<std::vector<int>>;

/// The matrices for the points 0, 1, -1 and infinity; F(4 x 4) has 2 and -2 too.
struct Transform {
  int m;      ///< outputs of a tile along an axis
  Matrix b;   ///< transforms x: t x t
  Matrix g;   ///< transforms w, times `scale`: t x 3
  int scale;  ///< makes the entries of g integers
  Matrix a;   ///< transforms back: m x t
};

const Transform& f2() {
  static const Transform all = {2,
                                {{1, 0, -1, 0}, {0, 1, 1, 0}, {0, -1, 1, 0}, {0, 1, 0, -1}},
                                {{2, 0, 0}, {1, 1, 1}, {1, -1, 1}, {0, 0, 2}},
                                2,
                                {{1, 1, 1, 0}, {0, 1, -1, -1}}};
  return all;
}

const Transform& f4() {
  static const Transform all = {
      4,
      {{4, 0, -5, 0, 1, 0},
       {0, -4, -4, 1, 1, 0},
       {0, 4, -4, -1, 1, 0},
       {0, -2, -1, 2, 1, 0},
       {0, 2, -1, -2, 1, 0},
       {0, 4, 0, -5, 0, 1}},
      {{6, 0, 0}, {-4, -4, -4}, {-4, 4, -4}, {1, 2, 4}, {1, -2, 4}, {0, 0, 24}},
      24,
      {{1, 1, 1, 1, 1, 0}, {0, 1, -1, 2, -2, 0}, {0, 1, 1, 4, 4, 0}, {0, 1, -1, 8, -8, 1}}};
  return all;
}

/// Returns matrix[row][column] as a value of dtype at positions (row, column) that are index
/// expressions over the shape.
Uop entry(const Matrix& matrix, const Expr& row, const Expr& column, const Shape& shape,
          DType dtype) {
  const auto at = [&](const Expr& position, std::size_t k) {
    return eq(iota(position, shape), static_cast<std::int64_t>(k));
  };
  Uop all = scalar(Number(0.0), dtype);
  for (std::size_t r = 0; r < matrix.size(); ++r) {
    Uop line = scalar(Number(0.0), dtype);
    for (std::size_t c = 0; c < matrix[r].size(); ++c)
      if (matrix[r][c] != 0) line = where(at(column, c), double{1} * matrix[r][c], line);
    all = where(at(row, r), line, all);
  }
  return all;
}

/// Returns sum_ij matrix[p, i] matrix[q, j] x, x over (…, p, q, i, j), the last two summed. An
/// entry of 0 contributes no term, so x may be infinite there. p and q are given as expressions.
Uop transformed(const Matrix& matrix, const Expr& p, const Expr& q, const Uop& x) {
  const int last = x.rank() - 1;
  const Shape shape = shape_of(x);
  const Uop left = entry(matrix, p, Expr::loop(last - 1), shape, x.dtype());
  const Uop right = entry(matrix, q, Expr::loop(last), shape, x.dtype());
  const Uop factor = left * right;
  return sum_over(where(ne(factor, 0), factor * x, 0), {last - 1, last});
}

ProgramSpec winograd(const Instance& instance, const Transform& f) {
  const DType t = instance.dtype;
  const Uop x = input("x", t, {"N", "ci: $groups*CG", "H", "W"});
  const Uop w = input("w", t, {"co: $groups*CO", "CG", "KH", "KW"});
  const Uop b = optional_input(instance, 2, "b", {"co: $groups*CO"});
  const int tile = f.m + 2;
  const Axis th(ceil_div(Expr::size("OH"), f.m), "th"), tw(ceil_div(Expr::size("OW"), f.m), "tw");
  const Axis p(Expr(tile), "p"), q(Expr(tile), "q"), i(Expr(tile), "i"), j(Expr(tile), "j");
  const Axis three_i(Expr(3), "i"), three_j(Expr(3), "j");
  const std::string row = fmt::format("{}*i2 + i6 - $pads0", f.m);
  const std::string column = fmt::format("{}*i3 + i7 - $pads1", f.m);
  const Uop tiles = reindex(x, {"N", "ci: $groups*CG", th, tw, p, q, i, j},
                            {"i0", "i1", row.c_str(), column.c_str()});
  const Uop v = transformed(f.b, Expr::loop(4), Expr::loop(5), tiles);
  const Uop kernels =
      reindex(w, {"co: $groups*CO", "CG", p, q, three_i, three_j}, {"i0", "i1", "i4", "i5"});
  const Uop u =
      transformed(f.g, Expr::loop(2), Expr::loop(3), kernels) / (double{1} * f.scale * f.scale);
  const Shape products = {"N", "co: $groups*CO", th, tw, p, q, "ci: CG"};
  const Uop m = sum_over(reindex(u, products, {"i1", "i6", "i4", "i5"}) *
                             reindex(v, products, {"i0", "i1/CO*CG + i6", "i2", "i3", "i4", "i5"}),
                         {6});
  const Uop back = reindex(m, {"N", "co: $groups*CO", "OH", "OW", i, j},
                           {"i0", "i1", Expr::loop(2) / f.m, Expr::loop(3) / f.m, "i4", "i5"});
  Uop y = transformed(f.a, Expr::loop(2) % f.m, Expr::loop(3) % f.m, back);
  if (b) y = y + broadcast(b, shape_of(y), {1});
  ProgramSpec all = spec({x, w, b}, y, window_sizes({"KH", "KW"}));
  for (const char* size : {"KH", "KW"}) all.constraints.push_back({Expr::size(size), 3});
  for (const char* step : {"stride0", "stride1", "dilation0", "dilation1"})
    all.constraints.push_back({Expr::param(step), 1});
  return all;
}

Form form(std::string name, const Transform& f) {
  return {.name = std::move(name),
          .meaning = fmt::format("F({0}x{0}, 3x3), points 0, 1, -1{1} and infinity, tiles from the "
                                 "first output on; kernels of 3x3, stride and dilation 1",
                                 f.m, f.m == 4 ? ", 2, -2" : ""),
          .source = "Lavin and Gray, Fast Algorithms for Convolutional Neural Networks, 2016",
          .define = [&f](const Instance& instance) { return winograd(instance, f); }};
}

}  // namespace

std::vector<Form> winograd_forms() {
  return {form("winograd_f2", f2()), form("winograd_f4", f4())};
}

}  // namespace mote
