// SPDX-License-Identifier: Apache-2.0
// Operators, named functions and reductions, so that definitions read like mathematics.
#include <fmt/format.h>

#include <algorithm>

#include "graph/node.h"
#include "mote/base/error.h"

namespace mote {
namespace {

using Uops = std::vector<Uop>;
using Operands = std::vector<Operand>;

// Returns the number of elements along the axes, as a tensor that divides `sum`.
Uop count(const Uop& x, const Axes& axes, const Uop& sum) {
  Expr n = 1;
  for (const int a : axes) n = n * x.shape()[static_cast<std::size_t>(a)];
  if (n.constant()) return scalar(*n.constant(), sum.dtype());
  return cast(iota(n, shape_of(sum)), sum.dtype());
}

}  // namespace

Uop keep_axes(const Uop& reduced, const Uop& x, const Axes& axes) {
  std::vector<Expr> shape, from;
  int next = 0;
  for (int k = 0; k < x.rank(); ++k) {
    const bool gone = std::find(axes.begin(), axes.end(), k) != axes.end();
    shape.push_back(gone ? Expr(1) : x.shape()[static_cast<std::size_t>(k)]);
    if (!gone) from.push_back(Expr::loop(k)), ++next;
  }
  if (next != reduced.rank()) throw InternalError("keep_axes: the axes do not match");
  return make_reindex(reduced, std::move(shape), x.node().axis_names, std::move(from),
                      constant_of(0, reduced.dtype(), "Reduce"), {});
}

Uop operator+(const Operand& a, const Operand& b) { return map(MapOp::add, Operands{a, b}); }
Uop operator-(const Operand& a, const Operand& b) { return map(MapOp::sub, Operands{a, b}); }
Uop operator*(const Operand& a, const Operand& b) { return map(MapOp::mul, Operands{a, b}); }
Uop operator/(const Operand& a, const Operand& b) { return map(MapOp::div, Operands{a, b}); }
Uop operator-(const Uop& a) { return map(MapOp::neg, Uops{a}); }
Uop operator<(const Operand& a, const Operand& b) { return map(MapOp::lt, Operands{a, b}); }
Uop operator<=(const Operand& a, const Operand& b) { return map(MapOp::le, Operands{a, b}); }
Uop operator>(const Operand& a, const Operand& b) { return map(MapOp::gt, Operands{a, b}); }
Uop operator>=(const Operand& a, const Operand& b) { return map(MapOp::ge, Operands{a, b}); }
Uop operator&&(const Uop& a, const Uop& b) { return map(MapOp::logical_and, Uops{a, b}); }
Uop operator||(const Uop& a, const Uop& b) { return map(MapOp::logical_or, Uops{a, b}); }
Uop eq(const Operand& a, const Operand& b) { return map(MapOp::eq, Operands{a, b}); }
Uop ne(const Operand& a, const Operand& b) { return map(MapOp::ne, Operands{a, b}); }
Uop min(const Operand& a, const Operand& b) { return map(MapOp::min, Operands{a, b}); }
Uop max(const Operand& a, const Operand& b) { return map(MapOp::max, Operands{a, b}); }
Uop pow(const Operand& a, const Operand& b) { return map(MapOp::pow, Operands{a, b}); }
Uop mod(const Operand& a, const Operand& b) { return map(MapOp::mod, Operands{a, b}); }
Uop where(const Uop& condition, const Operand& a, const Operand& b) {
  return map(MapOp::where, Operands{condition, a, b});
}
Uop exp(const Uop& x) { return map(MapOp::exp, Uops{x}); }
Uop log(const Uop& x) { return map(MapOp::log, Uops{x}); }
Uop sqrt(const Uop& x) { return map(MapOp::sqrt, Uops{x}); }
Uop rsqrt(const Uop& x) { return map(MapOp::rsqrt, Uops{x}); }
Uop tanh(const Uop& x) { return map(MapOp::tanh, Uops{x}); }
Uop abs(const Uop& x) { return map(MapOp::abs, Uops{x}); }
Uop next_up(const Uop& x) { return map(MapOp::next_up, Uops{x}); }
Uop next_down(const Uop& x) { return map(MapOp::next_down, Uops{x}); }
Uop lowest_bit(const Uop& x) { return map(MapOp::lowest_bit, Uops{x}); }

Uop sum_over(const Uop& x, const Axes& axes) { return reduce(ReduceOp::sum, x, axes); }
Uop prod_over(const Uop& x, const Axes& axes) { return reduce(ReduceOp::prod, x, axes); }
Uop max_over(const Uop& x, const Axes& axes) { return reduce(ReduceOp::max, x, axes); }
Uop min_over(const Uop& x, const Axes& axes) { return reduce(ReduceOp::min, x, axes); }
Uop argmax_over(const Uop& x, const Axes& axes) { return reduce(ReduceOp::argmax, x, axes); }
Uop argmin_over(const Uop& x, const Axes& axes) { return reduce(ReduceOp::argmin, x, axes); }
Uop mean_over(const Uop& x, const Axes& axes) {
  if (!is_real(x.dtype()))
    throw Error(fmt::format("mean: the dtype must be f32 or f64, got {}", type_text(x)));
  const Uop total = sum_over(x, axes);
  return total / count(x, axes, total);
}

Uop sum(const Uop& x, const Axes& axes) { return keep_axes(sum_over(x, axes), x, axes); }
Uop prod(const Uop& x, const Axes& axes) { return keep_axes(prod_over(x, axes), x, axes); }
Uop mean(const Uop& x, const Axes& axes) { return keep_axes(mean_over(x, axes), x, axes); }
Uop max(const Uop& x, const Axes& axes) { return keep_axes(max_over(x, axes), x, axes); }
Uop min(const Uop& x, const Axes& axes) { return keep_axes(min_over(x, axes), x, axes); }

}  // namespace mote
