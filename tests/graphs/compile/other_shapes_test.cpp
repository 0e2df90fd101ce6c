// SPDX-License-Identifier: Apache-2.0
// A graph that was compiled for one shape runs with others, as one that is built for them.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "graphs/compile/numbered.h"
#include "mote/runtime/status.h"
#include "mote/symbolic/compile.h"
#include "mote/symbolic/evaluate.h"
#include "mote/symbolic/gradient.h"
#include "mote/symbolic/pass.h"
#include "mote/symbolic/text.h"

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

using Loss = std::function<TensorSymbol(SymbolicGraph&, TensorSymbol x, TensorSymbol b)>;

/// A loss of x [rows, columns] and b [columns], and its gradients.
struct Differentiated {
  SymbolicGraph g{"loss"};
  TensorSymbol x;
  TensorSymbol b;

  Differentiated(const Loss& loss, std::int64_t rows, std::int64_t columns) {
    x = g.input("x", {DType::f32, {rows, columns}});
    b = g.input("b", {DType::f32, {columns}});
    const TensorSymbol l = loss(g, x, b);
    const std::vector<TensorSymbol> gradients = gradient(g, {l}, {x, b});
    g.set_outputs({l, gradients[0], gradients[1]});
  }
  std::vector<TensorBinding> inputs(const Differentiated& of) const {
    return {{of.x, numbered(g, x)}, {of.b, numbered(g, b, 2)}};
  }
};

/// Compares the bits of a graph of each shape, run with each other one, with those of a fresh one.
void expect_gradients_of_other_shapes(const std::string& name, const Loss& loss) {
  Context context;
  for (const AxisList& built : {AxisList{4, 6}, AxisList{1, 6}, AxisList{4, 1}, AxisList{1, 1}}) {
    const Differentiated first(loss, built[0], built[1]);
    Executable run = compile(first.g, {}, context);
    for (const AxisList& now :
         {AxisList{5, 6}, AxisList{4, 9}, AxisList{7, 3}, AxisList{1, 6}, AxisList{3, 1}}) {
      const Differentiated fresh(loss, now[0], now[1]);
      const std::vector<Tensor> expected =
          evaluate(fresh.g, fresh.inputs(fresh), fresh.g.outputs());
      run.run(fresh.inputs(first));
      for (std::size_t k = 0; k < expected.size(); ++k) {
        const Tensor& got = run.output(first.g.outputs()[k]);
        const std::string where = name + " built " + to_string(built) + " run " + to_string(now);
        EXPECT_EQ(to_string(got.shape()), to_string(expected[k].shape())) << where;
        EXPECT_EQ(bits(got), bits(expected[k])) << where << " output " << k;
      }
    }
  }
}

TEST(Compile, OtherShapesOfGradientsWithReductionsAlongAxes) {
  const auto added = [](SymbolicGraph& g, TensorSymbol x, TensorSymbol b) {
    return g.add("add", {x, b});
  };
  const auto reduced = [](const std::string& command) -> Loss {
    return [command](SymbolicGraph& g, TensorSymbol x, TensorSymbol b) {
      return g.add(command, {g.add("mul", {x, b})});
    };
  };
  expect_gradients_of_other_shapes("both", [&](SymbolicGraph& g, TensorSymbol x, TensorSymbol b) {
    return g.add("sum axis=0", {g.add("sum axis=1", {added(g, x, b)})});
  });
  for (const char* command : {"sum axis=0", "sum axis=1", "mean axis=0", "mean axis=1",
                              "reduce_max axis=1", "logsumexp axis=0", "softmax axis=0"})
    expect_gradients_of_other_shapes(command, reduced(command));
  expect_gradients_of_other_shapes("turned", [&](SymbolicGraph& g, TensorSymbol x, TensorSymbol b) {
    return g.add("sum axis=0", {g.permute(added(g, x, b), {1, 0})});
  });
  expect_gradients_of_other_shapes("cut", [&](SymbolicGraph& g, TensorSymbol x, TensorSymbol b) {
    const TensorSymbol flat = g.reshape(added(g, x, b), {g.form(x).shape[0] * g.form(x).shape[1]});
    return g.add("sum axis=0", {g.add("tanh", {flat})});
  });
  expect_gradients_of_other_shapes("gram", [&](SymbolicGraph& g, TensorSymbol x, TensorSymbol b) {
    const TensorSymbol y = added(g, x, b);
    return g.add("mean axis=0", {g.add("matmul", {g.permute(y, {1, 0}), y})});
  });
}

