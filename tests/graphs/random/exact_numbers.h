// SPDX-License-Identifier: Apache-2.0
// Arithmetic on tensors of f64 whose elements are integers, so that nothing is rounded.
#pragma once

#include <cmath>
#include <cstddef>
#include <span>
#include <string>

#include "mote/runtime/tensor.h"

namespace mote::test {

inline constexpr double kMaxExact = 0x1p40;

/// Thrown where nothing can be decided.
struct Undecided {
  std::string why;
};

inline std::span<double> elements(const Tensor& x) {
  return {static_cast<double*>(x.data()), static_cast<std::size_t>(x.element_count())};
}

inline void check_whole(const Tensor& x, const std::string& what) {
  if (x.dtype() != DType::f64) return;
  const Tensor plain = clone(x);
  for (const double v : elements(plain))
    if (std::nearbyint(v) != v || std::abs(v) >= kMaxExact)
      throw Undecided{"a value is no small integer: " + what};
}

/// Returns the sum of products, of integers; throws Undecided where it may be rounded.
inline double inner(const Tensor& a, const Tensor& b) {
  const Tensor x = clone(a);
  const Tensor y = clone(b);
  check_whole(x, "an operand of the inner product");
  check_whole(y, "an operand of the inner product");
  double sum = 0;
  double reach = 0;
  for (std::size_t i = 0; i < elements(x).size(); ++i) {
    sum += elements(x)[i] * elements(y)[i];
    reach += std::abs(elements(x)[i] * elements(y)[i]);
  }
  if (reach >= 0x1p52) throw Undecided{"an inner product is rounded"};
  return sum;
}

}  // namespace mote::test
