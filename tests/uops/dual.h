// SPDX-License-Identifier: Apache-2.0
// Forward-mode differentiation by dual numbers in binary128, for tests of gradients. This evaluator
// of programs shares no code with the reverse rules nor with evaluate(). Reals are not rounded at
// all: casts between real dtypes return their argument.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "mote/uops/evaluate.h"

namespace mote::test {

using Quad = __float128;
inline Quad absolute(Quad x) { return x < 0 ? -x : x; }

struct Dual {
  Quad value = 0;
  Quad tangent = 0;
};

/// Elements in row-major order: reals are duals, integers and booleans are whole numbers.
struct DualArray {
  DType dtype = DType::f64;
  std::vector<std::int64_t> shape;
  std::vector<Dual> reals;
  std::vector<std::int64_t> integers;
};
DualArray as_dual(const Array& a);  ///< the tangents are 0

/// Properties of the values that an evaluation computes.
struct DualTrace {
  bool finite = true;  ///< true if all values and derivatives are finite
  Quad largest = 0;    ///< the greatest magnitude of a value or derivative
  std::size_t elements = 0;
  std::uint64_t decisions = 0;  ///< a hash of all integers and booleans
  /// Estimates the error that rounding can cause in a result, to first order.
  Quad noise() const { return largest * static_cast<Quad>(elements) * 0x1p-113; }
};

/// Returns the outputs with their derivatives along the inputs' tangents. If a function has no
/// derivative, the one number that gradient.h pins is used: a tie of a maximum has the mean of the
/// tangents that take part.
std::vector<DualArray> evaluate_dual(const Program& p, const std::vector<DualArray>& inputs,
                                     const std::map<std::string, Number>& params,
                                     DualTrace* trace = nullptr);

}  // namespace mote::test
