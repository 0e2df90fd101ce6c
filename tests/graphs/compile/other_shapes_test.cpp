// SPDX-License-Identifier: Apache-2.0
// A graph that was compiled for one shape runs with others, as one that is built for them.
#include <gtest/gtest.h>

#include "graphs/compile/numbered.h"
#include "mote/runtime/status.h"
#include "mote/symbolic/compile.h"
#include "mote/symbolic/evaluate.h"
#include "mote/symbolic/gradient.h"

namespace mote {
namespace {

using test::bits;
using test::numbered;

/// A layer whose batch axis is sliced, reshaped and repeated.
struct Batch {
  SymbolicGraph g{"batch"};
  TensorSymbol x;
  TensorSymbol w;
  TensorSymbol y;

  explicit Batch(std::int64_t n) {
    x = g.input("x", {DType::f32, {n, 2, 3}});
    w = g.input("w", {DType::f32, {6, 4}});
    const TensorSymbol flat = g.reshape(x, {n, 6});
    const TensorSymbol h = g.add("relu", {g.add("matmul", {flat, w})});
    const TensorSymbol parts = g.tensor({DType::f32, {n, 4}}, "parts");
    const TensorSymbol left = g.slice(parts, 1, 0, 2);
    const TensorSymbol right = g.slice(parts, 1, 2, 2);
    g.write(Command("neg"), std::vector{g.slice(h, 1, 0, 2)}, std::vector{left});
    g.write(Command("exp"), std::vector{g.slice(h, 1, 2, 2)}, std::vector{right});
    y = g.add("sum", {g.add("add", {parts, h})});
    g.set_outputs({y, h});
  }
};

TEST(Compile, OtherShapesGiveTheBitsOfAGraphThatIsBuiltForThem) {
  const Batch first(4);
  Context context;
  Executable run = compile(first.g, {.kept_shapes = 2}, context);
  for (const std::int64_t n : {4, 7, 4, 1, 7, 4}) {
    const Batch fresh(n);
    const Tensor x = numbered(fresh.g, fresh.x);
    const Tensor w = numbered(fresh.g, fresh.w, 2);
    run.run({{first.x, x}, {first.w, w}});
    Executable alone = compile(fresh.g, {}, context);
    alone.run({{fresh.x, x}, {fresh.w, w}});
    for (std::size_t k = 0; k < 2; ++k)
      EXPECT_EQ(bits(run.output(first.g.outputs()[k])), bits(alone.output(fresh.g.outputs()[k])))
          << n;
    EXPECT_EQ(run.report().arena_bytes, alone.report().arena_bytes);
  }
}

/// A layer with its loss and gradient, for a batch.
struct Trained {
  SymbolicGraph g{"trained"};
  TensorSymbol x;
  TensorSymbol w;
  TensorSymbol t;
  std::vector<TensorSymbol> outputs;

  explicit Trained(std::int64_t n) {
    x = g.input("x", {DType::f32, {n, 3}});
    w = g.input("w", {DType::f32, {3, 5}});
    t = g.input("t", {DType::f32, {n, 5}});
    const TensorSymbol distance = g.add("sub", {g.add("relu", {g.add("matmul", {x, w})}), t});
    const TensorSymbol loss = g.add("mul", {distance, distance});
    outputs = gradient(g, {loss}, {w, x});
    outputs.push_back(loss);
    g.set_outputs(outputs);
  }
};

TEST(Compile, OtherBatchesOfAGradient) {
  const Trained first(4);
  Context context;
  Executable run = compile(first.g, {}, context);
  for (const std::int64_t n : {4, 2, 9, 4}) {
    const Trained fresh(n);
    const Tensor x = numbered(fresh.g, fresh.x);
    const Tensor w = numbered(fresh.g, fresh.w, 2);
    const Tensor t = numbered(fresh.g, fresh.t, 7);
    run.run({{first.x, x}, {first.w, w}, {first.t, t}});
    const std::vector<Tensor> expected =
        evaluate(fresh.g, std::vector<TensorBinding>{{fresh.x, x}, {fresh.w, w}, {fresh.t, t}},
                 fresh.outputs);
    for (std::size_t k = 0; k < expected.size(); ++k)
      EXPECT_EQ(bits(run.output(first.outputs[k])), bits(expected[k])) << n;
  }
}

TEST(WithForms, WhatDoesNotFollowIsAnErrorThatNamesTheSymbol) {
  SymbolicGraph g("two");
  const TensorSymbol x = g.input("x", {DType::f32, {4, 6}});
  const TensorSymbol v = g.view(x, {ViewKind::reshape, {2, 12}}, "v");
  g.set_outputs({g.add("neg", {v})});
  const auto other = [&](const AxisList& shape) {
    return g.with_forms(std::vector{std::pair(x, TensorForm(DType::f32, shape))});
  };
  try {
    other({5, 6});
    FAIL();
  } catch (const StatusError& e) {
    EXPECT_NE(std::string(e.what()).find("v was f32[2,12]"), std::string::npos) << e.what();
  }
}

}  // namespace
}  // namespace mote
