// SPDX-License-Identifier: Apache-2.0
// Memory that an executable writes, or has as a constant, is refused where it would be read or
// written as something else.
#include <gtest/gtest.h>

#include <cmath>

#include "graphs/symbolic/error_of.h"
#include "mote/symbolic/compile.h"

namespace mote {
namespace {

using test::error_of;

Tensor filled(std::int64_t extent, double value) {
  const Tensor x(DType::f32, {extent});
  fill(x, value);
  return x;
}

void expect_refused(const std::string& what, const std::function<void()>& call) {
  const std::string error = error_of(call);
  EXPECT_NE(error.find(what), std::string::npos) << "got: " << error;
}

/// y = exp(x), z = x + y.
struct TwoOutputs {
  SymbolicGraph g{"two"};
  TensorSymbol x = g.input("x", {DType::f32, {4}});
  TensorSymbol y = g.add("exp", {x});
  TensorSymbol z = g.add("add", {x, y});
  Context context;

  TwoOutputs() {
    g.rename(y, "y");
    g.rename(z, "z");
    g.set_outputs({y, z});
  }
};

TEST(BoundMemory, AnInputInTheMemoryOfAnOutputIsRefused) {
  TwoOutputs of;
  Executable e = compile(of.g, {}, of.context);
  e.run({{of.x, filled(4, 0)}});
  const std::string what = "executable of two: x shares memory with z, which the executable writes";
  expect_refused(what, [&] { e.run({{of.x, e.output(of.z)}}); });
  expect_refused(what, [&] { e.run(); });  // it is bound still
  e.run({{of.x, clone(e.output(of.z))}});
  EXPECT_FLOAT_EQ(static_cast<float>(e.output(of.y).real_at({0})), std::exp(1.F));
}

TEST(BoundMemory, ABoundOutputInTheMemoryOfAnEarlierOutputIsRefused) {
  TwoOutputs of;
  Executable e = compile(of.g, {.bound = {of.y}}, of.context);
  e.run({{of.x, filled(4, 2)}, {of.y, filled(4, 0)}});
  expect_refused("executable of two: y shares memory with z, which the executable writes", [&] {
    e.run({{of.x, filled(4, 2)}, {of.y, e.output(of.z)}});
  });
}

/// The memory belongs to what was compiled for other shapes, and is bound when these run again.
TEST(BoundMemory, AnOutputOfOtherShapesIsReadWhileTheseDoNotRun) {
  SymbolicGraph g("rows");
  const TensorSymbol x = g.input("x", {DType::f32, {4}});
  const TensorSymbol w = g.input("w", {DType::f32, {1}});
  const TensorSymbol y = g.add("exp", {g.add("add", {x, w})});
  const TensorSymbol s = g.add("sum axis=0", {g.slice(x, 0, 0, 1)});
  g.rename(s, "s");
  g.set_outputs({y, s});
  Context context;
  Executable e = compile(g, {}, context);
  e.run({{x, filled(4, 3)}, {w, filled(1, 0)}});
  const Tensor first = e.output(s);
  e.bind(w, first.reshape({1}));
  e.run({{x, filled(5, -3)}});
  EXPECT_EQ(e.output(y).real_at({4}), 1);
  expect_refused("w shares memory with s, which the executable writes", [&] {
    e.run({{x, filled(4, 1)}});
  });
}

TEST(BoundMemory, ABoundOutputInTheMemoryOfAConstantIsRefused) {
  SymbolicGraph g("constants");
  const Tensor weights = filled(4, 0.5);
  const TensorSymbol c = g.constant("c", weights);
  const TensorSymbol half = g.constant("half", weights.slice(0, 2, 2));
  const TensorSymbol x = g.input("x", {DType::f32, {4}});
  const TensorSymbol y = g.add("mul", {c, x});
  const TensorSymbol z = g.add("mul", {half, g.slice(y, 0, 0, 2)});
  g.rename(y, "y");
  g.set_outputs({y, z});
  Context context;
  Executable e = compile(g, {.bound = {y}}, context);
  expect_refused("executable of constants: y shares memory with the constant c, and is written",
                 [&] {
                   e.run({{x, filled(4, 2)}, {y, weights}});
                 });
  e.run({{x, weights}, {y, filled(4, 0)}});  // an input is only read
  EXPECT_EQ(e.output(y).real_at({3}), 0.25);
}

/// Constants of a loop's body, and zeros that no node writes.
TEST(BoundMemory, ConstantsOfABodyAndZerosAreThereToo) {
  const Tensor step = filled(4, 1);
  SymbolicGraph body("body");
  const TensorSymbol v = body.input("v", {DType::f32, {4}});
  const TensorSymbol next = body.add("add", {v, body.constant("step", step)});
  const TensorSymbol most = body.constant("most", filled(1, 3));
  const TensorSymbol goes = body.add("less", {body.slice(next, 0, 0, 1), most});
  body.set_outputs({next, body.reshape(goes, {})});
  SymbolicGraph g("around");
  const TensorSymbol x = g.input("x", {DType::f32, {4}});
  const NodeSymbol loop = g.add_while(body, {x});
  const TensorSymbol zeros = g.zeros({DType::f32, {4}}, "none");
  const TensorSymbol y = g.add("exp", {g.output(loop, 0)});
  g.rename(y, "y");
  g.set_outputs({y, zeros});
  Context context;
  Executable e = compile(g, {.bound = {y}}, context);
  expect_refused("y shares memory with the constant step, and is written", [&] {
    e.run({{x, filled(4, 0)}, {y, step}});
  });
  e.run({{x, filled(4, 0)}, {y, filled(4, 0)}});
  const Tensor none = e.output(zeros);
  expect_refused("y shares memory with ", [&] { e.run({{x, filled(4, 0)}, {y, none}}); });
}

TEST(BoundMemory, TensorsWithoutElementsMeetNothing) {
  SymbolicGraph g("empty");
  const TensorSymbol x = g.input("x", {DType::f32, {0}});
  const TensorSymbol w = g.input("w", {DType::f32, {4}});
  const TensorSymbol y = g.add("exp", {w});
  g.set_outputs({y});
  g.add("exp", {x});
  Context context;
  Executable e = compile(g, {}, context);
  e.run({{x, Tensor(DType::f32, {0})}, {w, filled(4, 0)}});
  e.run({{x, e.output(y).slice(0, 2, 0)}});
  EXPECT_EQ(e.output(y).real_at({1}), 1);
}

}  // namespace
}  // namespace mote
