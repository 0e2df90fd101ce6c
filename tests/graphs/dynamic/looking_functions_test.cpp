// SPDX-License-Identifier: Apache-2.0
// Functions of the caller's that look at values of the graph which they do not get as inputs: what
// was there when they were given is there when they run, in deferred mode too.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "graphs/dynamic/modes.h"
#include "graphs/symbolic/error_of.h"
#include "mote/dynamic/dynamic_graph.h"

namespace mote {
namespace {

using test::elements_of;
using test::error_of;
using test::rising;
using Numbers = std::vector<double>;

struct LookingFunctions : test::InBothModes {
  const Variable x = g.variable(rising({3}, 1));
  std::vector<std::string> calls;

  /// x + other, where the function looks at the other one itself.
  Variable plus(const Variable& in, std::string name, std::function<Tensor()> look) {
    const auto function = std::make_shared<NamedFunction>();
    function->name = name;
    function->run = [this, name, look = std::move(look)](std::span<const Tensor> given,
                                                         std::span<const Tensor> made) {
      calls.push_back(name);
      const Tensor other = look();
      copy(compute(Command("add"), {&given[0], &other})[0], made[0]);
    };
    function->gradient = [](SymbolicGraph&, const FunctionCall& call) {
      return std::vector<TensorSymbol>{call.gradients[0]};
    };
    const std::vector<VariableRef> inputs{in};
    return g.call(function, inputs, std::vector<TensorForm>{{DType::f64, {3}}})[0];
  }
  Variable plus(const Variable& in, const std::string& name, const Variable& other) {
    return plus(in, name, [other] { return other.value(); });
  }
};
INSTANTIATE_TEST_SUITE_P(Modes, LookingFunctions, testing::Bool(), test::mode_name);

TEST_P(LookingFunctions, AtWhatIsComputedWithThem) {
  const Variable z = x * 3.0, y = z * z;
  const Variable u = y + plus(x, "a", z);
  EXPECT_EQ(elements_of(u), (Numbers{13, 44, 93}));
  EXPECT_EQ(elements_of(z), (Numbers{3, 6, 9}));
  EXPECT_EQ(elements_of(g.backward({u}, {x})[0]), (Numbers{19, 37, 55}));
  const std::size_t compilations = g.statistics().compilations;
  const Variable again = x * 3.0;
  EXPECT_EQ(elements_of(again * again + plus(x, "a", again)), (Numbers{13, 44, 93}));
  EXPECT_LE(g.statistics().compilations, compilations + 1);
}

/// Without a variable, a value that is computed with them has no memory of its own.
TEST_P(LookingFunctions, AtAViewOfWhatIsComputedWithThem) {
  Variable turned;
  {
    const Variable z = x * 3.0;
    turned = z.slice(0, 2, 3, -1);
  }
  const Variable u = turned + plus(x, "a", turned);
  EXPECT_EQ(elements_of(u), (Numbers{19, 14, 9}));
}

TEST_P(LookingFunctions, AtWhatOtherFunctionsCompute) {
  const Variable z = x * 2.0, y = plus(x, "a", z);
  const Variable u = z + plus(x, "b", y);
  EXPECT_EQ(elements_of(u), (Numbers{6, 12, 18}));
  EXPECT_EQ(calls,
            (std::vector<std::string>{is_deferred() ? "b" : "a", is_deferred() ? "a" : "b"}));
  calls.clear();
  // Each runs once, in the order in which they were given, though the sum needs all three.
  const Variable one = plus(x, "one", x), two = plus(x, "two", one),
                 three = plus(one, "three", two);
  EXPECT_EQ(elements_of(three + two + one), (Numbers{3 + 2 + 5, 6 + 4 + 10, 9 + 6 + 15}));
  EXPECT_EQ(calls, (std::vector<std::string>{"one", "two", "three"}));
}

TEST_P(LookingFunctions, InAnotherThread) {
  const Variable z = x * 3.0;
  const auto look = [z] {
    Tensor seen;
    std::jthread([&] { seen = z.value(); }).join();
    return seen;
  };
  EXPECT_EQ(elements_of(z + plus(x, "a", look)), (Numbers{7, 14, 21}));
}

TEST_P(LookingFunctions, InALongChain) {
  Variable y = x;
  for (int k = 0; k < 2000; ++k) y = plus(y * 1.0, "a", x);
  EXPECT_EQ(elements_of(y), (Numbers{2001, 4002, 6003}));
  EXPECT_EQ(calls.size(), 2000U);
  EXPECT_EQ(elements_of(g.backward({y}, {x})[0]), (Numbers{1, 1, 1}));
}

/// A compiled graph that is kept has the functions, these have variables, and these the graph.
TEST_P(LookingFunctions, GoWithTheGraph) {
  std::weak_ptr<int> alive;
  {
    DynamicGraph own(context, {.deferred = is_deferred()});
    const Variable v = own.variable(rising({3}, 1)), z = v * 3.0;
    const auto token = std::make_shared<int>();
    alive = token;
    const auto function = std::make_shared<NamedFunction>();
    function->name = "looks";
    function->run = [z, token](std::span<const Tensor>, std::span<const Tensor> made) {
      copy(z.value(), made[0]);
    };
    function->gradient = [](SymbolicGraph&, const FunctionCall& call) {
      return std::vector<TensorSymbol>{call.gradients[0]};
    };
    const std::vector<VariableRef> inputs{v};
    const Variable y = own.call(function, inputs, std::vector<TensorForm>{{DType::f64, {3}}})[0];
    EXPECT_EQ(elements_of(own.backward({y * v}, {v})[0]), (Numbers{4, 8, 12}));
    EXPECT_FALSE(alive.expired());
  }
  EXPECT_TRUE(alive.expired());
}

TEST(LookingFunctionsDeferred, AtWhatTheyComputeIsAnError) {
  Context context;
  DynamicGraph g(context, {.deferred = true});
  const Variable x = g.variable(rising({3}, 1));
  Variable y;
  const auto function = std::make_shared<NamedFunction>();
  function->name = "itself";
  function->run = [&y](std::span<const Tensor>, std::span<const Tensor>) { (void)y.value(); };
  const std::vector<VariableRef> inputs{x};
  y = g.call(function, inputs, std::vector<TensorForm>{{DType::f64, {3}}})[0] * 2.0;
  EXPECT_EQ(error_of([&] { (void)y.value(); }),
            "dynamic graph: function itself: dynamic graph: a function looks at a value that it "
            "computes");
}

}  // namespace
}  // namespace mote
