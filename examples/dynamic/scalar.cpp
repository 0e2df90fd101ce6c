// SPDX-License-Identifier: Apache-2.0
// The gradient of a function of a scalar, and the gradient of that.
#include <cstdio>

#include "mote/dynamic/ops.h"

using mote::Variable;

Variable f(const Variable& x) { return x * x * exp(0.5 * x) + sin(x) / x; }

int main() {
  mote::Context context;
  mote::DynamicGraph g(context);
  const mote::Tensor value(mote::DType::f64, {});
  fill(value, 1.5);
  const Variable x = g.variable(value);
  const Variable y = f(x);
  const Variable dy = g.backward({y}, {x}, {.is_traced = true})[0];
  const Variable ddy = g.backward({dy}, {x})[0];
  std::printf("f = %.4g, df/dx = %.4g, d2f/dx2 = %.4g\n", y.item(), dy.item(), ddy.item());
}
