// SPDX-License-Identifier: Apache-2.0
// A network of two layers as a graph: its gradient, compiled to planned memory, trained on points
// of two rings. Prints the loss as it falls.
#include <cmath>
#include <cstdio>
#include <vector>

#include "mote/runtime/context.h"
#include "mote/symbolic/compile.h"
#include "mote/symbolic/gradient.h"

int main() {
  using namespace mote;
  constexpr std::int64_t kPoints = 64, kHidden = 32;
  SymbolicGraph g("mlp");
  const TensorSymbol x = g.input("x", {DType::f32, {kPoints, 2}});
  const TensorSymbol t = g.input("t", {DType::i64, {kPoints}});
  const std::vector<TensorSymbol> parameters = {
      g.input("w1", {DType::f32, {2, kHidden}}), g.input("b1", {DType::f32, {kHidden}}),
      g.input("w2", {DType::f32, {kHidden, 2}}), g.input("b2", {DType::f32, {2}})};
  const TensorSymbol h =
      g.add("tanh", {g.add("add", {g.add("matmul", {x, parameters[0]}), parameters[1]})});
  const TensorSymbol z = g.add("add", {g.add("matmul", {h, parameters[2]}), parameters[3]});
  const TensorSymbol loss = g.add("cross_entropy", {z, t});
  std::vector<TensorSymbol> outputs = gradient(g, std::vector{loss}, parameters);
  outputs.push_back(loss);

  Context context;
  Executable step = compile(g, {.outputs = outputs}, context);
  const Tensor points(DType::f32, {kPoints, 2}), rings(DType::i64, {kPoints});
  for (std::int64_t k = 0; k < kPoints; ++k) {
    const double angle = 0.7 * static_cast<double>(k), radius = k % 2 == 0 ? 1 : 2;
    points.set({k, 0}, radius * std::cos(angle));
    points.set({k, 1}, radius * std::sin(angle));
    rings.set({k}, k % 2);
  }
  std::vector<Tensor> values, momenta;
  for (const TensorSymbol p : parameters) {
    values.emplace_back(g.form(p).dtype, g.form(p).shape);
    const Tensor flat = values.back().reshape({values.back().element_count()});
    for (std::int64_t k = 0; k < flat.extent(0); ++k)
      flat.set({k}, std::sin(static_cast<double>(37 * k + 1)));
    momenta.emplace_back(g.form(p).dtype, g.form(p).shape);
    fill(momenta.back(), 0.0);
    step.bind(p, values.back());
  }
  step.bind(x, points);
  step.bind(t, rings);
  for (int round = 0; round <= 200; ++round) {
    step.run();
    if (round % 50 == 0) std::printf("step %3d  loss %.4f\n", round, step.output(loss).real_at({}));
    for (std::size_t k = 0; k < parameters.size(); ++k) {
      const Tensor slope = step.output(outputs[k]);
      run(Command("sgd", {{"step", round + 1}, {"lr", 0.1}, {"momentum", 0.9}}),
          {&values[k], &slope, &momenta[k]}, {&values[k], &momenta[k]});
    }
  }
}
