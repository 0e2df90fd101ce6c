// SPDX-License-Identifier: Apache-2.0
// Gradients of a plug-in's ops: the elements are those of the formulas, exactly.
#include <gtest/gtest.h>

#include "graphs/plugin/exact_library.h"
#include "graphs/symbolic/error_of.h"
#include "mote/runtime/catalogue.h"
#include "mote/runtime/registry.h"
#include "mote/symbolic/dependencies.h"
#include "mote/symbolic/evaluate.h"
#include "mote/symbolic/gradient.h"
#include "mote/symbolic/text.h"

namespace mote {
namespace {

using test::exact_context;
using test::reals;

/// y = cube(x), and symbols for the directions of its derivatives.
struct Cubed {
  SymbolicGraph g{"cubed"};
  TensorSymbol x;
  TensorSymbol u;
  TensorSymbol v;
  TensorSymbol y;

  explicit Cubed(DType dtype) {
    exact_context();
    const TensorForm form(dtype, {3, 4});
    x = g.input("x", form);
    u = g.input("u", form);
    v = g.input("v", form);
    y = g.add("cube", {x});
  }

  std::vector<Tensor> values(const std::vector<TensorSymbol>& of) const {
    return evaluate(g, test::small_integers(g), of, {.context = &exact_context()});
  }
};

TEST(PluginGradient, OfEveryOrderThatThePluginOffers) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    Cubed c(dtype);
    const TensorSymbol first = gradient(c.g, {c.y}, {c.x}, {c.u}).front();
    const std::vector<TensorSymbol> second = gradient(c.g, {first}, {c.x, c.u}, {c.v});
    const TensorSymbol along = jvp(c.g, {c.y}, {c.x}, {c.v}).front();
    const std::vector<Tensor> got = c.values({c.x, c.u, c.v, first, second[0], second[1], along});
    const std::vector<double> x = reals(got[0]), u = reals(got[1]), v = reals(got[2]);
    for (std::size_t k = 0; k < x.size(); ++k) {
      EXPECT_EQ(reals(got[3])[k], 3 * x[k] * x[k] * u[k]);
      EXPECT_EQ(reals(got[4])[k], 6 * x[k] * u[k] * v[k]);
      EXPECT_EQ(reals(got[5])[k], 3 * x[k] * x[k] * v[k]);
      EXPECT_EQ(reals(got[6])[k], 3 * x[k] * x[k] * v[k]);
    }
    verify(c.g);
  }
}

TEST(PluginGradient, BeyondThatTheNodeThePathAndTheWayOutAreNamed) {
  Cubed c(DType::f32);
  const TensorSymbol first = gradient(c.g, {c.y}, {c.x}, {c.u}).front();
  const TensorSymbol second = gradient(c.g, {first}, {c.x}, {c.v}).front();
  const std::size_t nodes = c.g.node_count();
  const std::string error = test::error_of([&] { gradient(c.g, {second}, {c.x}); });
  EXPECT_NE(error.find("(cube.grad.grad)"), std::string::npos) << error;
  EXPECT_NE(error.find("no gradient of cube.grad.grad is registered"), std::string::npos) << error;
  EXPECT_NE(error.find("the attribute \"gradient\" of cube.grad.grad"), std::string::npos) << error;
  EXPECT_EQ(c.g.node_count(), nodes);
  // The direction is not on a path through that op.
  EXPECT_NO_THROW(gradient(c.g, {first}, {c.u}));
}

TEST(PluginGradient, MeetsOpsOfTheCatalogueViewsAndParameters) {
  exact_context();
  for (const DType dtype : {DType::f32, DType::f64}) {
    SymbolicGraph g("mixed");
    const TensorSymbol x = g.input("x", {dtype, {2, 8}});
    const TensorSymbol u = g.input("u", {dtype, {2, 4}});
    const TensorSymbol h = g.add("fold_pairs weight=2", {g.add("cube", {x})});
    const TensorSymbol y = g.add("mul", {h, h});
    EXPECT_EQ(g.form(h).shape, (AxisList{2, 4}));
    // The first half is read twice, through a view.
    const TensorSymbol left = g.slice(x, 1, 0, 4);
    const TensorSymbol z = g.add("add", {y, g.add("cube", {left})});
    const TensorSymbol gx = gradient(g, {z}, {x}, {u}).front();
    const std::vector<Tensor> got =
        evaluate(g, test::small_integers(g), std::vector{x, u, gx}, {.context = &exact_context()});
    for (std::int64_t i = 0; i < 2; ++i)
      for (std::int64_t j = 0; j < 8; ++j) {
        const auto cube = [&](std::int64_t k) {
          const double value = got[0].real_at({i, k});
          return value * value * value;
        };
        const std::int64_t pair = j / 2;
        const double folded = cube(2 * pair) + 2 * cube(2 * pair + 1);
        const double slope = 3 * got[0].real_at({i, j}) * got[0].real_at({i, j});
        const double own = got[1].real_at({i, pair}) * 2 * folded * (j % 2 == 0 ? 1 : 2) * slope;
        const double by_view = j < 4 ? got[1].real_at({i, j}) * slope : 0;
        EXPECT_EQ(got[2].real_at({i, j}), own + by_view) << i << "," << j;
      }
  }
}

TEST(PluginGradient, ShapesComeLateAndDoNotFitInWords) {
  exact_context();
  SymbolicGraph g("late");
  const TensorSymbol x = g.input("x", DType::f32);
  const TensorSymbol y = g.add("fold_pairs", {g.add("cube", {x})});
  g.set_form(x, {DType::f32, {3, 10}});
  EXPECT_EQ(g.form(y).shape, (AxisList{3, 5}));
  const TensorSymbol odd = g.input("odd", {DType::f32, {3, 5}});
  EXPECT_EQ(test::error_of([&] { g.add("fold_pairs", {odd}); }),
            "fold_pairs: axis 1 of x must be 2*N, got 5 (x f32[3,5])");
}

TEST(PluginGradient, TheTextReadsBack) {
  Cubed c(DType::f32);
  const TensorSymbol gx = gradient(c.g, {c.y}, {c.x}, {c.u}).front();
  c.g.rename(gx, "gx");
  c.g.set_outputs({c.g.add("fold_pairs weight=3", {gx})});
  const std::string text = to_text(c.g);
  EXPECT_NE(text.find("gx = cube.grad(u, x)"), std::string::npos) << text;
  EXPECT_NE(text.find("fold_pairs(gx, weight=3)"), std::string::npos) << text;
  EXPECT_EQ(to_text(parse_graph(text)), text);
}

TEST(PluginGradient, AnOpThatSaysNothingHasNone) {
  exact_context();
  Registry& registry = Registry::global();
  const Definition cube = registry.column(kDefinition).at(registry.get("cube"));
  static mote_op_definition named;
  named = *cube;
  named.name = "mute_cube";
  register_op("mute_cube").set(kDefinition, &named);
  SymbolicGraph g;
  const TensorSymbol x = g.input("x", {DType::f32, {2}});
  const TensorSymbol y = g.add("mute_cube", {x});
  const std::string error = test::error_of([&] { gradient(g, {y}, {x}); });
  EXPECT_NE(error.find("no gradient of mute_cube is registered"), std::string::npos) << error;
  register_op("mute_cube").set(kZeroGradient, true);
  const TensorSymbol zero = gradient(g, {y}, {x}).front();
  EXPECT_EQ(g.info(g.root(zero)).producer, kNoIndex);
}

}  // namespace
}  // namespace mote
