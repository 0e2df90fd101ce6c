// SPDX-License-Identifier: Apache-2.0
// Eigen 3.4.0: pow of floats loses up to seven bits if the compiler contracts x*y + z to one
// instruction, as gcc does by default.
//   g++ -O2 -march=x86-64-v3 -I/usr/include/eigen3 eigen_pow_contraction.cpp && ./a.out
// With -ffp-contract=off the error is below 1 ulp. GenericPacketMathFunctions.h computes log2(x) as
// the sum of two floats, for "additional accuracy … needed to counter the error-magnification
// inherent in multiplying by a potentially large exponent"; its exact sums of two floats do not
// survive contraction.
#include <Eigen/Core>
#include <cfloat>
#include <cmath>
#include <cstdio>
#include <random>

int main() {
  std::mt19937 random(1);
  std::uniform_real_distribution<float> exponent(-30, 30), power(-10, 10);
  Eigen::ArrayXf a(64), b(64);
  double worst = 0;
  float worst_a = 0, worst_b = 0, worst_y = 0;
  for (int round = 0; round < 20000; ++round) {
    for (int k = 0; k < 64; ++k) a[k] = std::exp2(exponent(random)), b[k] = power(random);
    const Eigen::ArrayXf y = a.pow(b);
    for (int k = 0; k < 64; ++k) {
      const double exact = std::pow(double{a[k]}, double{b[k]});
      if (exact < FLT_MIN || std::isinf(static_cast<float>(exact))) continue;
      int e = 0;
      std::frexp(exact, &e);
      const double ulps = std::fabs(y[k] - exact) / std::ldexp(1.0, e - 24);
      if (ulps > worst) worst = ulps, worst_a = a[k], worst_b = b[k], worst_y = y[k];
    }
  }
  std::printf("%s: pow(%.9g, %.9g) is %.9g, expected %.9g: %.2f ulp\n",
              Eigen::SimdInstructionSetsInUse(), worst_a, worst_b, worst_y,
              std::pow(double{worst_a}, double{worst_b}), worst);
  return worst > 1;
}
