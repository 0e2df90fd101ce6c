// SPDX-License-Identifier: Apache-2.0
// Newton's iteration for square roots as a loop of a graph: x <- (x + a / x) / 2, until x * x is
// close to a. Its gradient, 1 / (2 sqrt(a)), comes out of the iterations that ran. Prints roots and
// derivatives of some numbers.
#include <cstdio>

#include "mote/runtime/context.h"
#include "mote/symbolic/compile.h"
#include "mote/symbolic/gradient.h"

namespace {

using namespace mote;

Tensor scalar(double value) {
  Tensor x(DType::f32, AxisList{});
  x.set({}, value);
  return x;
}

/// One iteration: x and a -> the next x, and whether x is not close enough.
SymbolicGraph step() {
  SymbolicGraph body("step");
  const TensorSymbol x = body.input("x", {DType::f32, {}}), a = body.input("a", {DType::f32, {}});
  const TensorSymbol distance = body.add("abs", {body.add("sub", {body.add("mul", {x, x}), a})});
  const TensorSymbol bound = body.add("mul", {a, body.constant("allowed", scalar(1e-6))});
  const TensorSymbol goes_on =
      body.convert(body.add("relu", {body.add("sub", {distance, bound})}), {DType::boolean, {}});
  const TensorSymbol sum = body.add("add", {x, body.add("div", {a, x})});
  body.set_outputs({body.add("mul", {sum, body.constant("half", scalar(0.5))}), goes_on});
  return body;
}

}  // namespace

int main() {
  SymbolicGraph g("newton");
  const TensorSymbol a = g.input("a", {DType::f32, {}}), start = g.input("start", {DType::f32, {}});
  const TensorSymbol root = g.output(g.add_while(step(), {start, a}, {.limit = 100}), 0);
  const TensorSymbol slope = gradient(g, {root}, {a})[0];
  Context context;
  Executable newton = compile(g, {.outputs = {root, slope}}, context);
  for (const double number : {2.0, 9.0, 1e6}) {
    newton.run({{a, scalar(number)}, {start, scalar(1)}});
    std::printf("sqrt(%g) = %.6g, derivative %.6g\n", number, newton.output(root).real_at({}),
                newton.output(slope).real_at({}));
  }
}
