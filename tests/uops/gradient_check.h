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

/// A program and what it is run on.
struct GradientCase {
  Program program;
  std::vector<Array> inputs;
  std::map<std::string, Number> params;
};

struct Judgement {
  /// false: the derivative is not finite here; or the gradient is not, where something on the way
  /// to a finite derivative is not either (0 * inf of what no one reads).
  bool judged = false;
  bool agrees = true;
  std::string text;  ///< the numbers
};

/// <g, J v> by dual numbers = <J^T g, v> by the gradient, for random g and v.
Judgement check_adjoint(const GradientCase& c, std::uint64_t seed);
/// Central differences of the program along a random v converge to <J^T g, v> by order 2 at least,
/// or are it (where all is of degree 2 at most).
Judgement check_differences(const GradientCase& c, std::uint64_t seed);

/// The program's gradient as a program of its own, with random gradients of the outputs.
GradientCase gradient_case(const GradientCase& c, std::uint64_t seed,
                           const GradientRequest& request = {});

/// check_adjoint and check_differences of the program, of its gradient, … `order` times. The text
/// of the first that disagrees, else "". `judged`, if given, counts those with a verdict.
std::string check_gradient(GradientCase c, int order, std::uint64_t seed, int* judged = nullptr);

/// An array of reals in (-2, 2), rounded to the dtype; small whole numbers for integers.
Array random_array(DType dtype, const std::vector<std::int64_t>& shape, std::uint64_t seed);

}  // namespace mote::test
