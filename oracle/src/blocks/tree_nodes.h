// SPDX-License-Identifier: Apache-2.0
// The parts of trees of Map nodes, as types: they match nodes, and compute them in vectors of any
// number of lanes. Everything is local to its file: files are compiled for different levels of the
// machine.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "fused.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace mote::blocks {
namespace {

using Operands = std::array<Uop, kFusedOperands>;
using Inner = std::function<bool(const Uop&)>;

inline bool bind(Operands& operands, std::size_t k, const Uop& u) {
  if (!operands[k]) operands[k] = u;
  return operands[k].id() == u.id();
}

inline bool is_number(const Uop& u) {
  return std::holds_alternative<uop::Scalar>(u.node().kind) ||
         std::holds_alternative<uop::Param>(u.node().kind);
}

inline const uop::Map* map_of(const Uop& u, MapOp op) {
  const auto* m = std::get_if<uop::Map>(&u.node().kind);
  return m != nullptr && m->op == op ? m : nullptr;
}

/// Vectors of reals and of truth values, whose lanes are 0 or -1. Functions take them by reference:
/// passing by value differs between the levels of the machine.
template <std::size_t kLanes>
struct Vectors {
  typedef double Real __attribute__((vector_size(kLanes * 8)));
  typedef std::int64_t Truth __attribute__((vector_size(kLanes * 8)));
  typedef float Single __attribute__((vector_size(kLanes * 4)));
};
/// The same vectors at any address.
template <typename V>
struct Unaligned {
  typedef V type __attribute__((aligned(8), may_alias));
};

template <MapOp op>
constexpr bool kIsTruth = (op >= MapOp::lt && op <= MapOp::logical_xor) || op == MapOp::logical_not
                          || op == MapOp::isnan || op == MapOp::isinf;

/// The type that a tree computes.
template <typename X, typename V>
using Result = std::conditional_t<X::kTruth, typename V::Truth, typename V::Real>;

/// The block of operand k; the same one wherever it occurs in the tree.
template <std::size_t k>
struct Block {
  static constexpr bool kTruth = false;
  static constexpr std::size_t kOperands = k + 1;
  static constexpr std::uint32_t kNumbers = 0;
  static bool matches(const Uop& u, Operands& operands, const Inner&) {
    return is_real(u.dtype()) && !is_number(u) && bind(operands, k, u);
  }
  template <typename V>
  static void at(const Cell* const* x, std::int64_t i, typename V::Real& y) {
    y = *reinterpret_cast<const typename Unaligned<typename V::Real>::type*>(x[k] + i);
  }
};

/// Operand k, of booleans.
template <std::size_t k>
struct Flags {
  static constexpr bool kTruth = true;
  static constexpr std::size_t kOperands = k + 1;
  static constexpr std::uint32_t kNumbers = 0;
  static bool matches(const Uop& u, Operands& operands, const Inner&) {
    return u.dtype() == DType::boolean && !is_number(u) && bind(operands, k, u);
  }
  template <typename V>
  static void at(const Cell* const* x, std::int64_t i, typename V::Truth& y) {
    y = *reinterpret_cast<const typename Unaligned<typename V::Truth>::type*>(x[k] + i) != 0;
  }
};

/// Operand k, of integers.
template <std::size_t k>
struct Whole {
  static constexpr bool kTruth = true;  // the type of integers is the same
  static constexpr std::size_t kOperands = k + 1;
  static constexpr std::uint32_t kNumbers = 0;
  static bool matches(const Uop& u, Operands& operands, const Inner&) {
    return is_integer(u.dtype()) && !is_number(u) && bind(operands, k, u);
  }
  template <typename V>
  static void at(const Cell* const* x, std::int64_t i, typename V::Truth& y) {
    y = *reinterpret_cast<const typename Unaligned<typename V::Truth>::type*>(x[k] + i);
  }
};

/// Operand k, an integer.
template <std::size_t k>
struct WholeConstant {
  static constexpr bool kTruth = true;
  static constexpr std::size_t kOperands = k + 1;
  static constexpr std::uint32_t kNumbers = 1U << k;
  static bool matches(const Uop& u, Operands& operands, const Inner&) {
    return std::holds_alternative<uop::Scalar>(u.node().kind) && is_integer(u.dtype()) &&
           bind(operands, k, u);
  }
  template <typename V>
  static void at(const Cell* const* x, std::int64_t, typename V::Truth& y) {
    y = x[k]->whole - typename V::Truth{};
  }
};

/// Operand k, a number.
template <std::size_t k>
struct Constant {
  static constexpr bool kTruth = false;
  static constexpr std::size_t kOperands = k + 1;
  static constexpr std::uint32_t kNumbers = 1U << k;
  static bool matches(const Uop& u, Operands& operands, const Inner&) {
    return std::holds_alternative<uop::Scalar>(u.node().kind) && is_real(u.dtype()) &&
           bind(operands, k, u);
  }
  template <typename V>
  static void at(const Cell* const* x, std::int64_t, typename V::Real& y) {
    y = x[k]->real - typename V::Real{};
  }
};

template <typename V>
void set_size(const typename V::Real& a, typename V::Real& y) {
  y = (typename V::Real)((typename V::Truth)a & INT64_MAX);
}

/// Computes the lowest bit as in map.cpp.
template <typename V>
void set_lowest_bit(const typename V::Real& a, typename V::Real& y) {
  constexpr std::int64_t kFraction = (std::int64_t{1} << 52) - 1;
  typename V::Real size;
  set_size<V>(a, size);
  const auto bits = (typename V::Truth)size;
  const typename V::Real lost = size - (typename V::Real)(bits & (bits - 1));
  const typename V::Real zero{};
  y = (bits & kFraction) == 0 ? size : lost;
  y = size < HUGE_VAL ? y : zero;
  y = size == 0 ? zero + HUGE_VAL : y;
}

/// Computes min or max; b if one is NaN.
template <MapOp op, typename R>
void set_end(const R& a, const R& b, R& y) {
  constexpr bool kLeast = op == MapOp::min;
#if defined(__x86_64__)
  if constexpr (sizeof(R) == 16) return (void)(y = kLeast ? _mm_min_pd(a, b) : _mm_max_pd(a, b));
#endif
#if defined(__AVX2__)
  if constexpr (sizeof(R) == 32)
    return (void)(y = kLeast ? _mm256_min_pd(a, b) : _mm256_max_pd(a, b));
#endif
#if defined(__AVX512F__)
  constexpr __mmask8 kAll = 0xff;  // GCC 12 warns that the plain forms read unset values
  if constexpr (sizeof(R) == 64)
    return (void)(y = kLeast ? _mm512_mask_min_pd(a, kAll, a, b)
                             : _mm512_mask_max_pd(a, kAll, a, b));
#endif
  if constexpr (kLeast) y = a < b ? a : b;
  if constexpr (!kLeast) y = a > b ? a : b;
}

template <MapOp op, typename V, typename Y, typename A>
void set(Y& y, const A& a) {
  typename V::Real size;
  if constexpr (op == MapOp::neg) y = -a;
  if constexpr (op == MapOp::abs) set_size<V>(a, y);
  if constexpr (op == MapOp::lowest_bit) set_lowest_bit<V>(a, y);
  if constexpr (op == MapOp::isnan) y = a != a;  // NOLINT(misc-redundant-expression)
  if constexpr (op == MapOp::isinf) set_size<V>(a, size), y = size == HUGE_VAL;
  if constexpr (op == MapOp::logical_not) y = ~a;
}

template <MapOp op, typename V, typename Y, typename A>
void set(Y& y, const A& a, const A& b) {
  if constexpr (op == MapOp::add) y = a + b;
  if constexpr (op == MapOp::sub) y = a - b;
  if constexpr (op == MapOp::mul) y = a * b;
  if constexpr (op == MapOp::div) y = a / b;
  if constexpr (op == MapOp::min || op == MapOp::max) {
    Y end;
    set_end<op>(a, b, end);
    y = a != a ? a : end;  // NOLINT(misc-redundant-expression)
  }
  if constexpr (op == MapOp::lt) y = a < b;
  if constexpr (op == MapOp::le) y = a <= b;
  if constexpr (op == MapOp::gt) y = a > b;
  if constexpr (op == MapOp::ge) y = a >= b;
  if constexpr (op == MapOp::eq) y = a == b;
  if constexpr (op == MapOp::ne) y = a != b;
  if constexpr (op == MapOp::logical_and) y = a & b;
  if constexpr (op == MapOp::logical_or) y = a | b;
}

template <MapOp op, typename V, typename Y, typename C>
void set(Y& y, const C& c, const Y& a, const Y& b) {
  static_assert(op == MapOp::where);
  y = c ? a : b;
}

template <typename... T>
constexpr std::size_t largest(T... values) {
  std::size_t most = 0;
  ((most = values > most ? values : most), ...);
  return most;
}

/// A Map node over other trees, not of integers; `ne` also takes truth values.
template <MapOp op, typename... X>
struct Node {
  static constexpr bool kTruth = kIsTruth<op>;
  static constexpr std::size_t kOperands = largest(X::kOperands...);
  static constexpr std::uint32_t kNumbers = (X::kNumbers | ...);
  static bool matches(const Uop& u, Operands& operands, const Inner& is_inner) {
    const uop::Map* m = map_of(u, op);
    return m != nullptr && is_inner(u) &&
           arguments_match(*m, operands, is_inner, std::index_sequence_for<X...>());
  }
  template <typename V>
  static void at(const Cell* const* x, std::int64_t i, Result<Node, V>& y) {
    compute<V, X...>(x, i, y);
  }

