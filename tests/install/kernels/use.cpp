// The library's op beside the catalogue's.
#include <mote/runtime/catalogue.h>
#include <mote/runtime/command.h>

#include <cmath>
#include <cstdio>

#include "my_kernels.h"

int main() {
  mote::register_library(my_kernels);
  mote::Tensor x(mote::DType::f32, {3});
  mote::Tensor y(mote::DType::f32, {3});
  mote::fill(x, 0.5);
  run(mote::Command("swish", {{"beta", 2.0}}), {&x}, {&y});
  const double expected = 0.5 / (1 + std::exp(-1.0));
  std::printf("swish(0.5) with beta 2: %g, expected %g\n", y.real_at({2}), expected);
  return std::abs(y.real_at({2}) - expected) < 1e-6 ? 0 : 1;
}
