// SPDX-License-Identifier: Apache-2.0
// Eigen 3.4.0: the square root of infinity is NaN if a vector of floats is computed at once, and
// infinity for a single float. (EIGEN_FAST_MATH, on by default, "might affect the accuracy of the
// result"; with 0 both are infinite.)
//   g++ -O2 -I/usr/include/eigen3 eigen_sqrt_of_infinity.cpp && ./a.out
#include <Eigen/Core>
#include <cmath>
#include <cstdio>
#include <limits>

int main() {
  const Eigen::ArrayXf x = Eigen::ArrayXf::Constant(16, std::numeric_limits<float>::infinity());
  const Eigen::ArrayXf all = x.sqrt(), one = x.head(1).sqrt();
  std::printf("%s: sqrt(inf): 16 at a time %g, one %g, expected inf\n",
              Eigen::SimdInstructionSetsInUse(), all[0], one[0]);
  return !std::isinf(all[0]);
}
