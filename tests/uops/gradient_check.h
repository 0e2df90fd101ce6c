// SPDX-License-Identifier: Apache-2.0
// Two proofs that a gradient is right on given data. Both are computed in binary128 (dual.h) and
// demand agreement to the precision of a double, relative to the sum of the magnitudes: there is no
// tolerance to choose.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "dual.h"
#include "mote/uops/gradient.h"

namespace mote::test {

/// A program, and its inputs and parameters.
struct GradientCase {
  Program program;
  std::vector<Array> inputs;
  std::map<std::string, Number> params;
};

struct Judgement {
  /// False if the derivative is not finite here, or if the gradient is not finite because an
  /// intermediate value of a finite derivative is not (0 * inf for a value that nothing reads).
  bool judged = false;
  bool agrees = true;
  std::string text;  ///< the compared numbers
};

/// Checks <g, J v> by dual numbers = <J^T g, v> by the gradient, for random g and v.
Judgement check_adjoint(const GradientCase& c, std::uint64_t seed);
/// Checks that central differences of the program along a random v converge to <J^T g, v> by order
/// 2 at least, or equal it (for polynomials of degree 2 at most).
Judgement check_differences(const GradientCase& c, std::uint64_t seed);

/// Returns the program's gradient as a case of its own, with random gradients of the outputs.
GradientCase gradient_case(const GradientCase& c, std::uint64_t seed,
                           const GradientRequest& request = {});

/// Runs check_adjoint and check_differences on the program, on its gradient, … `order` times.
/// Returns the text of the first that disagrees, else "". `judged`, if given, counts those with a
/// verdict.
std::string check_gradient(GradientCase c, int order, std::uint64_t seed, int* judged = nullptr);

/// Returns an array of reals in (-2, 2), rounded to the dtype; small whole numbers for integers.
Array random_array(DType dtype, const std::vector<std::int64_t>& shape, std::uint64_t seed);

}  // namespace mote::test
