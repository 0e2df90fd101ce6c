// SPDX-License-Identifier: Apache-2.0
// Uses ops of three libraries and of the catalogue, alone and in a graph.
#include <mote/runtime/catalogue.h>
#include <mote/runtime/command.h>
#include <mote/runtime/infer.h>
#include <mote/symbolic/checkpoint.h>
#include <mote/symbolic/compile.h>
#include <mote/symbolic/evaluate.h>
#include <mote/symbolic/gradient.h>

#include <cmath>
#include <cstdio>
#include <vector>

#include "my_kernels.h"
#include "program_kernels.h"
#include "wide_kernels.h"

/// Differentiates eight layers of swish, whose slope at 0 is 1/2, keeps some of their values and
/// computes the others again.
bool graph_is_right() {
  mote::SymbolicGraph g("layers");
  const mote::TensorSymbol x = g.input("x", {mote::DType::f64, {100}});
  mote::TensorSymbol h = x;
  for (int k = 0; k < 8; ++k) h = g.add("swish beta=2", {h});
  const mote::TensorSymbol gx = mote::gradient(g, {h}, {x}).front();
  g.set_outputs({gx});
  const mote::Tensor zeros(mote::DType::f64, {100}), ones(mote::DType::f64, {100});
  mote::fill(zeros, 0.0);
  mote::fill(ones, 1.0);
  const mote::Tensor plain = mote::evaluate(g, {{x, ones}}, {gx}).front();
  const mote::CheckpointReport report = mote::checkpoint(g, std::vector{h}, {});
  mote::Context context;
  mote::Executable step = mote::compile(g, {}, context);
  step.run({{x, ones}});
  const bool same = step.output(gx).real_at({99}) == plain.real_at({99});
  step.run({{x, zeros}});
  const double slope = step.output(gx).real_at({0});
  std::printf("slope of 8 layers at 0: %g, expected %g; %s\n", slope, 1.0 / 256,
              report.text.c_str());
  return same && slope == 1.0 / 256 && report.copies > 0;
}

int main() {
  mote::register_library(my_kernels);
  mote::register_library(wide_kernels);
  mote::register_library(program_kernels);
  mote::Tensor x(mote::DType::f32, {3});
  mote::Tensor y(mote::DType::f32, {3});
  mote::fill(x, 0.5);
  run(mote::Command("swish", {{"beta", 2.0}}), {&x}, {&y});
  const double expected = 0.5 / (1 + std::exp(-1.0));
  std::printf("swish(0.5) with beta 2: %g, expected %g\n", y.real_at({2}), expected);
  if (std::abs(y.real_at({2}) - expected) >= 1e-6) return 1;

  std::vector<const mote::Tensor*> inputs(41, &x);
  run(mote::Command("sum40"), inputs, std::vector<mote::Tensor*>{&y});
  const double with_bias = y.real_at({0});
  inputs.back() = nullptr;
  run(mote::Command("sum40"), inputs, std::vector<mote::Tensor*>{&y});
  std::printf("sum of 40 halves: %g, with a bias %g\n", y.real_at({0}), with_bias);

  mote::Tensor rows(mote::DType::f64, {1, 2}), by(mote::DType::f64, {1});
  mote::fill(rows, 3.0);
  mote::fill(by, 2.0);
  const mote::Tensor scaled = compute(mote::Command("row_scale"), {&rows, &by}).front();
  std::printf("3 times 2 plus 1: %g\n", scaled.real_at({0, 1}));
  if (scaled.real_at({0, 1}) != 7) return 1;
  return y.real_at({0}) == 20 && with_bias == 20.5 && graph_is_right() ? 0 : 1;
}
