// SPDX-License-Identifier: Apache-2.0
// The pass replace and its table.
#include "mote/symbolic/replace.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "mote/runtime/context.h"
#include "mote/runtime/status.h"
#include "pass_case.h"

namespace mote {
namespace {

using test::apply_and_compare;
using test::node_total;

/// y = relu(conv2d(x, w, b)) with parameters.
struct Rectified {
  SymbolicGraph g;
  TensorSymbol x = g.input("x", {DType::f32, {2, 4, 7, 6}});
  TensorSymbol w = g.input("w", {DType::f32, {6, 2, 3, 3}});
  TensorSymbol b;
  TensorSymbol h;
  TensorSymbol y;

  explicit Rectified(bool with_bias = true) {
    if (with_bias) b = g.input("b", {DType::f32, {6}});
    h = g.add("conv2d stride0=2 pads1=1 pads3=1 groups=2", {x, w, b});
    y = g.add("relu", {h});
    g.set_outputs({y});
  }
};

TEST(Replace, ConvolutionAndReluWithTheSameParameters) {
  for (const bool with_bias : {true, false}) {
    Rectified r(with_bias);
    EXPECT_EQ(apply_and_compare(r.g, {"replace"}), "replace: replaced 1 by conv2d_relu");
    const NodeInfo& node = r.g.info(r.g.producer(r.y));
    EXPECT_EQ(to_string(*node.command), "conv2d_relu stride0=2 pads1=1 pads3=1 groups=2");
    EXPECT_EQ(node.inputs[2], r.b.index);
    EXPECT_EQ(node_total(r.g), 1U);
  }
}

TEST(Replace, NotWhereTheValueBetweenIsRoundedTo16Bits) {
  SymbolicGraph g;
  const TensorSymbol x = g.input("x", {DType::f16, {1, 1, 1, 1}});
  const TensorSymbol w = g.input("w", {DType::f16, {1, 1, 1, 1}});
  const TensorSymbol y = g.add("relu", {g.add("conv2d", {x, w})});
  g.set_outputs({y});
  EXPECT_EQ(apply_and_compare(g, {"replace"}), "replace: nothing");
}

TEST(Replace, NotWhatSomethingElseReads) {
  Rectified read;
  read.g.set_outputs({read.y, read.g.add("sin", {read.h})});
  EXPECT_EQ(apply_and_compare(read.g, {"replace"}), "replace: nothing");
  Rectified output;
  output.g.set_outputs({output.y, output.h});
  EXPECT_EQ(apply_and_compare(output.g, {"replace"}), "replace: nothing");
  Rectified view;
  view.g.set_outputs({view.y, view.g.select(view.h, 0, 0)});
  EXPECT_EQ(apply_and_compare(view.g, {"replace"}), "replace: nothing");
}

TEST(Replace, NotOrderedOrRecomputedNodes) {
  Rectified ordered;
  const TensorSymbol other = ordered.g.add("sin", {ordered.x});
  ordered.g.order(ordered.g.producer(other), ordered.g.producer(ordered.h));
  EXPECT_EQ(apply_and_compare(ordered.g, {"replace"}), "replace: nothing");
  Rectified again;
  again.g.mark_recomputed(again.g.producer(again.h), 1);
  EXPECT_EQ(apply_and_compare(again.g, {"replace"}), "replace: nothing");
}

TEST(Replace, IntoAViewThatTheNodeWrote) {
  Rectified r;
  const TensorSymbol p = r.g.tensor({DType::f32, {4, 6, 3, 6}});
  const NodeSymbol low =
      r.g.write(Command("relu", {}),
                std::vector{r.g.add("conv2d stride0=2 pads1=1 pads3=1 groups=2", {r.x, r.w})},
                std::vector{r.g.slice(p, 0, 0, 2)});
  r.g.set_outputs({r.g.slice(p, 0, 0, 2)});
  EXPECT_TRUE(r.g.info(low).command != nullptr);
  EXPECT_EQ(apply_and_compare(r.g, {"prune", "replace"}), "replace: replaced 1 by conv2d_relu");
}

/// Returns the elements' text, from which any other number can be told; all NaNs are alike.
std::vector<std::string> numbers_of(const Tensor& tensor) {
  const std::int64_t count = tensor.element_count();
  const Tensor flat = clone(tensor).reshape({count});
  std::vector<std::string> numbers;
  for (std::int64_t k = 0; k < count; ++k) {
    const double v = flat.real_at({k});
    numbers.push_back(std::isnan(v) ? "nan" : fmt::format("{:a}", v));
  }
  return numbers;
}

/// Every row that says so keeps every bit, except for the sign of a NaN, on numbers that meet all
/// that is special.
TEST(Replace, ExactRowsAreExact) {
  const double inf = std::numeric_limits<double>::infinity();
  const std::vector<double> special = {0.0,  -0.0,  1e-45, -1e-45, 1e-38,        -1.5,         3.25,
                                       1e38, -1e38, inf,   -inf,   std::nan(""), -std::nan("")};
  for (const Replacement& row : replacements()) {
    if (!row.is_exact) continue;
    const std::vector<DType> all = {DType::f32, DType::f64, DType::f16, DType::bf16};
    for (const DType dtype : row.exact_dtypes.empty() ? all : row.exact_dtypes)
      for (unsigned seed = 0; seed < 40; ++seed) {
        SymbolicGraph g;
        std::vector<TensorBinding> bindings;
        std::mt19937 random(seed);
        const auto input = [&](const char* name, const AxisList& shape) {
          const TensorSymbol x = g.input(name, {dtype, shape});
          const Tensor t(dtype, {element_count({dtype, shape})});
          std::normal_distribution<double> draw;
          for (std::int64_t k = 0; k < t.element_count(); ++k)
            t.set({k}, seed % 2 == 0 ? draw(random) : special[random() % special.size()]);
          bindings.emplace_back(x, t.reshape(shape));
          return x;
        };
        const auto up_to = [&](int most) {
          return 1 + static_cast<std::int64_t>(random() % static_cast<unsigned>(most));
        };
        const std::int64_t channels = up_to(9);
        const std::int64_t filters = up_to(20);
        TensorSymbol y;
        if (row.name == "conv2d_relu") {
          const TensorSymbol x = input("x", {up_to(3), channels, 2 + up_to(20), 3 + up_to(20)});
          const TensorSymbol w = input("w", {filters, channels, 2, 3});
          y = g.add("relu", {g.add("conv2d pads0=1 pads3=1", {x, w, input("b", {filters})})});
        } else if (row.name.starts_with("test_")) {
          continue;
        } else {
          FAIL() << "no case for " << row.name;
        }
        g.set_outputs({y});
        SCOPED_TRACE(row.name + " " + std::string(name(dtype)) + " seed " + std::to_string(seed));
        const auto before = numbers_of(evaluate(g, bindings, g.outputs())[0]);
        const std::vector<PassReport> reports =
            apply_passes(g, std::vector<std::string>{"replace"}, {.verify = true});
        EXPECT_EQ(reports.front().text, "replace: replaced 1 by " + row.name);
        EXPECT_EQ(numbers_of(evaluate(g, bindings, g.outputs())[0]), before);
      }
  }
}

TEST(Replace, OthersOnlyIfAskedFor) {
  SymbolicGraph g;
  const TensorSymbol x = g.input("x", {DType::f32, {2, 3}});
  g.set_outputs({g.add("mul", {x, g.add("sigmoid", {x})})});
  EXPECT_EQ(apply_and_compare(g, {"replace"}), "replace: nothing");
  EXPECT_EQ(apply_passes(g, std::vector<std::string>{"replace"}, {.verify = true, .inexact = true})
                .front()
                .text,
            "replace: replaced 1 by silu");
  SymbolicGraph f;
  const TensorSymbol a = f.input("a", {DType::f32, {2, 3}});
  const TensorSymbol b = f.input("b", {DType::f32, {2, 3}});
  f.set_outputs({f.add("mul", {a, f.add("sigmoid", {b})})});  // not the same x
  EXPECT_EQ(apply_passes(f, std::vector<std::string>{"replace"}, {.inexact = true}).front().text,
            "replace: nothing");
}

TEST(Replace, NotWhereABackendHasAKernel) {
  mote_backend other{};
  mote_kernel kernel{};
  kernel.size = sizeof kernel;
  kernel.op = "conv2d";
  mote_contract contract{};
  contract.size = sizeof contract;
  contract.form = "direct";
  kernel.contract = &contract;
  kernel.can_run = [](const mote_call*) { return MOTE_UNSUPPORTED; };
  kernel.run = [](const mote_call*, void*) { return MOTE_FAILED; };
  other.size = sizeof other;
  other.name = "other";
  other.version = "1";
  other.kernel_count = 1;
  other.kernels = &kernel;
  Context context({.backends = {&other}});
  Rectified r;
  EXPECT_EQ(apply_and_compare(r.g, {"replace"}, {.context = &context}), "replace: nothing");
  Context plain;
  EXPECT_EQ(apply_and_compare(r.g, {"replace"}, {.context = &plain}),
            "replace: replaced 1 by conv2d_relu");
}

TEST(Replace, TakesRowsOfOthers) {
  register_replacement(
      {.name = "test_slope",
       .pattern =
           "graph p(x f32[?]) -> (y)\n  h = neg(x)\n  n = leaky_relu(h, alpha=0.5)\n  y = neg(n)\n",
       .by = "graph r(x f32[?]) -> (y)\n  y = clamp(x)\n",
       .is_exact = false,
       .reason = "It is a test's, and wrong."});
  SymbolicGraph g;
  const TensorSymbol x = g.input("x", {DType::f32, {2, 3}});
  for (const char* slope : {"leaky_relu alpha=0.5", "leaky_relu alpha=0.25"})
    g.set_outputs({g.add("neg", {g.add(slope, {g.add("neg", {x})})})});
  SymbolicGraph other(g);
  EXPECT_EQ(apply_passes(g, std::vector<std::string>{"replace"}, {.inexact = true}).front().text,
            "replace: replaced 1 by test_slope");
  EXPECT_EQ(replacements().back().name, "test_slope");
}

TEST(Replace, RowsAreChecked) {
  const std::string good = "graph p(x f32[?]) -> (y)\n  y = neg(x)\n";
  const auto refused = [&](const std::string& name, const std::string& pattern,
                           const std::string& by) {
    EXPECT_THROW(register_replacement(
                     {.name = name, .pattern = pattern, .by = by, .is_exact = false, .reason = ""}),
                 StatusError)
        << pattern << by;
  };
  refused("", good, good);
  refused("conv2d_relu", good, good);
  refused("test_1", "graph p(", good);
  refused("test_1", good, "graph p(z f32[?]) -> (y)\n  y = neg(z)\n");
  refused("test_1", good, "graph p(x f32[?]) -> (y)\n  h = neg(x)\n  y = neg(h)\n");
  refused("test_1", "graph p(x f32[?]) -> (x)\n  y = neg(x)\n", good);
  refused("test_1", "graph p(x f32[4]) -> (y)\n  v = x.slice(0, 0, 1, 1)\n  y = neg(v)\n", good);
  EXPECT_NE(replacements().back().name, "test_1");
}

}  // namespace
}  // namespace mote
