// SPDX-License-Identifier: Apache-2.0
// A loop for each operation that is frequent in error bounds, and apply() for the others.
#include "map.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>

#include "index.h"
#include "mote/generated/level.h"

namespace mote::blocks {
namespace {

using I64 = std::int64_t;

struct Real {
  using Type = double;
  static double get(Cell c) { return c.real; }
  static void set(Cell& c, double v) { c.real = v; }
};
struct Whole {
  using Type = I64;
  static I64 get(Cell c) { return c.whole; }
  static void set(Cell& c, I64 v) { c.whole = v; }
};

template <typename From, typename To, typename F>
inline void unary(const Operand& x, Cell* __restrict y, I64 count, F f) {
  if (x.single) {
    const auto v = f(From::get(*x.at));
    for (I64 k = 0; k < count; ++k) To::set(y[k], v);
    return;
  }
  for (I64 k = 0; k < count; ++k) To::set(y[k], f(From::get(x.at[k])));
}

template <typename From, typename To, typename F>
inline void binary(std::span<const Operand> x, Cell* __restrict y, I64 count, F f) {
  const Cell* const a = x[0].at;
  const Cell* const b = x[1].at;
  if (x[0].single) {
    const auto v = From::get(*a);
    unary<From, To>(x[1], y, count, [=](auto w) { return f(v, w); });
  } else if (x[1].single) {
    const auto w = From::get(*b);
    for (I64 k = 0; k < count; ++k) To::set(y[k], f(From::get(a[k]), w));
  } else {
    for (I64 k = 0; k < count; ++k) To::set(y[k], f(From::get(a[k]), From::get(b[k])));
  }
}

template <bool kSingle>
const Cell& element(const Operand& x, I64 k) {
  return x.at[kSingle ? 0 : k];
}

template <typename T, bool kFirst, bool kSecond>
inline void choose(std::span<const Operand> x, Cell* __restrict y, I64 count) {
  const Cell* const c = x[0].at;
  for (I64 k = 0; k < count; ++k) {
    const auto a = T::get(element<kFirst>(x[1], k));
    const auto b = T::get(element<kSecond>(x[2], k));
    T::set(y[k], c[k].whole != 0 ? a : b);
  }
}

template <typename T>
void where(std::span<const Operand> x, Cell* y, I64 count) {
  if (x[0].single) {
    const Operand& taken = x[0].at->whole != 0 ? x[1] : x[2];
    return unary<T, T>(taken, y, count, [](auto v) { return v; });
  }
  if (x[1].single)
    return x[2].single ? choose<T, true, true>(x, y, count) : choose<T, true, false>(x, y, count);
  return x[2].single ? choose<T, false, true>(x, y, count) : choose<T, false, false>(x, y, count);
}

/// Returns true if the operation had a loop.
template <typename T>
bool compare(MapOp op, std::span<const Operand> x, Cell* y, I64 n) {
  using V = typename T::Type;
  switch (op) {
    case MapOp::lt:
      binary<T, Whole>(x, y, n, [](V a, V b) -> I64 { return a < b; });
      return true;
    case MapOp::le:
      binary<T, Whole>(x, y, n, [](V a, V b) -> I64 { return a <= b; });
      return true;
    case MapOp::gt:
      binary<T, Whole>(x, y, n, [](V a, V b) -> I64 { return a > b; });
      return true;
    case MapOp::ge:
      binary<T, Whole>(x, y, n, [](V a, V b) -> I64 { return a >= b; });
      return true;
    case MapOp::eq:
      binary<T, Whole>(x, y, n, [](V a, V b) -> I64 { return a == b; });
      return true;
    case MapOp::ne:
      binary<T, Whole>(x, y, n, [](V a, V b) -> I64 { return a != b; });
      return true;
    default:
      return false;
  }
}

bool real_binary(MapOp op, std::span<const Operand> x, Cell* y, I64 n) {
  switch (op) {
    case MapOp::add:
      binary<Real, Real>(x, y, n, [](double a, double b) { return a + b; });
      return true;
    case MapOp::sub:
      binary<Real, Real>(x, y, n, [](double a, double b) { return a - b; });
      return true;
    case MapOp::mul:
      binary<Real, Real>(x, y, n, [](double a, double b) { return a * b; });
      return true;
    case MapOp::div:
      binary<Real, Real>(x, y, n, [](double a, double b) { return a / b; });
      return true;
    case MapOp::min:
      binary<Real, Real>(x, y, n, [](double a, double b) { return a < b || a != a ? a : b; });
      return true;
    case MapOp::max:
      binary<Real, Real>(x, y, n, [](double a, double b) { return a > b || a != a ? a : b; });
      return true;
    default:
      return compare<Real>(op, x, y, n);
  }
}

/// The value of the lowest set digit, as the difference to the number without it; the number itself
/// if only the leading digit is set, which is not stored.
double lowest_bit(double a) {
  constexpr std::uint64_t kFraction = (std::uint64_t{1} << 52) - 1;
  const double size = std::fabs(a);
  const auto bits = std::bit_cast<std::uint64_t>(size);
  const double lost = size - std::bit_cast<double>(bits & (bits - 1));
  const double finite = (bits & kFraction) == 0 ? size : lost;
  return size == 0 ? HUGE_VAL : size < HUGE_VAL ? finite : 0;
}

bool real_unary(MapOp op, const Operand& x, Cell* y, I64 n) {
  const auto reals = [&](auto f) { return unary<Real, Real>(x, y, n, f), true; };
  const auto tests = [&](auto f) { return unary<Real, Whole>(x, y, n, f), true; };
  switch (op) {
    case MapOp::neg:
      return reals([](double a) { return -a; });
    case MapOp::abs:
      return reals([](double a) { return std::fabs(a); });
    case MapOp::recip:
      return reals([](double a) { return 1.0 / a; });
    case MapOp::sqrt:
      return reals([](double a) { return std::sqrt(a); });
    case MapOp::rsqrt:
      return reals([](double a) { return 1.0 / std::sqrt(a); });
    case MapOp::exp:
      return reals([](double a) { return std::exp(a); });
    case MapOp::log:
      return reals([](double a) { return std::log(a); });
    case MapOp::tanh:
      return reals([](double a) { return std::tanh(a); });
    case MapOp::erf:
      return reals([](double a) { return std::erf(a); });
    case MapOp::floor:
      return reals([](double a) { return std::floor(a); });
    case MapOp::lowest_bit:
      return reals([](double a) { return lowest_bit(a); });
    case MapOp::isnan:
      return tests([](double a) -> I64 { return a != a; });
    case MapOp::isinf:
      return tests([](double a) -> I64 { return std::fabs(a) == HUGE_VAL; });
    default:
      return false;
  }
}

/// Integer operations on 64 bits, which wrap.
bool wrapping(MapOp op, std::span<const Operand> x, Cell* y, I64 n) {
  switch (op) {
    case MapOp::add:
      binary<Whole, Whole>(x, y, n, [](I64 a, I64 b) { return wrap_add(a, b); });
      return true;
    case MapOp::mul:
      binary<Whole, Whole>(x, y, n, [](I64 a, I64 b) { return wrap_mul(a, b); });
      return true;
    default:
      return false;
  }
}

bool whole_op(MapOp op, DType dtype, std::span<const Operand> x, Cell* y, I64 n) {
  if (dtype == DType::i64 && wrapping(op, x, y, n)) return true;
  switch (op) {
    case MapOp::logical_not:
      unary<Whole, Whole>(x[0], y, n, [](I64 a) -> I64 { return a == 0; });
      return true;
    case MapOp::logical_and:
      binary<Whole, Whole>(x, y, n, [](I64 a, I64 b) -> I64 { return (a != 0) & (b != 0); });
      return true;
    case MapOp::logical_or:
      binary<Whole, Whole>(x, y, n, [](I64 a, I64 b) -> I64 { return (a != 0) | (b != 0); });
      return true;
    default:
      return compare<Whole>(op, x, y, n);
  }
}

bool cast(const Operand& x, DType from, DType to, Cell* y, I64 n) {
  if (to == DType::f64) {
    if (is_real(from)) {
      unary<Real, Real>(x, y, n, [](double a) { return a; });
    } else {
      unary<Whole, Real>(x, y, n, [](I64 a) { return static_cast<double>(a); });
    }
    return true;
  }
  if (to != DType::f32 || !is_real(from)) return false;
  unary<Real, Real>(x, y, n, [](double a) { return static_cast<double>(static_cast<float>(a)); });
  return true;
}

bool has_loop(MapOp op, std::span<const Operand> x, DType from, DType to, Cell* y, I64 n) {
  if (op == MapOp::cast) return cast(x[0], from, to, y, n);
  if (op == MapOp::where) {
    is_real(to) ? where<Real>(x, y, n) : where<Whole>(x, y, n);
    return true;
  }
  if (!is_real(from)) return whole_op(op, to, x, y, n);
  return x.size() == 1 ? real_unary(op, x[0], y, n) : real_binary(op, x, y, n);
}

#if defined(__x86_64__)
// The same loops with wider vectors. They use only instructions with the same rounding: no fused
// multiply-adds.
__attribute__((target("avx2"), flatten)) bool has_loop_v3(MapOp op, std::span<const Operand> x,
                                                          DType from, DType to, Cell* y, I64 n) {
  return has_loop(op, x, from, to, y, n);
}
__attribute__((target("avx2,avx512f,avx512dq,avx512vl"), flatten)) bool has_loop_v4(
    MapOp op, std::span<const Operand> x, DType from, DType to, Cell* y, I64 n) {
  return has_loop(op, x, from, to, y, n);
}
#endif

using Loop = bool(MapOp, std::span<const Operand>, DType, DType, Cell*, I64);

Loop* widest_loop() {
#if defined(__x86_64__)
  if (mote_level() == 4) return has_loop_v4;
  if (mote_level() == 3) return has_loop_v3;
#endif
  return has_loop;
}

}  // namespace

void map_block(MapOp op, std::span<const Operand> args, DType from, DType to, Cell* y, I64 count) {
  static Loop* const loop = widest_loop();
  if (loop(op, args, from, to, y, count)) return;
  Number values[3];
  const std::size_t arity = std::min(args.size(), std::size(values));
  for (I64 k = 0; k < count; ++k) {
    for (std::size_t a = 0; a < arity; ++a)
      values[a] = number_of(args[a].at[args[a].single ? 0 : k], from);
    y[k] = cell_of(apply(op, {values, arity}, from, to));
  }
}

}  // namespace mote::blocks