 private:
  template <std::size_t... k>
  static bool arguments_match(const uop::Map& m, Operands& operands, const Inner& is_inner,
                              std::index_sequence<k...>) {
    return (X::matches(m.args[k], operands, is_inner) && ...);
  }
  template <typename V, typename P>
  static void compute(const Cell* const* x, std::int64_t i, Result<Node, V>& y) {
    Result<P, V> p;
    P::template at<V>(x, i, p);
    set<op, V>(y, p);
  }
  template <typename V, typename P, typename Q>
  static void compute(const Cell* const* x, std::int64_t i, Result<Node, V>& y) {
    Result<P, V> p;
    Result<Q, V> q;
    P::template at<V>(x, i, p);
    Q::template at<V>(x, i, q);
    set<op, V>(y, p, q);
  }
  template <typename V, typename P, typename Q, typename R>
  static void compute(const Cell* const* x, std::int64_t i, Result<Node, V>& y) {
    Result<P, V> p;
    Result<Q, V> q;
    Result<R, V> r;
    P::template at<V>(x, i, p);
    Q::template at<V>(x, i, q);
    R::template at<V>(x, i, r);
    set<op, V>(y, p, q, r);
  }
};

template <typename X, typename V>
void store(const Cell* const* x, std::int64_t i, Cell* y) {
  Result<X, V> v;
  X::template at<V>(x, i, v);
  if constexpr (X::kTruth) v = v & 1;
  *reinterpret_cast<typename Unaligned<Result<X, V>>::type*>(y) = v;
}

/// Runs whole vectors, then one with the remaining elements.
template <typename X, std::size_t kLanes>
void run(const Cell* const* x, Cell* y, std::int64_t count) {
  using V = Vectors<kLanes>;
  const Cell* operands[X::kOperands];
  for (std::size_t k = 0; k < X::kOperands; ++k) operands[k] = x[k];
  constexpr std::int64_t kStep = kLanes;
  std::int64_t i = 0;
  for (; i + kStep <= count; i += kStep) store<X, V>(operands, i, y + i);
  if (i == count) return;
  Cell rest[X::kOperands][kLanes] = {};
  Cell result[kLanes];
  for (std::size_t k = 0; k < X::kOperands; ++k) {
    const bool number = (X::kNumbers >> k & 1U) != 0;
    for (std::int64_t j = 0; j < (number ? 1 : count - i); ++j)
      rest[k][j] = operands[k][number ? 0 : i + j];
    operands[k] = rest[k];
  }
  store<X, V>(operands, 0, result);
  for (std::int64_t j = 0; j < count - i; ++j) y[i + j] = result[j];
}

}  // namespace
}  // namespace mote::blocks
