// SPDX-License-Identifier: Apache-2.0
// What one element of a Map is: the scalar semantics of the language. Reals are computed in double
// with libm, integers in wrapping 64-bit; every other evaluator and emitter mirrors this file.
#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <limits>

#include "mote/base/cast.h"
#include "mote/base/error.h"
#include "mote/base/float16.h"
#include "mote/base/philox.h"
#include "mote/uops/compare.h"
#include "mote/uops/uop.h"

namespace mote {
namespace {

using U64 = std::uint64_t;

Number boolean(bool b) { return Number(static_cast<std::int64_t>(b)); }
Number wrap(U64 x) { return Number(static_cast<std::int64_t>(x)); }

[[noreturn]] void not_defined(MapOp op, DType dtype) {
  throw InternalError(fmt::format("apply: Map {} is not defined for {}", name(op), name(dtype)));
}

// The greatest power of two of which x is a multiple: every one of 0, none of what is not finite.
double lowest_bit_of(double x) {
  if (x == 0) return HUGE_VAL;
  if (!std::isfinite(x)) return 0;
  int exponent = 0;
  const auto digits = static_cast<U64>(std::ldexp(std::frexp(std::fabs(x), &exponent), 53));
  return std::ldexp(1.0, std::countr_zero(digits) + exponent - 53);
}

// The remainder with the sign of the divisor: fmod(x, y), plus y where the signs differ.
double floor_mod(double x, double y) {
  const double r = std::fmod(x, y);
  return r != 0 && (r < 0) != (y < 0) ? r + y : r;
}

std::int64_t floor_mod(std::int64_t x, std::int64_t y) {
  if (y == 0 || y == -1) return 0;
  const std::int64_t r = x % y;
  return r != 0 && (r < 0) != (y < 0) ? r + y : r;
}

std::int64_t truncating_div(std::int64_t x, std::int64_t y) {
  if (y == 0) return 0;
  if (y == -1) return static_cast<std::int64_t>(-static_cast<U64>(x));
  return x / y;
}

// By repeated squaring, wrapping. A negative exponent gives 0, except for the bases 1 and -1.
std::int64_t power(std::int64_t base, std::int64_t exponent) {
  if (exponent < 0) {
    if (base == 1) return 1;
    if (base == -1) return exponent % 2 == 0 ? 1 : -1;
    return 0;
  }
  U64 result = 1;
  U64 square = static_cast<U64>(base);
  for (U64 e = static_cast<U64>(exponent); e != 0; e >>= 1, square *= square)
    if (e & 1) result *= square;
  return static_cast<std::int64_t>(result);
}

Number apply_real_unary(MapOp op, double x, DType dtype) {
  switch (op) {
    case MapOp::neg:
      return -x;
    case MapOp::abs:
      return std::fabs(x);
    case MapOp::sign:
      return x > 0 ? 1.0 : x < 0 ? -1.0 : x;
    case MapOp::recip:
      return 1.0 / x;
    case MapOp::sqrt:
      return std::sqrt(x);
    case MapOp::rsqrt:
      return 1.0 / std::sqrt(x);
    case MapOp::exp:
      return std::exp(x);
    case MapOp::expm1:
      return std::expm1(x);
    case MapOp::log:
      return std::log(x);
    case MapOp::log1p:
      return std::log1p(x);
    case MapOp::sin:
      return std::sin(x);
    case MapOp::cos:
      return std::cos(x);
    case MapOp::tan:
      return std::tan(x);
    case MapOp::asin:
      return std::asin(x);
    case MapOp::acos:
      return std::acos(x);
    case MapOp::atan:
      return std::atan(x);
    case MapOp::sinh:
      return std::sinh(x);
    case MapOp::cosh:
      return std::cosh(x);
    case MapOp::tanh:
      return std::tanh(x);
    case MapOp::erf:
      return std::erf(x);
    case MapOp::floor:
      return std::floor(x);
    case MapOp::ceil:
      return std::ceil(x);
    case MapOp::round:
      return std::nearbyint(x);  // half to even in the default rounding mode
    case MapOp::trunc:
      return std::trunc(x);
    case MapOp::next_up:
      return std::nextafter(x, HUGE_VAL);
    case MapOp::next_down:
      return std::nextafter(x, -HUGE_VAL);
    case MapOp::lowest_bit:
      return lowest_bit_of(x);
    case MapOp::isnan:
      return boolean(std::isnan(x));
    case MapOp::isinf:
      return boolean(std::isinf(x));
    default:
      not_defined(op, dtype);
  }
}

Number apply_real_binary(MapOp op, double x, double y, DType dtype) {
  switch (op) {
    case MapOp::add:
      return x + y;
    case MapOp::sub:
      return x - y;
    case MapOp::mul:
      return x * y;
    case MapOp::div:
      return x / y;
    case MapOp::pow:
      return std::pow(x, y);
    case MapOp::mod:
      return floor_mod(x, y);
    case MapOp::min:  // a NaN in either argument wins; equal arguments give the second
      return x < y || std::isnan(x) ? x : y;
    case MapOp::max:
      return x > y || std::isnan(x) ? x : y;
    default:
      not_defined(op, dtype);
  }
}

Number apply_integer_unary(MapOp op, std::int64_t x, DType dtype) {
  switch (op) {
    case MapOp::neg:
      return wrap(-static_cast<U64>(x));
    case MapOp::abs:
      return x < 0 ? wrap(-static_cast<U64>(x)) : Number(x);
    case MapOp::sign:
      return Number(x > 0 ? 1 : x < 0 ? -1 : 0);
    case MapOp::floor:
    case MapOp::ceil:
    case MapOp::round:
    case MapOp::trunc:
      return Number(x);
    case MapOp::logical_not:
      return boolean(x == 0);
    case MapOp::bitwise_not:
      return Number(~x);
    default:
      not_defined(op, dtype);
  }
}

Number apply_integer_binary(MapOp op, std::int64_t x, std::int64_t y, DType dtype) {
  switch (op) {
    case MapOp::add:
      return wrap(static_cast<U64>(x) + static_cast<U64>(y));
    case MapOp::sub:
      return wrap(static_cast<U64>(x) - static_cast<U64>(y));
    case MapOp::mul:
      return wrap(static_cast<U64>(x) * static_cast<U64>(y));
    case MapOp::div:
      return Number(truncating_div(x, y));
    case MapOp::pow:
      return Number(power(x, y));
    case MapOp::mod:
      return Number(floor_mod(x, y));
    case MapOp::min:
      return Number(x < y ? x : y);
    case MapOp::max:
      return Number(x > y ? x : y);
    case MapOp::logical_and:
      return boolean(x != 0 && y != 0);
    case MapOp::logical_or:
      return boolean(x != 0 || y != 0);
    case MapOp::logical_xor:
      return boolean((x != 0) != (y != 0));
    case MapOp::bitwise_and:
      return Number(x & y);
    case MapOp::bitwise_or:
      return Number(x | y);
    case MapOp::bitwise_xor:
      return Number(x ^ y);
    case MapOp::shift_left:
      return y < 0 || y > 63 ? Number(0) : wrap(static_cast<U64>(x) << y);
    case MapOp::shift_right:
      return Number(x >> (y < 0 || y > 63 ? 63 : y));
    case MapOp::philox:
      return Number(philox_word(x, y));
    default:
      not_defined(op, dtype);
  }
}

}  // namespace

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
  return std::bit_cast<U64>(a.real()) == std::bit_cast<U64>(b.real());
}

