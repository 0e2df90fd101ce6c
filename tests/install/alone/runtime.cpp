// SPDX-License-Identifier: Apache-2.0
// Uses the component runtime alone: runs a command on tensors.
#include <cmath>

#include "mote/runtime/command.h"

int main() {
  const mote::Tensor x(mote::DType::f32, {2, 3, 4});
  mote::Tensor y(mote::DType::f32, {2, 3, 4});
  mote::fill(x, 0);
  run(mote::Command("softmax", {}, 1), {&x}, {&y});
  return std::abs(y.real_at({1, 2, 3}) - 1.0 / 3) < 1e-6 ? 0 : 1;
}
