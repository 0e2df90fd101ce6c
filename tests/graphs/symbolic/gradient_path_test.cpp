// SPDX-License-Identifier: Apache-2.0
// Ops without a gradient (S4d), the joint graph (S16), many nodes, and second order in f32.
#include <gtest/gtest.h>

#include <ctime>

#include "gradient_support.h"
#include "mote/runtime/status.h"
#include "mote/symbolic/dependencies.h"
#include "mote/symbolic/evaluate.h"
#include "mote/symbolic/gradient.h"
#include "support/cpu_time.h"

namespace mote {
namespace {

/// A registry with an op "triple" (y = 3x, f64) that only its definition describes, and mote's.
class WithOwnOp : public testing::Test {
 protected:
  WithOwnOp() {
    register_catalogue(registry_);
    const Registry& global = Registry::global();
    const Definition neg = global.column(kDefinition).at(global.get("neg"));
    for (mote_op_definition* op : {&triple_, &triple_grad_}) *op = *neg;
    triple_.name = "triple";
    triple_grad_.name = "triple.grad";
    registry_.set(registry_.add("triple"), kDefinition, &triple_);
  }
  /// Registers the op of the gradient, as a plug-in does.
  void add_gradient() {
    registry_.set(registry_.add("triple.grad"), kDefinition, &triple_grad_);
    registry_.set(registry_.get("triple"), kGradient, &row_);
  }

