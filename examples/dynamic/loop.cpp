// SPDX-License-Identifier: Apache-2.0
// A ball falls and bounces. How much of its speed is left after a bounce is trained so that it is
// at a given height after one second: the gradient goes through an ordinary loop and its if.
#include <cstdio>

#include "mote/dynamic/ops.h"

using mote::Variable;

/// Returns the height in metres after one second, from rest at 1 m.
Variable height_after(mote::DynamicGraph& g, const Variable& bounce) {
  constexpr double kStep = 0.005;  // seconds
  Variable height = g.scalar(mote::DType::f64, 1);
  Variable speed = g.scalar(mote::DType::f64, 0);
  for (double time = 0; time < 1; time += kStep) {
    speed = speed - 9.81 * kStep;
    height = height + kStep * speed;
    if (height.item() < 0) {
      height = -height * bounce;
      speed = -speed * bounce;
    }
  }
  return height;
}

int main() {
  mote::Context context;
  mote::DynamicGraph g(context);
  const mote::Tensor start(mote::DType::f64, {});
  fill(start, 0.7);
  Variable bounce = g.variable(start);
  Variable height = height_after(g, bounce);
  std::printf("%.3f m after bounces of %.3f\n", height.item(), bounce.item());
  for (int step = 0; step < 100; ++step) {
    height = height_after(g, bounce);
    const Variable loss = (height - 0.4) * (height - 0.4);
    bounce -= 0.05 * g.backward({loss}, {bounce})[0];
  }
  std::printf("%.3f m after bounces of %.3f\n", height.item(), bounce.item());
}
