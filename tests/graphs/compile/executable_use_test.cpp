// SPDX-License-Identifier: Apache-2.0
// One call at a time uses an executable; cancel() may come from any thread. Outputs are there after
// a run.
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <stdexcept>
#include <thread>

#include "graphs/symbolic/error_of.h"
#include "mote/symbolic/compile.h"

namespace mote {
namespace {

using test::error_of;

Tensor row_of(std::int64_t extent, double value) {
  const Tensor x(DType::f32, {extent});
  fill(x, value);
  return x;
}

/// z = exp of x, which the program's code copies; `inside` is called in it.
struct CodeThenExp {
  explicit CodeThenExp(const std::function<void()>& inside, std::size_t kept_shapes) {
    const TensorSymbol copied = g.tensor(g.form(x));
    g.call({.name = "code",
            .run =
                [inside](auto reads, auto writes) {
                  copy(reads[0], writes[0]);
                  inside();
                }},
           std::vector{x}, std::vector{copied});
    z = g.add("exp", {copied});
    g.set_outputs({z});
    executable.emplace(compile(g, {.kept_shapes = kept_shapes}, context));
  }

  SymbolicGraph g{"guarded"};
  TensorSymbol x = g.input("x", {DType::f32, {4}});
  TensorSymbol z;
  Context context;
  std::optional<Executable> executable;
};

constexpr const char* kRefusal = ": another call uses the executable";

TEST(ExecutableUse, ASecondThreadIsRefusedWhileARunIsUnderWay) {
  for (const std::size_t kept : {1U, 8U}) {
    std::promise<void> began, open;
    const std::shared_future<void> opened = open.get_future().share();
    CodeThenExp of(
        [&] {
          began.set_value();
          opened.wait();
        },
        kept);
    Executable& e = *of.executable;
    std::thread runs([&] { e.run({{of.x, row_of(4, 0)}}); });
    began.get_future().wait();
    const Tensor longer = row_of(5, 1);
    const std::vector<std::pair<std::string, std::function<void()>>> calls = {
        {"run", [&] { e.run({{of.x, longer}}); }}, {"run", [&] { e.run(); }},
        {"bind", [&] { e.bind(of.x, longer); }},   {"output", [&] { e.output(of.z); }},
        {"report", [&] { e.report(); }},           {"graph", [&] { e.graph(); }}};
    for (const auto& [op, call] : calls)
      EXPECT_NE(error_of(call).find("executable of guarded: " + op + kRefusal), std::string::npos)
          << op << ": " << error_of(call);
    open.set_value();
    runs.join();
    EXPECT_EQ(e.output(of.z).shape(), (AxisList{4}));
    EXPECT_EQ(e.output(of.z).real_at({3}), 1);
  }
}

TEST(ExecutableUse, CodeThatARunCallsIsRefused) {
  const Tensor longer = row_of(5, 1);
  std::function<void()> act;
  CodeThenExp of([&] { act(); }, 1);
  Executable& e = *of.executable;
  const std::vector<std::pair<std::string, std::function<void()>>> calls = {
      {"run",
       [&] {
         e.run({{of.x, longer}});
       }},
      {"bind", [&] { e.bind(of.x, longer); }}};
  for (const auto& [op, call] : calls) {
    act = call;
    const std::string error = error_of([&] { e.run({{of.x, row_of(4, 0)}}); });
    EXPECT_NE(error.find("executable of guarded: " + op + kRefusal), std::string::npos) << error;
  }
  act = [] {};
  e.run({{of.x, row_of(4, 0)}});
  EXPECT_EQ(e.output(of.z).real_at({3}), 1);
}

TEST(ExecutableUse, CancelsWhileShapesChange) {
  SymbolicGraph g("cancelled");
  const TensorSymbol x = g.input("x", {DType::f32, {4}});
  const TensorSymbol y = g.add("exp", {x});
  g.set_outputs({y});
  Context context;
  Executable e = compile(g, {.kept_shapes = 1}, context);
  std::atomic<bool> stops{false};
  std::thread cancels([&] {
    while (!stops) e.cancel();
  });
  for (int k = 0; k < 2000; ++k) {
    const std::string error = error_of([&] { e.run({{x, row_of(1 + k % 7, 0)}}); });
    EXPECT_TRUE(error.empty() || error.find("cancelled before") != std::string::npos) << error;
  }
  stops = true;
  cancels.join();
  e.run({{x, row_of(3, 0)}});
  EXPECT_EQ(e.output(y).real_at({2}), 1);
}

TEST(ExecutableUse, AnOutputIsReadAfterARun) {
  bool fails = true;
  CodeThenExp of(
      [&] {
        if (fails) throw std::runtime_error("not yet");
      },
      2);
  Executable& e = *of.executable;
  const auto expect_refused = [&] {
    const std::string error = error_of([&] { e.output(of.z); });
    EXPECT_NE(error.find("has no value: no run with these shapes has ended well"),
              std::string::npos)
        << error;
  };
  expect_refused();
  e.bind(of.x, row_of(4, 0));
  expect_refused();
  EXPECT_NE(error_of([&] { e.run(); }), "");
  expect_refused();
  fails = false;
  e.run();
  EXPECT_EQ(e.output(of.z).real_at({0}), 1);
  e.bind(of.x, row_of(5, 0));  // the run before is still the last one
  EXPECT_EQ(e.output(of.z).shape(), (AxisList{4}));
  fails = true;
  EXPECT_NE(error_of([&] { e.run(); }), "");
  expect_refused();
}

/// The concrete graph may be run by itself.
TEST(ExecutableUse, AnOutputIsReadAfterARunOfTheConcreteGraph) {
  CodeThenExp of([] {}, 1);
  of.executable->bind(of.x, row_of(4, 0));
  of.executable->graph().run();
  EXPECT_EQ(of.executable->output(of.z).real_at({0}), 1);
}

}  // namespace
}  // namespace mote