TEST(Compile, TheZerosOfAGradientFollowTheirInput) {
  SymbolicGraph g("g");
  const TensorSymbol x = g.input("x", {DType::f32, {4, 6}});
  const TensorSymbol u = g.input("u", {DType::f32, {4, 6}});
  const TensorSymbol loss = g.add("sum axis=0", {g.add("exp", {x})});
  const std::vector<TensorSymbol> gradients = gradient(g, {loss}, {x, u});
  g.set_outputs({loss, gradients[0], gradients[1]});
  Context context;
  Executable run = compile(g, {}, context);
  run.run({{x, Tensor(DType::f32, {5, 6})}, {u, Tensor(DType::f32, {4, 6})}});
  EXPECT_EQ(run.output(gradients[0]).shape(), (AxisList{5, 6}));
  EXPECT_EQ(run.output(gradients[1]).shape(), (AxisList{4, 6}));
}

/// Returns the error of the graph for x of that shape; empty if there is none.
std::string error_for(const SymbolicGraph& g, const AxisList& shape) {
  try {
    const TensorSymbol x = g.find("x");
    g.with_forms(std::vector{std::pair(x, TensorForm(g.form(x).dtype, shape))});
  } catch (const StatusError& e) {
    return e.what();
  }
  return "";
}

#define EXPECT_REFUSED(graph, shape, text) \
  EXPECT_NE(error_for(graph, shape).find(text), std::string::npos) << error_for(graph, shape)

TEST(WithForms, AReshapeThatMayBecomeTwoShapesIsRefused) {
  const auto reshaped = [](const AxisList& from, const AxisList& to) {
    SymbolicGraph g("g");
    const TensorSymbol x = g.input("x", {DType::f32, from});
    g.set_outputs({g.add("neg", {g.view(x, {ViewKind::reshape, to}, "v")})});
    return g;
  };
  const auto shape_of = [](const SymbolicGraph& g, const AxisList& shape) {
    const SymbolicGraph other =
        g.with_forms(std::vector{std::pair(g.find("x"), TensorForm(DType::f32, shape))});
    return other.form(other.find("v")).shape;
  };
  EXPECT_EQ(shape_of(reshaped({4, 6}, {4, 1, 6}), {5, 3}), (AxisList{5, 1, 3}));
  EXPECT_EQ(shape_of(reshaped({1, 6}, {6}), {5, 6}), (AxisList{30}));
  EXPECT_EQ(shape_of(reshaped({2, 3, 4}, {6, 4}), {5, 3, 7}), (AxisList{15, 7}));
  // An axis of 1 that is added next to a longer one stays 1.
  EXPECT_EQ(shape_of(reshaped({3}, {3, 1}), {6}), (AxisList{6, 1}));
  EXPECT_EQ(shape_of(reshaped({3}, {1, 3}), {6}), (AxisList{1, 6}));
  EXPECT_EQ(shape_of(reshaped({3, 4}, {1, 3, 1, 2, 2}), {6, 4}), (AxisList{1, 6, 1, 2, 2}));
  EXPECT_EQ(shape_of(reshaped({3, 1}, {3, 1, 1}), {6, 1}), (AxisList{6, 1, 1}));
  EXPECT_REFUSED(reshaped({4, 1}, {4, 1, 1}), (AxisList{4, 3}),
                 "v was f32[4,1,1]: it may be reshaped from [4,3] to [4,1,3] or to [4,3,1]");
  EXPECT_REFUSED(reshaped({1}, {1, 1}), AxisList{3}, "to [1,3] or to [3,1]");
  EXPECT_REFUSED(reshaped({1, 6}, {1, 6}), (AxisList{5, 6}), "to [1,30] or to [5,6]");
  EXPECT_REFUSED(reshaped({4, 6}, {6, 4}), (AxisList{8, 6}), "to [6,8] or to [12,4]");
}