  Registry registry_;
  mote_op_definition triple_;
  mote_op_definition triple_grad_;
  mote_op_gradient row_ = {"triple", "triple.grad", 1, 0, 0, 1, 1};
};

TEST_F(WithOwnOp, NamesOpNodeAndPathIfItHasNoGradient) {
  SymbolicGraph g("own", registry_);
  const TensorSymbol x = g.input("x", {DType::f64, {2}});
  const TensorSymbol h = g.add(Command("neg", {}, std::nullopt, registry_), {x});
  const TensorSymbol y = g.add(Command("triple", {}, std::nullopt, registry_), {h});
  const TensorSymbol loss = g.add(Command("neg", {}, std::nullopt, registry_), {y});
  g.rename(h, "h");
  g.rename(loss, "loss");
  const std::size_t nodes = g.node_count();
  const std::size_t symbols = g.symbol_count();
  EXPECT_EQ(error_of([&] { gradient(g, {loss}, {x}); }),
            "symbolic graph: gradient: node 1 't2' (triple) has no gradient: no gradient of triple "
            "is registered (mote_add_kernels() makes the gradients of an op with a program; a "
            "plug-in may register the attribute \"gradient\" of triple); it is on the path loss <- "
            "t2 <- h <- x");
  EXPECT_EQ(g.node_count(), nodes);
  EXPECT_EQ(g.symbol_count(), symbols);
}

TEST_F(WithOwnOp, IsNoErrorBesideThePath) {
  SymbolicGraph g("own", registry_);
  const TensorSymbol x = g.input("x", {DType::f64, {2}});
  const TensorSymbol w = g.input("w", {DType::f64, {2}});
  const TensorSymbol y = g.add(Command("triple", {}, std::nullopt, registry_), {w});
  const TensorSymbol f = g.add(Command("mul", {}, std::nullopt, registry_), {x, y});
  g.add(Command("triple", {}, std::nullopt, registry_), {x});
  const TensorSymbol gx = gradient(g, {f}, {x})[0];
  EXPECT_EQ(to_string(*g.info(g.producer(gx)).command), "mul.grad");
}

TEST_F(WithOwnOp, TakesTheGradientThatAPlugInRegisters) {
  add_gradient();
  SymbolicGraph g("own", registry_);
  const TensorSymbol x = g.input("x", {DType::f64, {2}});
  const TensorSymbol y = g.add(Command("triple", {}, std::nullopt, registry_), {x});
  const TensorSymbol gx = gradient(g, {y}, {x})[0];
  EXPECT_EQ(to_string(*g.info(g.producer(gx)).command), "triple.grad");
}

TEST_F(WithOwnOp, PassesNothingIfItIsMarkedSo) {
  registry_.set(registry_.get("triple"), kZeroGradient, true);
  SymbolicGraph g("own", registry_);
  const TensorSymbol x = g.input("x", {DType::f64, {2}});
  const TensorSymbol y = g.add(Command("triple", {}, std::nullopt, registry_), {x});
  const TensorSymbol f = g.add(Command("add", {}, std::nullopt, registry_), {x, y});
  const std::size_t nodes = g.node_count();
  gradient(g, {f}, {x});
  EXPECT_EQ(g.node_count(), nodes);
}

TEST(GradientPath, IsShortenedIfItIsLong) {
  SymbolicGraph g;
  const TensorSymbol x = g.input("x", {DType::f64, {1}});
  TensorSymbol y = x;
  for (int k = 0; k < 20; ++k) y = g.add("neg", {y});
  const TensorSymbol z = g.tensor({DType::f64, {1}}, "z");
  g.call({"own", [](auto, auto) {}}, std::vector{y}, std::vector{z});
  const std::string error = error_of([&] { gradient(g, {z}, {x}); });
  EXPECT_NE(error.find("z <- t20 <- t19 <- t18 <- t17 <- … 13 more … <- t3"), std::string::npos)
      << error;
}

TEST(Saved, ListsWhatTheWayBackReads) {
  SymbolicGraph g;
  const TensorSymbol x = g.input("x", {DType::f32, {4, 3}});
  const TensorSymbol w = g.input("w", {DType::f32, {3, 2}});
  const TensorSymbol h = g.add("matmul", {x, w});
  const TensorSymbol y = g.add("tanh", {h});
  const TensorSymbol loss = g.add("sumsq axis=0", {g.reshape(y, {8})});
  g.rename(y, "y");
  const TensorSymbol gw = gradient(g, {loss}, {w})[0];
  const std::vector<SavedTensor> list = saved(g, {loss}, {gw});
  // Not h, since tanh's gradient reads y, and not w, since it is not asked for x's.
  ASSERT_EQ(list.size(), 2U);
  EXPECT_EQ(list[0].tensor, x);
  EXPECT_EQ(list[0].bytes, 48);
  EXPECT_EQ(list[1].tensor, y);
  EXPECT_EQ(list[1].bytes, 32);
  ASSERT_EQ(list[1].readers.size(), 2U);
  EXPECT_EQ(to_text(g, std::span(list).first(1)),
            "x f32[4,3] 48 bytes: " + g.text(g.producer(gw)) + " reads it\n");
}

TEST(Saved, KeepsNothingForItsShapeAlone) {
  SymbolicGraph g;
  const TensorSymbol x = g.input("x", {DType::f32, {4, 3}});
  const TensorSymbol h = g.add("tanh", {x});
  const TensorSymbol f = g.add("mean axis=1", {h});
  const TensorSymbol gh = gradient(g, {f}, {h})[0];
  EXPECT_TRUE(saved(g, {f}, {gh}).empty());
  // A node that the caller adds may read what it needs the shape of.
  const TensorSymbol seed = g.input("seed", {DType::f32, {4, 1}});
  const TensorSymbol own = g.add("mean.grad", {seed, g.reshape(h, {4, 3, 1})});
  const std::vector<SavedTensor> list = saved(g, {f}, {own});
  ASSERT_EQ(list.size(), 2U);
  EXPECT_EQ(list[0].tensor, h);
  EXPECT_FALSE(list[0].readers[0].reads_data);
  EXPECT_EQ(list[1].tensor, seed);
  EXPECT_TRUE(list[1].readers[0].reads_data);
}

TEST(Gradient, NeedsTheShapesOfAllInputs) {
  SymbolicGraph g;
  const TensorSymbol x = g.input("x", DType::f64), w = g.input("w", {DType::f64, {2}});
  const TensorSymbol y = g.add("mul", {x, w});
  const std::string expected =
      " is not known yet: expected shapes of all inputs (set_form), got none of x";
  EXPECT_EQ(error_of([&] { gradient(g, {y}, {w}); }),
            "symbolic graph: gradient: the shape of f t2" + expected);
  EXPECT_EQ(error_of([&] { jvp(g, {w}, {x}, {w}); }),
            "symbolic graph: gradient: the shape of x x" + expected);
  g.set_form(x, {DType::f64, {3, 2}});
  EXPECT_EQ(to_string(g.form(gradient(g, {y}, {w})[0])), "f64[2]");
}

TEST(Gradient, OfAnyOrderIsDeterministic) {
  const auto text = [] {
    SymbolicGraph g;
    const TensorSymbol x = g.input("x", {DType::f64, {3}});
    const TensorSymbol f = g.add("mul", {g.add("exp", {x}), g.add("mul", {x, g.add("sin", {x})})});
    TensorSymbol d = f;
    for (int k = 0; k < 3; ++k) d = gradient(g, {d}, {x})[0];
    std::string all;
    for (std::uint32_t k = 0; k < g.node_count(); ++k)
      if (!g.nodes()[k].removed) {
        all += g.text(g.node_at(k));
        for (const std::uint32_t input : g.nodes()[k].inputs) all += " " + std::to_string(input);
      }
    return all;
  };
  EXPECT_EQ(text(), text());
}

/// The processor time of the gradient of a chain of n nodes, each of which reads x too.
double seconds_of_chain(int n) {
  SymbolicGraph g;
  const TensorSymbol x = g.input("x", {DType::f32, {4}});
  TensorSymbol y = x;
  for (int k = 0; k < n; ++k) y = g.add("mul", {y, k % 2 == 0 ? x : y});
  return test::cpu_seconds([&] { gradient(g, {y}, {x}); });
}

TEST(Gradient, OfAChainTakesLinearTime) {
  seconds_of_chain(1000);
  const double small = seconds_of_chain(10000);
  const double large = seconds_of_chain(100000);
  EXPECT_LE(large, 25 * small);  // a quadratic step takes 100 times as long
}

/// The time of the gradient of a sum of n slices of one tensor.
double seconds_of_slices(int n) {
  SymbolicGraph g;
  const TensorSymbol x = g.input("x", {DType::f32, {n}});
  std::vector<TensorSymbol> f;
  for (int k = 0; k < n; ++k) f.push_back(g.add("tanh", {g.slice(x, 0, k, 1)}));
  const std::clock_t begin = std::clock();
  gradient(g, f, std::vector{x});
  return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
}

TEST(Gradient, OfManySlicesTakesLinearTime) {
  seconds_of_slices(500);
  const double small = seconds_of_slices(3000);
  const double large = seconds_of_slices(30000);
  EXPECT_LE(large, 25 * small);
}

/// The time of the gradient of what n columns of one tensor give, as columns of another.
double seconds_of_columns(int n) {
  SymbolicGraph g;
  const TensorSymbol x = g.input("x", {DType::f32, {3, n}});
  const TensorSymbol t = g.tensor({DType::f32, {3, n}});
  const Command tanh("tanh");
  for (int k = 0; k < n; ++k)
    g.write(tanh, std::vector{g.slice(x, 1, k, 1)}, std::vector{g.slice(t, 1, n - 1 - k, 1)});
  const TensorSymbol y = g.add("sum axis=0", {t});
  return test::cpu_seconds([&] { gradient(g, {y}, {x}); });
}

TEST(Gradient, OfManyColumnsTakesLinearTime) {
  seconds_of_columns(500);
  const double small = seconds_of_columns(1000);
  const double large = seconds_of_columns(10000);
  EXPECT_LE(large, 25 * small);
}

}  // namespace
}  // namespace mote
