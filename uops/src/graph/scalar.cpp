// SPDX-License-Identifier: Apache-2.0
// Computes scalar operations by the rows of the table, and stores values. Reals are computed in
// double with libm, integers in wrapping 64-bit; every other evaluator and emitter mirrors this.
#include "graph/scalar.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <limits>

#include "mote/base/element_types.h"
#include "mote/base/error.h"
#include "mote/uops/map_ops.h"

namespace mote::scalars {

double lowest_bit_of(double x) {
  if (x == 0) return HUGE_VAL;
  if (!std::isfinite(x)) return 0;
  int exponent = 0;
  const auto digits =
      static_cast<std::uint64_t>(std::ldexp(std::frexp(std::fabs(x), &exponent), 53));
  return std::ldexp(1.0, std::countr_zero(digits) + exponent - 53);
}

double floor_mod(double x, double y) {
  const double r = std::fmod(x, y);
  return r != 0 && (r < 0) != (y < 0) ? r + y : r;
}

std::int64_t truncating_div(std::int64_t x, std::int64_t y) {
  if (y == 0) return 0;
  return y == -1 ? wrap_sub(0, x) : x / y;
}

std::int64_t integer_power(std::int64_t base, std::int64_t exponent) {
  if (exponent < 0) {
    if (base == 1) return 1;
    if (base == -1) return exponent % 2 == 0 ? 1 : -1;
    return 0;
  }
  std::int64_t result = 1;
  for (std::int64_t square = base; exponent != 0; exponent >>= 1) {
    if (exponent & 1) result = wrap_mul(result, square);
    square = wrap_mul(square, square);
  }
  return result;
}

std::int64_t shifted_left(std::int64_t x, std::int64_t y) {
  return y < 0 || y > 63 ? 0 : static_cast<std::int64_t>(static_cast<std::uint64_t>(x) << y);
}

std::int64_t shifted_right(std::int64_t x, std::int64_t y) {
  return x >> (y < 0 || y > 63 ? 63 : y);
}

}  // namespace mote::scalars

namespace mote {

bool same(const Number& a, const Number& b) {
  if (a.is_real() != b.is_real()) return false;
  if (!a.is_real()) return a.integer() == b.integer();
  return a.real() == b.real() || (std::isnan(a.real()) && std::isnan(b.real()));
}

bool identical(const Number& a, const Number& b) {
  if (a.is_real() != b.is_real()) return false;
  if (!a.is_real()) return a.integer() == b.integer();
  if (std::isnan(a.real()) || std::isnan(b.real()))
    return std::isnan(a.real()) && std::isnan(b.real());
  return std::bit_cast<std::uint64_t>(a.real()) == std::bit_cast<std::uint64_t>(b.real());
}

Number store_as(const Number& n, DType dtype) {
  return with_dtype(dtype, [&]<DType D>() {
    const auto stored = [&](auto value) {
      if constexpr (is_real(D))
        return Element<D>::store(static_cast<double>(value));
      else
        return Element<D>::store(value);
    };
    return Number(Element<D>::load(n.is_real() ? stored(n.real()) : stored(n.integer())));
  });
}

Number apply(MapOp op, std::span<const Number> args, DType dtype, DType to) {
  if (op == MapOp::cast) return store_as(args[0], to);
  if (op == MapOp::where) return args[0].integer() != 0 ? args[1] : args[2];
  const MapOpInfo& row = info(op);
  const Number &x = args[0], &y = args[row.arity == 1 ? 0 : 1];
  if (x.is_real() && row.real != nullptr) return row.real(x.real(), y.real());
  if (!x.is_real() && row.integer != nullptr) return row.integer(x.integer(), y.integer());
  throw InternalError(fmt::format("apply: Map {} is not defined for {}", row.name, name(dtype)));
}

Number apply(ScatterOp op, const Number& old, const Number& x, DType dtype) {
  const auto combined = [&](MapOp map) { return apply(map, std::vector{old, x}, dtype, dtype); };
  switch (op) {
    case ScatterOp::add:
      return combined(MapOp::add);
    case ScatterOp::mul:
      return combined(MapOp::mul);
    case ScatterOp::max:
      return combined(MapOp::max);
    case ScatterOp::min:
      return combined(MapOp::min);
    case ScatterOp::set:
      return x;
  }
  throw InternalError("apply: unknown scatter op");
}

Number neutral(ReduceOp op, DType dtype) {
  const double inf = std::numeric_limits<double>::infinity();
  const bool real = is_real(dtype);
  switch (op) {
    case ReduceOp::sum:
      return real ? Number(0.0) : Number(0);
    case ReduceOp::prod:
      return real ? Number(1.0) : Number(1);
    case ReduceOp::max:
      return real ? Number(-inf) : Number(integer_range(dtype).least);
    case ReduceOp::min:
      return real ? Number(inf) : Number(integer_range(dtype).greatest);
    case ReduceOp::any:
      return Number(0);
    case ReduceOp::all:
      return Number(1);
    default:
      throw InternalError(fmt::format("neutral: {} has none", name(op)));
  }
}

}  // namespace mote