TEST(WithForms, AnExtentThatMayBeOneThatChangesIsRefused) {
  SymbolicGraph repeated("g");
  const TensorSymbol x = repeated.input("x", {DType::f32, {4, 6}});
  const TensorSymbol one = repeated.constant("one", numbered({DType::f32, {}}));
  const TensorSymbol v = repeated.view(one, {ViewKind::broadcast, {4, 6, 1}}, "v");
  repeated.set_outputs({repeated.add("neg", {v}), repeated.add("neg", {x})});
  EXPECT_REFUSED(repeated, (AxisList{5, 6}), "v was f32[4,6,1]:0,0,0: its extent 4 may be one");
  EXPECT_EQ(error_for(repeated, {4, 6}), "");

  SymbolicGraph filled("g");
  const TensorSymbol y = filled.input("x", {DType::f32, {4}});
  const TensorSymbol t = filled.tensor({DType::f32, {4, 3}}, "t");
  filled.fill(t, 2);
  filled.set_outputs({t, filled.add("neg", {y})});
  EXPECT_REFUSED(filled, AxisList{5}, "t was f32[4,3]: its extent 4 may be one that became 5");
}

TEST(WithForms, AnOpThatDoesNotTakeTheShapesIsNamedWithItsGraph) {
  const SymbolicGraph g = parse_graph(
      "graph two(x f32[4], y f32[4]) -> (z)\n"
      "  z = add(x, y)\n");
  EXPECT_REFUSED(g, AxisList{5}, "other shapes for two: node 0 'z' (add): ");
}

TEST(WithForms, AGradientOfPartsThatShareOtherElementsIsRefused) {
  SymbolicGraph g("g");
  const TensorSymbol x = g.input("x", {DType::f32, {4, 6}});
  const TensorSymbol row = g.view(x, {ViewKind::select, {0, 1}}, "row");
  const TensorSymbol part = g.slice(g.reshape(x, {24}), 0, 0, 6);
  const TensorSymbol loss = g.add("sum axis=0", {g.add("mul", {row, row})});
  const TensorSymbol other = g.add("sum axis=0", {g.add("exp", {part})});
  g.set_outputs({loss, other});
  EXPECT_EQ(error_for(g, {4, 3}), "");
  g.set_outputs(gradient(g, {loss, other}, {x}));
  EXPECT_REFUSED(g, (AxisList{4, 3}), "a gradient depends on that");
  EXPECT_EQ(error_for(g, {5, 6}), "");
}

TEST(WithForms, AGradientWithNumbersOfItsShapeIsRefused) {
  SymbolicGraph g("g");
  const TensorSymbol x = g.input("x", {DType::f64, {4, 6}});
  const TensorSymbol y = g.add("layer_norm", {x});
  const TensorSymbol once = gradient(g, {y}, {x}).front();
  const TensorSymbol twice = gradient(g, {g.add("mul", {once, once})}, {x}).front();
  g.set_outputs({twice});
  EXPECT_REFUSED(g, (AxisList{4, 3}), "alone");
}

TEST(WithForms, PassesKeepWhatShapesFollowFrom) {
  SymbolicGraph g("g");
  const TensorSymbol x = g.input("x", {DType::f32, {4, 6}});
  const TensorSymbol b = g.input("b", {DType::f32, {6}});
  const TensorSymbol loss = g.add("sum axis=0", {g.add("sum axis=1", {g.add("add", {x, b})})});
  g.set_outputs(gradient(g, {loss}, {x, b}));
  SymbolicGraph merged = g;
  apply_passes(merged, std::vector<std::string>{"merge"});
  EXPECT_EQ(error_for(merged, {5, 6}), "");
  // The constant that fold computes from four rows is wrong for five.
  apply_passes(g, std::vector<std::string>{"fold", "prune"});
  EXPECT_REFUSED(g, (AxisList{5, 6}), "alone");
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
