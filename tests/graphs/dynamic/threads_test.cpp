// SPDX-License-Identifier: Apache-2.0
// Dynamic graphs in several threads: one for each, with one context, and one for all.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <latch>
#include <string>
#include <thread>

#include "graphs/dynamic/modes.h"
#include "mote/dynamic/dynamic_graph.h"

namespace mote {
namespace {

using test::all_of;
using test::elements_of;
using test::rising;
using Numbers = std::vector<double>;

constexpr int kThreads = 4;

/// Runs f(0), f(1), … at once.
template <typename F>
void in_threads(const F& f) {
  std::latch begin(kThreads);
  std::vector<std::jthread> threads;
  for (int k = 0; k < kThreads; ++k)
    threads.emplace_back([&, k] {
      begin.arrive_and_wait();
      f(k);
    });
}

/// Returns the weights after some steps.
Numbers trained(DynamicGraph& g, int first) {
  const Variable x = g.constant(rising({3, 2}, first));
  Variable w = g.variable(rising({2, 4}, -first));
  for (int step = 0; step < 20; ++step) {
    const Variable y = g.run("tanh", {g.run("matmul", {x, w})});
    w -= 0.125 * g.backward({y * y}, {w})[0];
  }
  return elements_of(w);
}

struct DynamicThreads : test::InBothModes {};
INSTANTIATE_TEST_SUITE_P(Modes, DynamicThreads, testing::Bool(), test::mode_name);

TEST_P(DynamicThreads, EachWithAGraphOfItsOwn) {
  std::vector<Numbers> expected, got(kThreads);
  for (int k = 0; k < kThreads; ++k) {
    DynamicGraph own(context, {.deferred = is_deferred()});
    expected.push_back(trained(own, k));
  }
  in_threads([&](int k) {
    DynamicGraph own(context, {.deferred = is_deferred()});
    got[static_cast<std::size_t>(k)] = trained(own, k);
  });
  EXPECT_EQ(got, expected);
}

TEST_P(DynamicThreads, AllWithOneGraph) {
  std::vector<Numbers> expected, got(kThreads);
  for (int k = 0; k < kThreads; ++k) {
    DynamicGraph own(context, {.deferred = is_deferred()});
    expected.push_back(trained(own, k));
  }
  in_threads([&](int k) { got[static_cast<std::size_t>(k)] = trained(g, k); });
  EXPECT_EQ(got, expected);
}

/// x + 1 by the program's code, after a while, with a gradient; it counts its calls.
std::shared_ptr<NamedFunction> slow_function(std::atomic<int>& calls) {
  auto made = std::make_shared<NamedFunction>();
  made->name = "slow";
  made->run = [&calls](std::span<const Tensor> inputs, std::span<const Tensor> outputs) {
    ++calls;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    const Tensor one = all_of({}, 1);
    copy(compute(Command("add"), {&inputs[0], &one})[0], outputs[0]);
  };
  made->gradient = [](SymbolicGraph&, const FunctionCall& call) {
    return std::vector<TensorSymbol>(call.gradients.begin(), call.gradients.end());
  };
  return made;
}

TEST_P(DynamicThreads, AllLookAtValuesThatDependOnEachOther) {
  std::atomic<int> calls = 0;
  const auto slow = slow_function(calls);
  const std::vector<TensorForm> forms{{DType::f64, {2}}};
  for (int round = 0; round < 10; ++round) {
    calls = 0;
    const Variable x = g.variable(rising({2}, round));
    std::vector<Variable> chain{x * x};
    for (int k = 1; k < kThreads; ++k) {
      const std::vector<VariableRef> given{chain.back()};
      chain.push_back(g.call(slow, given, forms)[0] * 2);
    }
    std::vector<double> got(kThreads);
    in_threads([&](int k) {
      const auto at = static_cast<std::size_t>(k);
      got[at] = elements_of(chain[at])[1];
    });
    double expected = (round + 1) * (round + 1);
    for (std::size_t k = 0; k < kThreads; ++k, expected = (expected + 1) * 2)
      EXPECT_EQ(got[k], expected);
    EXPECT_EQ(calls, kThreads - 1) << "each is called once";
  }
}

TEST_P(DynamicThreads, OthersGoOnWhileAFunctionRuns) {
  std::atomic<int> calls = 0;
  const auto slow = slow_function(calls);
  const std::vector<TensorForm> forms{{DType::f64, {2}}};
  for (int round = 0; round < 20; ++round) {
    const Variable x = g.variable(rising({2}, 1));
    const Variable h = x * x;
    const Variable part = h.slice(0, 1, 1);
    const std::vector<VariableRef> given{h};
    const Variable y = g.call(slow, given, forms)[0];
    const Variable z = y * h;
    std::vector<Numbers> got(kThreads);
    in_threads([&](int k) {
      Numbers& numbers = got[static_cast<std::size_t>(k)];
      if (k == 0) numbers = elements_of(z);                               // (x² + 1)·x²
      if (k == 1) numbers = elements_of(g.backward({z}, {x})[0]);         // 4x³ + 2x
      if (k == 2) numbers = elements_of(g.backward({h * part}, {x})[0]);  // other work
      if (k == 3) numbers = elements_of(part + y.slice(0, 0, 1));
    });
    EXPECT_EQ(got[0], (Numbers{2, 20}));
    EXPECT_EQ(got[1], (Numbers{6, 36}));
    EXPECT_EQ(got[2], (Numbers{8, 36}));
    EXPECT_EQ(got[3], (Numbers{6}));
  }
}

/// y = x by the program's code, which calls `body` while it runs.
std::shared_ptr<NamedFunction> copy_while(std::function<void()> body) {
  auto made = std::make_shared<NamedFunction>();
  made->name = "copy_while";
  made->run = [body = std::move(body)](std::span<const Tensor> inputs,
                                       std::span<const Tensor> outputs) {
    body();
    copy(inputs[0], outputs[0]);
  };
  return made;
}

const std::vector<TensorForm> kTwo{{DType::f64, {2}}};

Variable call(DynamicGraph& g, const std::shared_ptr<NamedFunction>& function, const Variable& x) {
  const std::vector<VariableRef> given{x};
  return g.call(function, given, kTwo)[0];
}

/// Adding to a variable has too much pending, so it waits for the other thread's function, which
/// uses the graph.
TEST(DynamicThreadsDeferred, AGradientIsAddedWhileAFunctionUsesTheGraph) {
  Context context;
  DynamicGraph g(context, {.deferred = true, .pending_bytes = 40});
  const Variable x = g.variable(rising({2}, 1));
  const Variable z = x * x;
  (void)z.value();
  const Variable sum = g.constant(all_of({2}, 10));
  std::latch runs(1), goes_on(1);
  const Variable y = call(g, copy_while([&] {
                            runs.count_down();
                            goes_on.wait();
                            (void)g.constant(all_of({2}, 1)).value();
                          }),
                          x);
  std::vector<std::jthread> threads;
  threads.emplace_back([&] { (void)y.value(); });
  runs.wait();
  threads.emplace_back([&] { (void)g.backward({z}, {x}, {.into = {sum}}); });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  goes_on.count_down();
  threads.clear();
  EXPECT_EQ(elements_of(sum), (Numbers{12, 14}));
}

TEST(DynamicThreadsDeferred, AVariableIsFreedWhileAnotherThreadWaitsForItsValue) {
  Context context;
  DynamicGraph g(context, {.deferred = true});
  std::latch runs(1), goes_on(1);
  const Variable x = g.constant(all_of({2}, 2));
  Variable freed = x * 2.0;
  const Variable y = call(g, copy_while([&] {
                            runs.count_down();
                            goes_on.wait();
                          }),
                          x);
  std::string error;
  std::vector<std::jthread> threads;
  threads.emplace_back([&] { (void)y.value(); });
  runs.wait();
  threads.emplace_back([&] {
    try {
      g.finish();
    } catch (const std::exception& e) {
      error = e.what();
    }
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(elements_of(freed), (Numbers{4, 4}));
  freed = {};
  goes_on.count_down();
  threads.clear();
  EXPECT_EQ(error, "");
}

/// Looks at two values in two threads at once, of which each is computed by a function that looks
/// at the other one. Returns both errors.
std::string errors_at_values_of_each_other(DynamicGraph& g, DynamicGraph& h) {
  std::atomic<int> begun = 0;
  Variable y, z;
  const auto looks_at = [&](const Variable& other) {
    return copy_while([&] {
      for (++begun; begun < 2;) std::this_thread::yield();
      (void)other.value();
    });
  };
  y = call(g, looks_at(z), g.constant(all_of({2}, 1)));
  z = call(h, looks_at(y), h.constant(all_of({2}, 1)));
  const auto error_at = [](const Variable& at, std::string& error) {
    try {
      (void)at.value();
    } catch (const std::exception& e) {
      error = e.what();
    }
  };
  std::string errors[2];
  {
    const std::jthread one([&] { error_at(y, errors[0]); });
    const std::jthread two([&] { error_at(z, errors[1]); });
  }
  return errors[0] + "\n" + errors[1];
}

/// One thread finds that the other one waits for it. Then that one computes both values itself, of
/// which each needs the other.
TEST(DynamicThreadsDeferred, FunctionsThatWaitForEachOtherAreAnError) {
  Context context;
  DynamicGraph g(context, {.deferred = true}), other(context, {.deferred = true});
  for (DynamicGraph* h : {&g, &other})
    for (int round = 0; round < 20; ++round) {
      const std::string both = errors_at_values_of_each_other(g, *h);
      EXPECT_NE(both.find("a function looks at a value that it computes"), std::string::npos)
          << both;
      EXPECT_NE(both.find("functions in several threads look at values of each other"),
                std::string::npos)
          << both;
    }
}

/// A ring of graphs: each one's value is computed by a function that looks at the next one's, the
/// last one's by one that looks at nothing. Many threads look at all of them, from both ends.
TEST(DynamicThreadsDeferred, ValuesOfOtherGraphsAreWaitedFor) {
  constexpr std::size_t kGraphs = 4;
  Context context;
  std::vector<DynamicGraph> graphs;
  for (std::size_t k = 0; k < kGraphs; ++k)
    graphs.emplace_back(context, DynamicOptions{.deferred = true});
  for (int round = 0; round < 20; ++round) {
    std::vector<Variable> values(kGraphs);
    std::atomic<int> calls = 0;
    for (std::size_t k = 0; k < kGraphs; ++k)
      values[k] = call(graphs[k], copy_while([&values, &calls, k] {
                         ++calls;
                         std::this_thread::yield();
                         if (k + 1 < kGraphs) (void)values[k + 1].value();
                       }),
                       graphs[k].constant(all_of({2}, static_cast<double>(k))));
    in_threads([&](int thread) {
      for (std::size_t n = 0; n < kGraphs; ++n) {
        const std::size_t k = thread % 2 == 0 ? n : kGraphs - 1 - n;
        EXPECT_EQ(values[k].value().real_at({0}), static_cast<double>(k));
      }
    });
    EXPECT_EQ(calls, static_cast<int>(kGraphs));
  }
}

/// A function's end takes the lock of the graph whose variable it has: no other lock is held then.
TEST(DynamicThreadsDeferred, FunctionsThatHaveVariablesOfOtherGraphsAreFreed) {
  Context context;
  DynamicGraph one(context, {.deferred = true}), two(context, {.deferred = true});
  in_threads([&](int thread) {
    DynamicGraph& g = thread % 2 == 0 ? one : two;
    DynamicGraph& other = thread % 2 == 0 ? two : one;
    for (int k = 0; k < 2000; ++k) {
      Variable last = other.constant(all_of({2}, k));
      for (int n = 0; n < 4; ++n)
        last = call(n % 2 == 0 ? g : other, copy_while([last] {}),
                    (n % 2 == 0 ? g : other).variable(all_of({2}, k)));
      if (k % 10 == 0) {
        EXPECT_EQ(elements_of(last), (Numbers(2, k)));
      }
      if (k % 100 == 0) g.trim();
    }
  });
  EXPECT_EQ(one.statistics().values + two.statistics().values, 0U);
}

TEST(DynamicThreadsDeferred, ALongChainOfFunctionsThatHaveEachOthersVariablesIsFreed) {
  Context context;
  DynamicGraph one(context, {.deferred = true}), two(context, {.deferred = true});
  Variable last = one.constant(all_of({2}, 1));
  for (int k = 0; k < 100000; ++k) {
    DynamicGraph& g = k % 2 == 0 ? two : one;
    last = call(g, copy_while([last] {}), g.constant(all_of({2}, 1)));
  }
  last = {};
  EXPECT_EQ(one.statistics().values + two.statistics().values, 0U);
}

/// A gradient's inputs stay while it runs the program's code, whatever else has to go.
TEST(DynamicThreadsEager, WhatARunningGradientReadsIsNotDropped) {
  Context context;
  DynamicGraph g(context, {.saved_bytes = 800});
  const auto f = std::make_shared<NamedFunction>();
  f->name = "same";
  f->run = [](std::span<const Tensor> in, std::span<const Tensor> out) { copy(in[0], out[0]); };
  const auto back = [&](std::span<const Tensor> in, std::span<const Tensor> out) {
    const Variable z = g.variable(all_of({100}, 3));
    Variable q = z;
    for (int k = 0; k < 20; ++k) q = g.run("tanh", {q}) * z;
    copy(in[0], out[0]);
  };
  f->gradient = [&](SymbolicGraph& graph, const FunctionCall& call) {
    const TensorSymbol gx = graph.tensor({DType::f64, {100}});
    const std::vector<TensorSymbol> from{call.gradients[0]}, to{gx};
    graph.call({.name = "back", .run = back}, from, to);
    return to;
  };
  const Variable x = g.variable(all_of({100}, 0.5));
  Variable y;
  {
    const Variable h = g.run("tanh", {x});
    const std::vector<VariableRef> given{h};
    const std::vector<TensorForm> forms{{DType::f64, {100}}};
    y = g.call(f, given, forms)[0];
  }
  DynamicGraph plain(context);
  const Variable same = plain.variable(all_of({100}, 0.5));
  EXPECT_EQ(elements_of(g.backward({y}, {x})[0]),
            elements_of(plain.backward({plain.run("tanh", {same})}, {same})[0]));
}

TEST_P(DynamicThreads, VariablesAreCopiedAndFreedAnywhere) {
  const Variable x = g.variable(rising({4}));
  in_threads([&](int) {
    for (int k = 0; k < 500; ++k) {
      Variable copy = x;
      Variable view = copy.slice(0, k % 3, 1);
      copy = view * view;
      view = copy;
      if (k % 50 == 0) (void)view.value();
    }
  });
  EXPECT_EQ(g.statistics().variables, 1U);
  EXPECT_EQ(g.statistics().steps, 0U);
}

}  // namespace
}  // namespace mote
