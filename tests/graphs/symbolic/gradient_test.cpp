// SPDX-License-Identifier: Apache-2.0
// Gradients of graphs without views: values by hand, exactly, in f64.
#include "mote/symbolic/gradient.h"

#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>

#include "gradient_support.h"
#include "mote/runtime/infer.h"
#include "mote/runtime/status.h"
#include "mote/symbolic/dependencies.h"
#include "mote/symbolic/evaluate.h"
#include "mote/symbolic/text.h"

namespace mote {
namespace {

TEST(Gradient, OfAProductIsTheOtherFactor) {
  SymbolicGraph g;
  const TensorSymbol x = g.input("x", {DType::f64, {3}});
  const TensorSymbol y = g.input("y", {DType::f64, {3}});
  const TensorSymbol f = g.add("mul", {x, y});
  const auto grads = gradient(g, {f}, {x, y});
  const auto values =
      evaluate(g, {{x, real({1, 2, 3})}, {y, real({4, 5, 6})}}, {grads[0], grads[1]});
  EXPECT_EQ(numbers(values[0]), (Numbers{4, 5, 6}));
  EXPECT_EQ(numbers(values[1]), (Numbers{1, 2, 3}));
}

TEST(Gradient, SumsWhatIsUsedSeveralTimes) {
  // f = x*x + x + x*y, at an input that one node uses twice.
  SymbolicGraph g;
  const TensorSymbol x = g.input("x", {DType::f64, {2}});
  const TensorSymbol y = g.input("y", {DType::f64, {2}});
  const TensorSymbol f =
      g.add("add", {g.add("add", {g.add("mul", {x, x}), x}), g.add("mul", {x, y})});
  const auto grads = gradient(g, {f}, {x});
  const auto values = evaluate(g, {{x, real({3, -1})}, {y, real({10, 20})}}, {grads[0]});
  EXPECT_EQ(numbers(values[0]), (Numbers{17, 19}));
}

TEST(Gradient, OfWhatDoesNotDependIsZerosThatNoNodeComputes) {
  SymbolicGraph g;
  const TensorSymbol x = g.input("x", {DType::f64, {2}});
  const TensorSymbol y = g.input("y", {DType::f64, {3}});
  const TensorSymbol f = g.add("neg", {x});
  const std::size_t nodes = g.node_count();
  const auto grads = gradient(g, {f}, {y});
  EXPECT_EQ(g.node_count(), nodes);
  EXPECT_EQ(g.info(grads[0]).kind, SymbolOrigin::zeros);
  EXPECT_EQ(numbers(evaluate(g, {}, {grads[0]})[0]), (Numbers{0, 0, 0}));
}

TEST(Gradient, OfItselfIsTheSeed) {
  SymbolicGraph g;
  const TensorSymbol x = g.input("x", {DType::f64, {2}});
  const TensorSymbol s = g.input("s", {DType::f64, {2}});
  EXPECT_EQ(gradient(g, {x}, {x}, {s})[0], s);
  const auto ones = gradient(g, {x}, {x});
  EXPECT_EQ(numbers(evaluate(g, {}, {ones[0]})[0]), (Numbers{1, 1}));
  EXPECT_EQ(g.node_count(), 0U);
}

TEST(Gradient, IsPartialWithRespectToWhatIsInBetween) {
  // f = h * x with h = x * x: df/dh = x, and df/dx = 3 x^2 counts both ways.
  SymbolicGraph g;
  const TensorSymbol x = g.input("x", {DType::f64, {1}});
  const TensorSymbol h = g.add("mul", {x, x});
  const TensorSymbol f = g.add("mul", {h, x});
  const auto grads = gradient(g, {f}, {h, x, f});
  const auto values = evaluate(g, {{x, real({5})}}, {grads[0], grads[1], grads[2]});
  EXPECT_EQ(numbers(values[0]), (Numbers{5}));
  EXPECT_EQ(numbers(values[1]), (Numbers{75}));
  EXPECT_EQ(numbers(values[2]), (Numbers{1}));
}

TEST(Gradient, OfSeveralAddsTheirSeeds) {
  SymbolicGraph g;
  const TensorSymbol x = g.input("x", {DType::f64, {2}});
  const TensorSymbol a = g.add("mul", {x, x});
  const TensorSymbol b = g.add("neg", {x});
  const TensorSymbol s = g.input("s", {DType::f64, {2}});
  const TensorSymbol t = g.input("t", {DType::f64, {2}});
  const auto grads = gradient(g, {a, b}, {x}, {s, t});
  const auto values =
      evaluate(g, {{x, real({3, 4})}, {s, real({1, 10})}, {t, real({100, 1000})}}, {grads[0]});
  EXPECT_EQ(numbers(values[0]), (Numbers{6 - 100, 80 - 1000}));
}

TEST(Gradient, OfWhatWasRepeatedIsTheSum) {
  SymbolicGraph g;
  const TensorSymbol x = g.input("x", {DType::f64, {2, 3}});
  const TensorSymbol row = g.input("row", {DType::f64, {3}});
  const TensorSymbol column = g.input("column", {DType::f64, {2, 1}});
  const TensorSymbol one = g.input("one", {DType::f64, {}});
  const TensorSymbol f = g.add("mul", {g.add("mul", {g.add("mul", {x, row}), column}), one});
  const auto grads = gradient(g, {f}, {row, column, one, x});
  const auto values = evaluate(g,
                               {{x, real({1, 2, 3, 4, 5, 6}, {2, 3})},
                                {row, real({1, 10, 100})},
                                {column, real({1, 2}, {2, 1})},
                                {one, real({3}, {})}},
                               {grads[0], grads[1], grads[2], grads[3]});
  EXPECT_EQ(numbers(values[0]), (Numbers{27, 36, 45}));
  EXPECT_EQ(numbers(values[1]), (Numbers{963, 1962}));
  EXPECT_EQ(numbers(values[2]), (Numbers{321 + 1308}));
  EXPECT_EQ(numbers(values[3]), (Numbers{3, 30, 300, 6, 60, 600}));
  EXPECT_EQ(g.form(grads[1]).shape, (AxisList{2, 1}));
}

TEST(Gradient, OfAMatrixProductSumsOverTheBatch) {
  SymbolicGraph g;
  const TensorSymbol a = g.input("a", {DType::f64, {2, 2, 3}});
  const TensorSymbol b = g.input("b", {DType::f64, {3, 2}});
  const TensorSymbol f = g.add("matmul", {a, b});
  const auto grads = gradient(g, {f}, {a, b});
  const auto values = evaluate(g,
                               {{a, real({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, {2, 2, 3})},
                                {b, real({1, 2, 3, 4, 5, 6}, {3, 2})}},
                               {grads[0], grads[1]});
  EXPECT_EQ(numbers(values[0]), (Numbers{3, 7, 11, 3, 7, 11, 3, 7, 11, 3, 7, 11}));
  EXPECT_EQ(numbers(values[1]), (Numbers{22, 22, 26, 26, 30, 30}));
}

TEST(Gradient, TakesReductionsAlongAnyAxis) {
  for (const std::string axis : {"0", "1", "2", "-1", "-3"}) {
    SymbolicGraph g;
    const TensorSymbol x = g.input("x", {DType::f64, {2, 3, 4}});
    const TensorSymbol f = g.add("sum axis=" + axis, {g.add("mul", {x, x})});
    const auto grads = gradient(g, {f}, {x});
    verify(g);
    Tensor value = counted({2, 3, 4});
    const auto values = evaluate(g, {{x, value}}, {grads[0]});
    for (int k = 0; k < 24; ++k) EXPECT_EQ(numbers(values[0])[k], 2 * numbers(value)[k]);
  }
}

TEST(Gradient, LeavesOutOptionalInputs) {
  SymbolicGraph g;
  const TensorSymbol x = g.input("x", {DType::f64, {4}});
  const TensorSymbol high = g.input("high", {DType::f64, {}});
  const TensorSymbol f = g.add("clamp", {x, TensorSymbol{}, high});
  const auto grads = gradient(g, {f}, {x, high});
  const auto values =
      evaluate(g, {{x, real({-1, 1, 3, 5})}, {high, real({2}, {})}}, {grads[0], grads[1]});
  EXPECT_EQ(numbers(values[0]), (Numbers{1, 1, 0, 0}));
  EXPECT_EQ(numbers(values[1]), (Numbers{2}));
}

TEST(Gradient, DoesNotFlowThroughIntegers) {
  SymbolicGraph g;
  const TensorSymbol x = g.input("x", {DType::f64, {2, 3}});
  const TensorSymbol k = g.input("k", {DType::i64, {2}});
  const TensorSymbol picked = g.add("embedding", {x, k});
  const TensorSymbol rounded = g.add("cast_f64", {g.add("cast_i64", {x})});
  const TensorSymbol f = g.add("add", {g.add("floor", {picked}), g.add("add", {rounded, picked})});
  const auto grads = gradient(g, {f}, {x});
  Tensor index(DType::i64, {2});
  index.set({0}, 1);
  index.set({1}, 1);
  const auto values = evaluate(g, {{x, counted({2, 3})}, {k, index}}, {grads[0]});
  EXPECT_EQ(numbers(values[0]), (Numbers{0, 0, 0, 2, 2, 2}));
  EXPECT_EQ(error_of([&] { gradient(g, {f}, {k}); }),
            "symbolic graph: gradient: x k is i64[2], expected reals");
}

TEST(Gradient, OfACopyIsConvertedBack) {
  SymbolicGraph g;
  const TensorSymbol x = g.input("x", {DType::f32, {2}});
  const TensorSymbol wide = g.convert(x, {DType::f64, {2}});
  const TensorSymbol f = g.add("mul", {wide, wide});
  const TensorSymbol whole = g.convert(x, {DType::i32, {2}});
  const TensorSymbol back = g.convert(whole, {DType::f64, {2}});
  const auto grads = gradient(g, {f, back}, {x});
  Tensor value(DType::f32, {2});
  value.set({0}, 3.0);
  value.set({1}, 4.0);
  const auto values = evaluate(g, {{x, value}}, {grads[0]});
  EXPECT_EQ(values[0].dtype(), DType::f32);
  EXPECT_EQ(numbers(values[0]), (Numbers{6, 8}));
}

/// The number as the dtype stores it.
double stored(DType dtype, double value) {
  const Tensor one(dtype, {1});
  one.set({0}, value);
  return one.real_at({0});
}

TEST(Gradient, OfNarrowRealsIsComputedInF32) {
  for (const DType dtype : {DType::f16, DType::bf16}) {
    SymbolicGraph g;
    const TensorSymbol x = g.input("x", {dtype, {2}});
    const TensorSymbol h = g.add("tanh", {x});
    const TensorSymbol f = g.add("mul", {h, x});
    const auto grads = gradient(g, {f}, {x});
    verify(g);
    Tensor value(dtype, {2});
    value.set({0}, 0.0);
    value.set({1}, 0.5);
    const auto values = evaluate(g, {{x, value}}, {grads[0], h});
    EXPECT_EQ(values[0].dtype(), dtype);
    EXPECT_EQ(values[0].real_at({0}), 0);
    // The way back by hand: f32 kernels on the stored values, each result stored in 16 bits.
    const double y = values[1].real_at({1});
    const Tensor of_h(DType::f32, {1}), saved(DType::f32, {1});
    of_h.set({0}, 0.5);
    saved.set({0}, y);
    const double through_tanh =
        stored(dtype, compute(Command("tanh.grad"), {&of_h, &saved})[0].real_at({0}));
    EXPECT_EQ(values[0].real_at({1}), stored(dtype, y + through_tanh));
  }
}

TEST(Gradient, OfAFunctionIsTheOneThatItHas) {
  SymbolicGraph g;
  const TensorSymbol x = g.input("x", {DType::f64, {2}});
  const TensorSymbol y = g.tensor({DType::f64, {2}}, "y");
  NamedFunction triple{"triple", [](auto in, auto out) {
                         for (int k = 0; k < 2; ++k) out[0].set({k}, 3 * in[0].real_at({k}));
                       }};
  g.call(triple, std::vector{x}, std::vector{y});
  const TensorSymbol f = g.add("mul", {y, y});
  EXPECT_EQ(error_of([&] { gradient(g, {f}, {x}); }),
            "symbolic graph: gradient: node 0 'y' (function triple) has no gradient: the function "
            "has none (NamedFunction::gradient gives it one); it is on the path t2 <- y <- x");
  SymbolicGraph h;
  const TensorSymbol u = h.input("x", {DType::f64, {2}});
  const TensorSymbol v = h.tensor({DType::f64, {2}}, "y");
  triple.gradient = [](SymbolicGraph& graph, const FunctionCall& call) {
    const TensorSymbol gy = call.gradients[0];
    return std::vector{graph.add("add", {graph.add("add", {gy, gy}), gy})};
  };
  h.call(triple, std::vector{u}, std::vector{v});
  const auto grads = gradient(h, {h.add("mul", {v, v})}, {u});
  EXPECT_EQ(numbers(evaluate(h, {{u, real({1, 2})}}, {grads[0]})[0]), (Numbers{18, 36}));
}

TEST(Gradient, ChecksItsArguments) {
  SymbolicGraph g;
  const TensorSymbol x = g.input("x", {DType::f64, {2}});
  const TensorSymbol s = g.input("s", {DType::f32, {2}});
  const TensorSymbol f = g.add("neg", {x});
  EXPECT_EQ(error_of([&] { gradient(g, {f}, {x}, {s}); }),
            "symbolic graph: gradient: the seed of t2 f64[2] is s f32[2]");
  EXPECT_EQ(error_of([&] {
              gradient(g, {f}, {x}, {x, x});
            }),
            "symbolic graph: gradient: 1 seeds are needed, one for each symbol, got 2");
  SymbolicGraph other;
  EXPECT_NE(error_of([&] { gradient(other, {f}, {x}); }).find("belongs to another graph"),
            std::string::npos);
}

/// What the program's code throws, after it has appended nodes, and after the way back of a loop
/// was added, which changes the loop.
TEST(Gradient, AfterAFailureTheGraphIsAsItWas) {
  SymbolicGraph g = parse_graph(R"(graph g(x f32[2], n i64[]) -> (y)
  p = tensor f32[2]
  y = while (p, x) counter {
    graph body(a f32[2], b f32[2], c i64[]) -> (d, left)
      d = mul(a, b)
      two = constant i64[] [2]
      left = sub(two, c)
  }
)");
  int kind = 0;
  NamedFunction code{.name = "code", .run = [](auto, auto) {}};
  code.gradient = [&](SymbolicGraph& graph, const FunctionCall& call) -> std::vector<TensorSymbol> {
    const TensorSymbol made = graph.add("exp", {call.gradients[0]});
    if (kind == 0) throw std::runtime_error("not this way");
    if (kind == 1) return {graph.add("add", {made, made}), made};
    throw 5;
  };
  const TensorSymbol x = g.find("x");
  g.call(code, std::vector{x}, std::vector{g.find("p")});
  const std::size_t symbols = g.symbol_count(), nodes = g.node_count();
  const std::uint64_t version = g.version();
  const auto expect_same = [&] {
    EXPECT_EQ(g.symbol_count(), symbols);
    EXPECT_EQ(g.node_count(), nodes);
    EXPECT_EQ(g.version(), version);
    EXPECT_EQ(g.info(g.producer(g.find("y"))).outputs.size(), 1U);
    verify(g);
  };
  EXPECT_THROW(gradient(g, {g.find("y")}, {x}), std::runtime_error);
  expect_same();
  kind = 1;
  EXPECT_THROW(gradient(g, {g.find("y")}, {x}), StatusError);
  expect_same();
  kind = 2;
  EXPECT_THROW(gradient(g, {g.find("y")}, {x}), StatusError);
  expect_same();
  EXPECT_THROW(jvp(g, {g.find("y")}, {x}, {x}), StatusError);
  expect_same();
}

}  // namespace
}  // namespace mote
