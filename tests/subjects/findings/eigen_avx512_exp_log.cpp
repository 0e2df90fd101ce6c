// SPDX-License-Identifier: Apache-2.0
// Eigen 3.4.0 with AVX-512: exp of floats above 88.376 is infinite, although the greatest float is
// e^88.72; log of a denormal is that of the least normal number. expm1 and logistic functions
// inherit the first error.
//   g++ -O2 -march=x86-64-v4 -I/usr/include/eigen3 eigen_avx512_exp_log.cpp && ./a.out
// With SSE or AVX2 both are right. The documentation says "exponential of the given value (e^x)"
// and "natural logarithm", supported for arrays of 16 floats or of one alike: arrays smaller than a
// vector use the C library.
#include <Eigen/Core>
#include <cmath>
#include <cstdio>

int main() {
  Eigen::ArrayXf large = Eigen::ArrayXf::Constant(16, 88.5F);
  Eigen::ArrayXf small = Eigen::ArrayXf::Constant(16, 1e-42F);
  const Eigen::ArrayXf e = large.exp(), l = small.log();
  const Eigen::ArrayXf e1 = large.head(1).exp(), l1 = small.head(1).log();
  std::printf(
      "%s\nexp(88.5): 16 at a time %g, one %g, expected %g\nlog(1e-42): 16 at a time %g, one %g, "
      "expected %g\n",
      Eigen::SimdInstructionSetsInUse(), e[0], e1[0], std::exp(88.5), l[0], l1[0],
      std::log(double{small[0]}));
  const bool neighbours = std::nextafter(l1[0], l[0]) == l[0];  // or equal
  return std::isinf(e[0]) || !neighbours;
}
