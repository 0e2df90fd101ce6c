// SPDX-License-Identifier: Apache-2.0
// The knowledge of ops beyond their gradients' kernels: how to differentiate an op's gradient by
// ops that exist. An op f(x) has the gradient g(gy, x) = J(x)^T gy. It is linear in gy, so its own
// gradient with respect to gy is J(x) c, the tangent of f, for the gradient c of its result; its
// gradient with respect to x is the curvature of f.
#pragma once

#include <cstdint>
#include <string_view>

namespace mote {

/// The way in which J c follows from ops that exist.
enum class Tangent : std::uint8_t {
  none,
  pointwise,     ///< J is diagonal in each input: the sum of g(c_k) over inputs k
  linear,        ///< f(c)
  bilinear,      ///< f(c_a, b, c_c) + f(a, c_b): linear in each of two inputs, and in a third
  reduction,     ///< an element is in one result at most: the sum over axes of g(1)_k * c_k
  self_adjoint,  ///< J is symmetric: g(c)
  picked,        ///< each result is an element of x: those of c at the indices of the maxima
  scattered,     ///< g(1)_x * c_x, to which the elements of g(1)_u * c_u are added at the indices
  formula        ///< g is written with other ops, which are differentiated
};

/// The way in which the gradient of g with respect to x follows.
enum class Curvature : std::uint8_t {
  none,
  zero,      ///< g does not depend on x, as far as slopes tell
  bilinear,  ///< f is linear in each of two inputs
  formula    ///< g is written with other ops, which are differentiated
};

class Formula;
using WriteFormula = void (*)(Formula& f);

struct OpRule {
  std::string_view op;
  Tangent tangent;
  Curvature curvature;
  /// Gives the outputs of the op's gradient, computed by other ops.
  WriteFormula formula = nullptr;
  /// False for a rule that holds only if the op's optional inputs are left out.
  bool with_optional = true;
  /// A parameter that must be 0 for the rule to hold; null: none.
  const char* zero_param = nullptr;
  /// The formula where the rule does not hold.
  WriteFormula otherwise = nullptr;
  /// True if the formula is right where a kernel of the gradient's gradient is not. That of pow
  /// passes nothing by b from the slope by a where b = 0, and multiplies a slope that is NaN by 0
  /// where no gradient comes for it.
  bool precedes_kernel = false;
};
/// Returns the rule of an op; null if it has none.
const OpRule* rule_of(std::string_view op);

}  // namespace mote
