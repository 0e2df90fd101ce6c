// SPDX-License-Identifier: Apache-2.0
// The parts of interval ends, as trees: rounding to f32, rounding outward, either of these on a
// condition. A part that occurs twice as nodes is computed once.
#pragma once

#include "tree_nodes.h"

namespace mote::blocks {
namespace {

/// The min or max of two values that are NaN together.
template <MapOp op, typename X, typename Y>
struct End : Node<op, X, Y> {
  template <typename V>
  static void at(const Cell* const* x, std::int64_t i, typename V::Real& y) {
    typename V::Real a, b;
    X::template at<V>(x, i, a);
    Y::template at<V>(x, i, b);
    set_end<op>(a, b, y);
  }
};

/// X, rounded to f32.
template <typename X>
struct ToFloat {
  static constexpr bool kTruth = false;
  static constexpr std::size_t kOperands = X::kOperands;
  static constexpr std::uint32_t kNumbers = X::kNumbers;
  static bool matches(const Uop& u, Operands& operands, const Inner& is_inner) {
    const uop::Map* wide = map_of(u, MapOp::cast);
    if (wide == nullptr || u.dtype() != DType::f64 || !is_inner(u)) return false;
    const Uop& narrow = wide->args[0];
    const uop::Map* m = map_of(narrow, MapOp::cast);
    return m != nullptr && narrow.dtype() == DType::f32 && is_inner(narrow) &&
           is_real(m->args[0].dtype()) && X::matches(m->args[0], operands, is_inner);
  }
  template <typename V>
  static void at(const Cell* const* x, std::int64_t i, typename V::Real& y) {
    X::template at<V>(x, i, y);
    const auto narrow = __builtin_convertvector(y, typename V::Single);
    y = __builtin_convertvector(narrow, typename V::Real);
  }
};

/// X, rounded outward by the factors k and k + 1.
template <MapOp end, typename X, std::size_t k>
struct Outward : End<end, Node<MapOp::mul, X, Constant<k>>, Node<MapOp::mul, X, Constant<k + 1>>> {
  template <typename V>
  static void at(const Cell* const* x, std::int64_t i, typename V::Real& y) {
    typename V::Real v;
    X::template at<V>(x, i, v);
    of<V>(v, x, y);
  }
  template <typename V>
  static void of(const typename V::Real& v, const Cell* const* x, typename V::Real& y) {
    set_end<end>(typename V::Real(v * x[k]->real), typename V::Real(v * x[k + 1]->real), y);
  }
};

/// The same for values that are not below 0.
template <typename X, std::size_t k>
struct Up : Node<MapOp::mul, X, Constant<k>> {
  template <typename V>
  static void of(const typename V::Real& v, const Cell* const* x, typename V::Real& y) {
    y = v * x[k]->real;
  }
};

/// X, rounded as `Widened` does unless the condition holds.
template <typename Condition, typename X, typename Widened>
struct Unless : Node<MapOp::where, Condition, X, Widened> {
  template <typename V>
  static void at(const Cell* const* x, std::int64_t i, typename V::Real& y) {
    typename V::Truth condition;
    typename V::Real v, wide;
    Condition::template at<V>(x, i, condition);
    X::template at<V>(x, i, v);
    Widened::template of<V>(v, x, wide);
    y = condition ? v : wide;
  }
};

/// X, or its rounding to f32 if that is less (min) or greater (max).
template <MapOp end, typename X>
struct Joined : End<end, X, ToFloat<X>> {
  template <typename V>
  static void at(const Cell* const* x, std::int64_t i, typename V::Real& y) {
    typename V::Real v;
    X::template at<V>(x, i, v);
    const auto narrow = __builtin_convertvector(v, typename V::Single);
    set_end<end>(v, typename V::Real(__builtin_convertvector(narrow, typename V::Real)), y);
  }
};

}  // namespace
}  // namespace mote::blocks
