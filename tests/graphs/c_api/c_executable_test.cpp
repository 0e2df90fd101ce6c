// SPDX-License-Identifier: Apache-2.0
// Tests the functions of mote/mote_graphs.h for executables, and the planner of memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "graphs/c_api/c_graphs.h"
#include "runtime/plain_records.h"

namespace {

using mote::test::CommandHandle;
using mote::test::compiled;
using mote::test::ContextHandle;
using mote::test::elements;
using mote::test::ExecutableHandle;
using mote::test::made_context;
using mote::test::made_tensor;
using mote::test::named;
using mote::test::output_of;
using mote::test::parsed;
using mote::test::SymbolicHandle;
using mote::test::TensorHandle;

/// The network with its gradient, and values for its inputs.
struct Mlp {
  ContextHandle context = made_context();
  SymbolicHandle graph = parsed();
  mote_symbol x = named(graph, "x"), w1 = named(graph, "w1"), w2 = named(graph, "w2");
  mote_symbol outputs[3] = {named(graph, "sums"), {}, {}};
  TensorHandle values[3] = {made_tensor({4, 3}, 0.25), made_tensor({3, 8}, 0.5),
                            made_tensor({8, 2}, 0.125)};
  mote_compile_options options = {};

  Mlp() {
    const mote_symbol weights[] = {w1, w2};
    EXPECT_EQ(mote_symbolic_gradient(graph, outputs, 1, weights, 2, nullptr, outputs + 1), MOTE_OK);
    options.size = sizeof(options);
    options.outputs = outputs;
    options.output_count = 3;
  }
  void bind(mote_executable* run) const {
    EXPECT_EQ(mote_executable_bind(run, x, values[0]), MOTE_OK) << mote_last_error();
    EXPECT_EQ(mote_executable_bind(run, w1, values[1]), MOTE_OK) << mote_last_error();
    EXPECT_EQ(mote_executable_bind(run, w2, values[2]), MOTE_OK) << mote_last_error();
  }
  /// Runs the commands of the way forward one after the other.
  std::vector<double> one_by_one(const mote_tensor* images) const {
    const std::int64_t rows = images->dl.shape[0];
    const TensorHandle h = made_tensor({rows, 8}, 0), a = made_tensor({rows, 8}, 0);
    const TensorHandle z = made_tensor({rows, 2}, 0), sums = made_tensor({2}, 0);
    const auto call = [](const char* text, std::vector<const mote_tensor*> inputs, mote_tensor* y) {
      CommandHandle command;
      command.set([&](mote_command** c) { return mote_command_parse(text, c); });
      EXPECT_EQ(mote_run(command, inputs.data(), inputs.size(), &y, 1, nullptr, nullptr), MOTE_OK)
          << mote_last_error();
    };
    call("matmul", {images, values[1]}, h);
    call("tanh", {h}, a);
    call("matmul", {a, values[2]}, z);
    call("sum axis=0", {z}, sums);
    return elements(sums);
  }
  std::vector<std::vector<double>> results(mote_executable* run) const {
    bind(run);
    EXPECT_EQ(mote_executable_run(run), MOTE_OK) << mote_last_error();
    std::vector<std::vector<double>> all;
    for (const mote_symbol output : outputs) all.push_back(output_of(run, output));
    return all;
  }
};

TEST(ExecutableC, EveryOptionGivesTheSameBits) {
  const Mlp mlp;
  const ExecutableHandle plain = compiled(mlp.graph, mlp.context, &mlp.options);
  const std::vector<std::vector<double>> expected = mlp.results(plain);
  EXPECT_EQ(expected[0], mlp.one_by_one(mlp.values[0]));
  EXPECT_EQ(expected[1].size(), 24U);
  EXPECT_EQ(expected[2].size(), 16U);
  std::vector<std::int32_t mote_compile_options::*> flags = {
      &mote_compile_options::not_in_place, &mote_compile_options::separate,
      &mote_compile_options::poison, &mote_compile_options::streams};
  for (const auto flag : flags) {
    mote_compile_options options = mlp.options;
    options.*flag = 2;
    const ExecutableHandle other = compiled(mlp.graph, mlp.context, &options);
    EXPECT_EQ(mlp.results(other), expected);
  }
}

/// x sigmoid(x) is silu(x), which does not round the sigmoid.
TEST(ExecutableC, PassesChangeRoundingWhereTheCallerAllowsIt) {
  const ContextHandle context = made_context();
  const SymbolicHandle graph =
      parsed("graph g(x f32[3]) -> (y)\n  s = sigmoid(x)\n  y = mul(x, s)\n");
  for (const std::int32_t inexact : {0, 1}) {
    mote_compile_options options = {};
    options.size = sizeof(options);
    options.inexact = options.without_nan = inexact;
    const char* plan = nullptr;
    ASSERT_EQ(
        mote_symbolic_plan(graph, &options, context, MOTE_REPORT_TEXT, &plan, nullptr, nullptr),
        MOTE_OK)
        << mote_last_error();
    const std::string text = plan;
    EXPECT_NE(text.find(inexact == 0 ? "y = mul(x, s)" : "y = silu(x)"), std::string::npos) << text;
  }
}

TEST(ExecutableC, TheMemoryOfABoundOutputIsTheCallers) {
  const Mlp mlp;
  mote_compile_options options = mlp.options;
  options.bound = mlp.outputs + 1;
  options.bound_count = 2;
  const ExecutableHandle run = compiled(mlp.graph, mlp.context, &options);
  const ExecutableHandle plain = compiled(mlp.graph, mlp.context, &mlp.options);
  const TensorHandle g1 = made_tensor({3, 8}, 0), g2 = made_tensor({8, 2}, 0);
  ASSERT_EQ(mote_executable_bind(run, mlp.outputs[1], g1), MOTE_OK) << mote_last_error();
  ASSERT_EQ(mote_executable_bind(run, mlp.outputs[2], g2), MOTE_OK) << mote_last_error();
  const std::vector<std::vector<double>> expected = mlp.results(plain);
  mlp.bind(run);
  ASSERT_EQ(mote_executable_run(run), MOTE_OK) << mote_last_error();
  EXPECT_EQ(elements(g1), expected[1]);
  EXPECT_EQ(elements(g2), expected[2]);
}

/// A caller whose struct ends before the later fields is served; these are 0.
TEST(ExecutableC, AnOlderStructOfOptionsIsTaken) {
  const Mlp mlp;
  // The struct as it was before streams, the largest shapes, passes, and inexact.
  for (const std::size_t size :
       {offsetof(mote_compile_options, streams), offsetof(mote_compile_options, largest_inputs),
        offsetof(mote_compile_options, passes), offsetof(mote_compile_options, inexact)}) {
    alignas(mote_compile_options) std::byte old[sizeof(mote_compile_options)];
    std::memset(old, 0xFF, sizeof(old));
    std::memcpy(old, &mlp.options, size);
    std::memcpy(old, &size, sizeof(size));
    const ExecutableHandle run =
        compiled(mlp.graph, mlp.context, reinterpret_cast<const mote_compile_options*>(old));
    ASSERT_NE(run, nullptr) << size;
    EXPECT_EQ(mlp.results(run).size(), 3U);
  }
}

TEST(ExecutableC, TheLargestShapesArePlannedFor) {
  const Mlp mlp;
  const SymbolicHandle forward = parsed();
  const mote_symbol x = named(forward, "x"), sums = named(forward, "sums");
  const TensorHandle most = made_tensor({9, 3}, 0), rows = made_tensor({6, 3}, 0.25);
  const mote_tensor* const largest[] = {most};
  mote_compile_options options = {};
  options.size = sizeof(options);
  options.largest_inputs = &x;
  options.largest = largest;
  options.largest_count = 1;
  const ExecutableHandle run = compiled(forward, mlp.context, &options);
  ASSERT_NE(run, nullptr) << mote_last_error();
  ASSERT_EQ(mote_executable_bind(run, named(forward, "w1"), mlp.values[1]), MOTE_OK);
  ASSERT_EQ(mote_executable_bind(run, named(forward, "w2"), mlp.values[2]), MOTE_OK);
  ASSERT_EQ(mote_executable_bind(run, x, rows), MOTE_OK) << mote_last_error();
  ASSERT_EQ(mote_executable_run(run), MOTE_OK) << mote_last_error();
  EXPECT_EQ(output_of(run, sums), mlp.one_by_one(rows));
  const TensorHandle more = made_tensor({10, 3}, 0);
  EXPECT_EQ(mote_executable_bind(run, x, more), MOTE_INVALID);
  EXPECT_NE(std::string(mote_last_error()).find("x must be at most f32[9,3], got f32[10,3]"),
            std::string::npos)
      << mote_last_error();
  options.largest = nullptr;
  mote_executable* none = nullptr;
  EXPECT_EQ(mote_symbolic_compile(forward, &options, mlp.context, &none), MOTE_INVALID);
  EXPECT_NE(std::string(mote_last_error()).find("options.largest is NULL"), std::string::npos)
      << mote_last_error();
}

TEST(ExecutableC, ItOutlivesItsGraphAndTakesOtherShapes) {
  const Mlp mlp;
  SymbolicHandle forward = parsed();
  const ExecutableHandle run = compiled(forward, mlp.context);
  const mote_symbol sums = named(forward, "sums"), x = named(forward, "x");
  const mote_symbol w1 = named(forward, "w1"), w2 = named(forward, "w2");
  forward.reset();
  ASSERT_EQ(mote_executable_bind(run, w1, mlp.values[1]), MOTE_OK) << mote_last_error();
  ASSERT_EQ(mote_executable_bind(run, w2, mlp.values[2]), MOTE_OK) << mote_last_error();
  for (const std::int64_t rows : {4, 2, 7}) {
    const TensorHandle images = made_tensor({rows, 3}, 0.75);
    ASSERT_EQ(mote_executable_bind(run, x, images), MOTE_OK) << mote_last_error();
    ASSERT_EQ(mote_executable_run(run), MOTE_OK) << mote_last_error();
    EXPECT_EQ(output_of(run, sums), mlp.one_by_one(images));
  }
}

TEST(ExecutableC, ReportsInEachFormat) {
  const Mlp mlp;
  const ExecutableHandle run = compiled(mlp.graph, mlp.context, &mlp.options);
  const struct {
    std::int32_t format;
    const char* holds;
  } formats[] = {{MOTE_REPORT_TEXT, "matmul"},
                 {MOTE_REPORT_JSON, "\"nodes\""},
                 {MOTE_REPORT_SVG, "<svg"},
                 {MOTE_REPORT_DOT, "digraph"}};
  for (const auto& [format, holds] : formats) {
    const char* text = nullptr;
    ASSERT_EQ(mote_executable_report(run, format, &text), MOTE_OK) << mote_last_error();
    EXPECT_NE(std::strstr(text, holds), nullptr) << text;
  }
  std::size_t bytes = 0, bound = 0;
  ASSERT_EQ(mote_executable_bytes(run, &bytes, &bound), MOTE_OK);
  EXPECT_GT(bound, 0U);
  EXPECT_GE(bytes, bound);
  EXPECT_EQ(mote_executable_bytes(run, nullptr, nullptr), MOTE_OK);
}

/// A kernel of tanh that cancels the run, once.
mote_executable* cancelled = nullptr;

TEST(ExecutableC, APlanIsTheReportOfAnExecutableThatIsNotMade) {
  const Mlp mlp;
  mote_compile_options options = mlp.options;
  for (const std::int32_t separate : {0, 1}) {
    options.separate = separate;
    const ExecutableHandle run = compiled(mlp.graph, mlp.context, &options);
    std::size_t expected[2] = {}, got[2] = {};
    ASSERT_EQ(mote_executable_bytes(run, &expected[0], &expected[1]), MOTE_OK);
    ASSERT_EQ(mote_symbolic_plan(mlp.graph, &options, mlp.context, 0, nullptr, &got[0], &got[1]),
              MOTE_OK)
        << mote_last_error();
    EXPECT_EQ(got[0], expected[0]);
    EXPECT_EQ(got[1], expected[1]);
    for (const int format : {MOTE_REPORT_TEXT, MOTE_REPORT_JSON, MOTE_REPORT_SVG}) {
      const char *report = nullptr, *plan = nullptr;
      ASSERT_EQ(mote_executable_report(run, format, &report), MOTE_OK);
      ASSERT_EQ(
          mote_symbolic_plan(mlp.graph, &options, mlp.context, format, &plan, nullptr, nullptr),
          MOTE_OK)
          << mote_last_error();
      EXPECT_STREQ(plan, report);
    }
  }
}

TEST(ExecutableC, APlanTakesNoMemory) {
  const ContextHandle context = made_context();
  const SymbolicHandle graph =
      parsed("graph g(x f32[1048576,1048576]) -> (y)\n  h = tanh(x)\n  y = sum(h, axis=0)\n");
  std::size_t bytes = 0;
  ASSERT_EQ(mote_symbolic_plan(graph, nullptr, context, 0, nullptr, &bytes, nullptr), MOTE_OK)
      << mote_last_error();
  EXPECT_GE(bytes, std::size_t{1} << 42U);
  mote_executable* run = nullptr;
  EXPECT_EQ(mote_symbolic_compile(graph, nullptr, context, &run), MOTE_OUT_OF_MEMORY);
  EXPECT_EQ(run, nullptr);
}

TEST(ExecutableC, CancelEndsARunBeforeTheNextNode) {
  const mote_kernel kernel = {sizeof(mote_kernel),
                              "tanh",
                              &mote::test::kPlainContract,
                              [](const mote_call*) { return MOTE_OK; },
                              nullptr,
                              [](const mote_call* call, void*) {
                                std::memset(call->outputs[0]->data, 0, 4 * 8 * sizeof(float));
                                return cancelled != nullptr ? mote_executable_cancel(cancelled)
                                                            : MOTE_OK;
                              },
                              nullptr};
  const mote_backend backend = {sizeof(mote_backend), "cancels", "1", 1, 0, &kernel};
  const mote_backend* const backends[] = {&backend};
  const mote_context_options options = {sizeof(options), backends, 1, 0, 0, 0, nullptr};
  Mlp mlp;
  const ContextHandle own = made_context(&options);
  const ExecutableHandle run = compiled(mlp.graph, own, &mlp.options);
  mlp.bind(run);
  cancelled = run;
  EXPECT_EQ(mote_executable_run(run), MOTE_FAILED);
  EXPECT_NE(std::strstr(mote_last_error(), "cancelled"), nullptr) << mote_last_error();
  cancelled = nullptr;
  EXPECT_EQ(mote_executable_run(run), MOTE_OK) << mote_last_error();
  EXPECT_EQ(output_of(run, mlp.outputs[0]).front(), 0);  // tanh is 0
}

TEST(MemoryC, BlocksThatAreNeededAtOneTimeDoNotOverlap) {
  const std::vector<mote_memory_block> blocks = {
      {1024, 64, 0, 2}, {512, 64, 1, 3}, {1024, 64, 2, 4}, {100, 4, 3, 5}, {0, 1, 0, 9}};
  std::vector<std::uint64_t> offsets(blocks.size(), 77);
  std::uint64_t total = 0, bound = 0;
  ASSERT_EQ(mote_plan_memory(blocks.data(), blocks.size(), offsets.data(), &total, &bound), MOTE_OK)
      << mote_last_error();
  EXPECT_EQ(bound, 1536U);
  EXPECT_GE(total, bound);
  for (std::size_t a = 0; a < blocks.size(); ++a) {
    EXPECT_EQ(offsets[a] % blocks[a].alignment, 0U);
    EXPECT_LE(offsets[a] + blocks[a].bytes, total);
    for (std::size_t b = 0; b < a; ++b)
      EXPECT_TRUE(blocks[a].begin >= blocks[b].end || blocks[b].begin >= blocks[a].end ||
                  offsets[a] + blocks[a].bytes <= offsets[b] ||
                  offsets[b] + blocks[b].bytes <= offsets[a])
          << a << " and " << b;
  }
  EXPECT_EQ(mote_plan_memory(blocks.data(), 2, offsets.data(), nullptr, nullptr), MOTE_OK);
  EXPECT_EQ(mote_plan_memory(nullptr, 0, nullptr, &total, nullptr), MOTE_OK);
  EXPECT_EQ(total, 0U);
}

}  // namespace
