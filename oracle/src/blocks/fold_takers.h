// SPDX-License-Identifier: Apache-2.0
// The states of a reduction's result, one cell each, that take in elements one after the other.
#pragma once

#include <cstdint>
#include <type_traits>

#include "cell.h"
#include "fold.h"
#include "fold_loops.h"

namespace mote::blocks {

/// The product of the elements; each of these classes has the same interface.
struct Product {
  double value;
  explicit Product(Cell y) : value(y.real) {}
  void take(Cell x) { value *= x.real; }
  Cell cell() const { return {.real = value}; }
};

struct Sum {
  double value;
  explicit Sum(Cell y) : value(y.real) {}
  void take(Cell x) { value += x.real; }
  Cell cell() const { return {.real = value}; }
};

/// Map's min (max) of the value and the element.
template <bool kLeast>
struct Extreme {
  double value;
  explicit Extreme(Cell y) : value(y.real) {}
  void take(Cell x) {
    const double end = (kLeast ? value < x.real : value > x.real) ? value : x.real;
    value = value != value ? value : end;
  }
  Cell cell() const { return {.real = value}; }
};

/// True if any (all) of the elements hold.
template <bool kAny>
struct Truth {
  std::int64_t value;
  explicit Truth(Cell y) : value(y.whole) {}
  void take(Cell x) { value = kAny ? value | (x.whole != 0) : value & (x.whole != 0); }
  Cell cell() const { return {.whole = value}; }
};

/// Any other reduction, by its definition.
struct Defined {
  MapOp op;
  DType dtype;
  Cell value;
  void take(Cell x) {
    const Number args[] = {number_of(value, dtype), number_of(x, dtype)};
    value = cell_of(apply(op, args, dtype, dtype));
  }
  Cell cell() const { return value; }
};

inline MapOp step_of(ReduceOp op) {
  switch (op) {
    case ReduceOp::sum:
      return MapOp::add;
    case ReduceOp::prod:
      return MapOp::mul;
    case ReduceOp::max:
      return MapOp::max;
    default:
      return MapOp::min;
  }
}

/// Calls use(make), where make(initial cell) returns the state that takes in elements.
template <typename Use>
void with_taker(ReduceOp op, DType dtype, const Use& use) {
  const bool real = is_real(dtype);
  if (op == ReduceOp::any) return use([](Cell y) { return Truth<true>(y); });
  if (op == ReduceOp::all) return use([](Cell y) { return Truth<false>(y); });
  if (real && op == ReduceOp::sum) return use([](Cell y) { return Sum(y); });
  if (real && op == ReduceOp::prod) return use([](Cell y) { return Product(y); });
  if (real && op == ReduceOp::min) return use([](Cell y) { return Extreme<true>(y); });
  if (real && op == ReduceOp::max) return use([](Cell y) { return Extreme<false>(y); });
  use([&](Cell y) { return Defined{step_of(op), dtype, y}; });
}

/// Calls take(how many, index of the first) with a constant of up to three.
template <typename Take>
void in_threes(std::size_t count, const Take& take) {
  std::size_t k = 0;
  for (; k + 3 <= count; k += 3) take(std::integral_constant<std::size_t, 3>(), k);
  if (count - k == 2) take(std::integral_constant<std::size_t, 2>(), k);
  if (count - k == 1) take(std::integral_constant<std::size_t, 1>(), k);
}

template <std::size_t kFolds>
Summands<kFolds> Fold::summands(const Fold* folds, const Operand* x) {
  Summands<kFolds> of;
  for (std::size_t f = 0; f < kFolds; ++f) {
    of.from[f] = x[f].at;
    of.moves[f] = x[f].single ? 0 : 1;
    of.result[f] = folds[f].result_;
  }
  return of;
}

}  // namespace mote::blocks
