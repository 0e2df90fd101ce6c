// SPDX-License-Identifier: Apache-2.0
// Tests gradients of loops that put steps into a sequence. Where each iteration puts another step,
// the way back leaves the gradient of the sequence as it is, and puts into the sums what it would
// add to 0; elsewhere it must not.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "graphs/sequences/sequence_case.h"
#include "mote/symbolic/compile.h"
#include "mote/symbolic/control.h"
#include "mote/symbolic/evaluate.h"
#include "mote/symbolic/gradient.h"
#include "mote/symbolic/sequence.h"
#include "mote/symbolic/text.h"

namespace mote {
namespace {

using test::elements;
using Symbols = std::vector<TensorSymbol>;

constexpr std::int64_t kSteps = 4;

/// The symbols of a body that puts a step into y.
struct Body {
  SymbolicGraph& g;
  TensorSymbol y, x, steps, counter;

  TensorSymbol number(std::int64_t value) const {
    const Tensor tensor(DType::i64, AxisList{});
    tensor.set({}, value);
    return g.constant({}, tensor);
  }
};
using Number = std::function<TensorSymbol(const Body&)>;  ///< of the step that is put
using Value = std::function<TensorSymbol(const Body&, TensorSymbol x)>;  ///< from that step of x

TensorSymbol squared(const Body& b, TensorSymbol x) { return b.g.add("mul", {x, x}); }
TensorSymbol forwards(const Body& b) { return b.counter; }

/// A loop over `count` iterations; each puts a step into y, [kSteps, 1].
struct StepLoop {
  SymbolicGraph g{"steps"};
  TensorSymbol x, y, seed, result;

  StepLoop(std::int64_t count, const Number& number, const Value& value) {
    const TensorForm form(DType::f32, {kSteps, 1});
    x = g.input("x", form);
    y = g.input("y", form);
    seed = g.input("seed", form);
    const Tensor iterations(DType::i64, AxisList{});
    iterations.set({}, count);
    SymbolicGraph body("step");
    const Body b{body, body.input("y", form), body.input("x", form),
                 body.input("steps", {DType::i64, {}}), body.input("counter", {DType::i64, {}})};
    const TensorSymbol left = body.add("sub", {b.steps, b.counter});
    const TensorSymbol t = number(b);
    body.set_outputs(Symbols{put_step(body, b.y, value(b, take_step(body, b.x, t)), t), left});
    const NodeSymbol loop = g.add_while(std::move(body), Symbols{y, x, g.constant({}, iterations)},
                                        {.has_counter = true});
    result = g.output(loop, 0);
  }

  /// The gradients with respect to these, x = 1, 2, 3, 4, y = 0 and seed = 1, 10, 100, 1000, of
  /// each node alone and compiled, which must be the same.
  std::vector<std::vector<double>> gradients(const Symbols& wrt) {
    const Symbols made = gradient(g, Symbols{result}, wrt, Symbols{seed});
    g.set_outputs(made);
    std::vector<TensorBinding> bindings;
    for (const auto& [symbol, first, factor] :
         {std::tuple{x, 1.0, 0.0}, {y, 0.0, 0.0}, {seed, 1.0, 10.0}}) {
      const Tensor values(DType::f32, {kSteps, 1});
      for (std::int64_t t = 0; t < kSteps; ++t)
        values.set({t, 0}, factor == 0 ? first * static_cast<double>(t + 1)
                                       : std::pow(factor, static_cast<double>(t)));
      bindings.emplace_back(symbol, values);
    }
    std::vector<std::vector<double>> alone, compiled;
    for (const Tensor& tensor : evaluate(g, bindings, made)) alone.push_back(elements(tensor));
    Context context;
    Executable e = compile(g, {.poison = true}, context);
    e.run(bindings);
    for (const TensorSymbol symbol : made) compiled.push_back(elements(e.output(symbol)));
    EXPECT_EQ(alone, compiled);
    return alone;
  }
  std::size_t count_of(const std::string& text) const {
    const std::string all = to_text(g);
    std::size_t count = 0;
    for (std::size_t at = all.find(text); at != std::string::npos; at = all.find(text, at + 1))
      ++count;
    return count;
  }
};

using Gradients = std::vector<std::vector<double>>;

TEST(StepGradient, EachStepIsPutOnce) {
  for (const auto& [name, number] : std::vector<std::pair<const char*, Number>>{
           {"forwards", forwards},
           {"backwards", [](const Body& b) {
              return b.g.add("sub", {b.g.add("sub", {b.steps, b.counter}), b.number(1)});
            }}}) {
    SCOPED_TRACE(name);
    StepLoop loop(kSteps, number, squared);
    EXPECT_EQ(loop.gradients({loop.x}), (Gradients{{2, 40, 600, 8000}}));
    EXPECT_EQ(loop.count_of("\"step add\""), 0U);
    EXPECT_EQ(loop.count_of("\"step put\""), 2U) << to_text(loop.g);  // of y, and of the gradient
  }
}

TEST(StepGradient, StepsThatNoIterationPutsKeepTheirs) {
  StepLoop loop(2, forwards, squared);
  EXPECT_EQ(loop.gradients({loop.x, loop.y}), (Gradients{{2, 40, 0, 0}, {0, 0, 100, 1000}}));
}

TEST(StepGradient, TheLastOfSeveralPutsCounts) {
  StepLoop same(
      kSteps, [](const Body& b) { return b.number(2); }, squared);
  EXPECT_EQ(same.gradients({same.x}), (Gradients{{0, 0, 600, 0}}));
  // Iteration 2*t puts x*x into step t, which was 0, and 2*t + 1 adds x*x to it.
  StepLoop half(
      kSteps,
      [](const Body& b) {
        return b.g.add("div", {b.counter, b.number(2)});
      },
      [](const Body& b, TensorSymbol x) {
        const TensorSymbol t = b.g.add("div", {b.counter, b.number(2)});
        return b.g.add("add", {b.g.add("mul", {x, x}), take_step(b.g, b.y, t)});
      });
  EXPECT_EQ(half.gradients({half.x}), (Gradients{{4, 80, 0, 0}}));
}

/// Each step is its x plus the step before it, the first its x plus what it was.
TEST(StepGradient, ReadingStepsThatWerePutBefore) {
  const auto sum = [](const Body& b, TensorSymbol x) {
    const TensorSymbol before =
        b.g.add("max", {b.g.add("sub", {b.counter, b.number(1)}), b.number(0)});
    return b.g.add("add", {x, take_step(b.g, b.y, before)});
  };
  StepLoop loop(kSteps, forwards, sum);
  EXPECT_EQ(loop.gradients({loop.x, loop.y}),
            (Gradients{{1111, 1110, 1100, 1000}, {1111, 0, 0, 0}}));
  StepLoop of_x(kSteps, forwards, sum);  // here nobody asks for the gradient of y
  EXPECT_EQ(of_x.gradients({of_x.x}), (Gradients{{1111, 1110, 1100, 1000}}));
}

}  // namespace
}  // namespace mote