Number store_as(const Number& n, DType dtype) {
  if (dtype == DType::boolean) return boolean(n.is_real() ? n.real() != 0 : n.integer() != 0);
  if (is_integer(dtype)) {
    if (n.is_real()) return Number(real_to_integer(n.real(), integer_range(dtype)));
    return Number(wrap_integer(n.integer(), dtype));
  }
  const double x = n.is_real() ? n.real() : static_cast<double>(n.integer());
  switch (dtype) {  // an integer has become a double first
    case DType::f32:
      return static_cast<double>(static_cast<float>(x));
    case DType::f16:
      return from_f16(to_f16(x));
    case DType::bf16:
      return from_bf16(to_bf16(x));
    default:
      return x;
  }
}

Number apply(MapOp op, std::span<const Number> args, DType dtype, DType to) {
  if (op == MapOp::cast) return store_as(args[0], to);
  if (op == MapOp::where) return args[0].integer() != 0 ? args[1] : args[2];
  if (is_comparison(op))
    return boolean(args[0].is_real() ? compare(op, args[0].real(), args[1].real())
                                     : compare(op, args[0].integer(), args[1].integer()));
  if (arity(op) == 1)
    return args[0].is_real() ? apply_real_unary(op, args[0].real(), dtype)
                             : apply_integer_unary(op, args[0].integer(), dtype);
  return args[0].is_real() ? apply_real_binary(op, args[0].real(), args[1].real(), dtype)
                           : apply_integer_binary(op, args[0].integer(), args[1].integer(), dtype);
}

Number apply(ScatterOp op, const Number& old, const Number& x, DType dtype) {
  const auto joined = [&](MapOp map) { return apply(map, std::vector{old, x}, dtype, dtype); };
  switch (op) {
    case ScatterOp::add:
      return joined(MapOp::add);
    case ScatterOp::mul:
      return joined(MapOp::mul);
    case ScatterOp::max:
      return joined(MapOp::max);
    case ScatterOp::min:
      return joined(MapOp::min);
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
