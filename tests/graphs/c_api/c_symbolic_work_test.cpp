// SPDX-License-Identifier: Apache-2.0
// Tests the functions of mote/mote_graphs.h for late shapes, callers' code, order without data,
// queries, evaluation, and the choices of compilation.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "graphs/c_api/c_graphs.h"

namespace {

using mote::test::compiled;
using mote::test::ContextHandle;
using mote::test::elements;
using mote::test::ExecutableHandle;
using mote::test::kReal;
using mote::test::made_context;
using mote::test::made_tensor;
using mote::test::named;
using mote::test::output_of;
using mote::test::parsed;
using mote::test::SymbolicHandle;
using mote::test::TensorHandle;
using mote::test::text_of;
using Numbers = std::vector<double>;

SymbolicHandle empty_graph() {
  SymbolicHandle graph;
  graph.set([](mote_symbolic** g) { return mote_symbolic_create("own", g); });
  return graph;
}

mote_symbol applied(mote_symbolic* graph, const char* command, mote_symbol x) {
  mote_symbol y = MOTE_NO_SYMBOL;
  EXPECT_EQ(mote_symbolic_apply(graph, command, &x, 1, &y, 1), MOTE_OK) << mote_last_error();
  return y;
}

TEST(SymbolicWorkC, AShapeComesLater) {
  const SymbolicHandle g = empty_graph();
  mote_symbol x = MOTE_NO_SYMBOL;
  ASSERT_EQ(mote_symbolic_open_input(g, "x", kReal, &x), MOTE_OK) << mote_last_error();
  const mote_symbol y = applied(g, "sum axis=1", x);
  DLDataType dtype = {};
  std::int32_t rank = 9;
  std::int64_t shape[MOTE_MAX_AXES] = {};
  EXPECT_EQ(mote_symbolic_form(g, y, &dtype, &rank, shape), MOTE_INVALID);
  EXPECT_NE(std::strstr(mote_last_error(), "not known yet"), nullptr) << mote_last_error();
  const std::int64_t given[] = {2, 3, 5};
  ASSERT_EQ(mote_symbolic_set_shape(g, x, 3, given), MOTE_OK) << mote_last_error();
  ASSERT_EQ(mote_symbolic_form(g, y, &dtype, &rank, shape), MOTE_OK) << mote_last_error();
  EXPECT_EQ(rank, 2);
  EXPECT_EQ(shape[0], 2);
  EXPECT_EQ(shape[1], 5);
}

/// A caller's code: y = 2x, and how often it ran.
struct Twice {
  int calls = 0;
  mote_status status = MOTE_OK;

  static mote_status run(void* argument, const mote_tensor* const* inputs, size_t input_count,
                         mote_tensor* const* outputs, size_t output_count) {
    Twice& self = *static_cast<Twice*>(argument);
    ++self.calls;
    EXPECT_EQ(input_count, 1U);
    EXPECT_EQ(output_count, 1U);
    for (std::int64_t k = 0; k < inputs[0]->dl.shape[0]; ++k) {
      double value = 0;
      EXPECT_EQ(mote_tensor_real_at(inputs[0], &k, &value), MOTE_OK) << mote_last_error();
      static_cast<float*>(outputs[0]->dl.data)[k] = static_cast<float>(2 * value);
    }
    return self.status;
  }
};

TEST(SymbolicWorkC, CallersCodeIsANode) {
  const SymbolicHandle g = empty_graph();
  const ContextHandle context = made_context();
  Twice twice;
  mote_symbol x = MOTE_NO_SYMBOL, h = MOTE_NO_SYMBOL;
  const std::int64_t shape[] = {3};
  ASSERT_EQ(mote_symbolic_input(g, "x", kReal, 1, shape, &x), MOTE_OK);
  ASSERT_EQ(mote_symbolic_tensor(g, "h", kReal, 1, shape, 0, &h), MOTE_OK);
  ASSERT_EQ(mote_symbolic_call(g, "twice", Twice::run, &twice, &x, 1, &h, 1), MOTE_OK)
      << mote_last_error();
  const mote_symbol y = applied(g, "neg", h);
  ASSERT_EQ(mote_symbolic_set_outputs(g, &y, 1), MOTE_OK);
  const TensorHandle value = made_tensor({3}, 1.5);
  const mote_tensor* const tensors[] = {value};
  TensorHandle result;
  result.set([&](mote_tensor** t) {
    return mote_symbolic_evaluate(g, nullptr, &x, tensors, 1, &y, 1, t);
  });
  EXPECT_EQ(elements(result), Numbers(3, -3));
  const ExecutableHandle run = compiled(g, context);
  ASSERT_EQ(mote_executable_bind(run, x, value), MOTE_OK);
  ASSERT_EQ(mote_executable_run(run), MOTE_OK) << mote_last_error();
  EXPECT_EQ(output_of(run, y), Numbers(3, -3));
  EXPECT_EQ(twice.calls, 2);
  twice.status = MOTE_UNSUPPORTED;
  EXPECT_EQ(mote_executable_run(run), MOTE_UNSUPPORTED);
  EXPECT_NE(std::strstr(mote_last_error(), "node 0"), nullptr) << mote_last_error();
  twice.status = MOTE_OK;
  EXPECT_EQ(mote_executable_run(run), MOTE_OK) << mote_last_error();
  mote_symbol gradient = MOTE_NO_SYMBOL;
  EXPECT_EQ(mote_symbolic_gradient(g, &y, 1, &x, 1, nullptr, &gradient), MOTE_UNSUPPORTED);
  EXPECT_NE(std::strstr(mote_last_error(), "twice"), nullptr) << mote_last_error();
}

TEST(SymbolicWorkC, OrderWithoutDataAndWhatDepends) {
  const SymbolicHandle g = parsed(
      "graph g(x f32[2], v f32[2]) -> (y, z)\n"
      "  y = neg(x)\n"
      "  z = neg(v)\n");
  const mote_symbol x = named(g, "x"), y = named(g, "y"), v = named(g, "v"), z = named(g, "z");
  const auto depends = [&](mote_symbol a, mote_symbol b) {
    std::int32_t result = 9;
    EXPECT_EQ(mote_symbolic_depends(g, a, b, &result), MOTE_OK) << mote_last_error();
    return result;
  };
  EXPECT_EQ(depends(y, x), 1);
  EXPECT_EQ(depends(y, v), 0);
  EXPECT_EQ(depends(x, y), 0);
  ASSERT_EQ(mote_symbolic_order(g, z, y), MOTE_OK) << mote_last_error();
  EXPECT_NE(text_of(g).find("after"), std::string::npos) << text_of(g);
  EXPECT_EQ(mote_symbolic_order(g, x, y), MOTE_INVALID);
  EXPECT_NE(std::strstr(mote_last_error(), "no node writes x"), nullptr) << mote_last_error();
}

TEST(SymbolicWorkC, WhatTheWayBackReads) {
  const SymbolicHandle g = parsed("graph g(x f32[2]) -> (y)\n  y = tanh(x)\n");
  const mote_symbol x = named(g, "x"), y = named(g, "y");
  mote_symbol gradient = MOTE_NO_SYMBOL;
  ASSERT_EQ(mote_symbolic_gradient(g, &y, 1, &x, 1, nullptr, &gradient), MOTE_OK);
  const char* text = nullptr;
  ASSERT_EQ(mote_symbolic_saved(g, &y, 1, &gradient, 1, &text), MOTE_OK) << mote_last_error();
  EXPECT_EQ(std::string(text).rfind("y f32[2] 8 bytes: ", 0), 0U) << text;
}

const char* kChain =
    "graph g(x f32[64]) -> (z)\n"
    "  h = neg(x)\n"
    "  a = neg(h)\n"
    "  z = add(a, a)\n";

std::string report_of(mote_executable* run, std::int32_t format) {
  const char* text = nullptr;
  EXPECT_EQ(mote_executable_report(run, format, &text), MOTE_OK) << mote_last_error();
  return text != nullptr ? text : "";
}

TEST(SymbolicWorkC, OrderPlannerAndPassesAreChosen) {
  const ContextHandle context = made_context();
  const SymbolicHandle g = parsed(kChain);
  const char* const passes[] = {"prune"};
  mote_compile_options options = {};
  options.size = sizeof(options);
  options.order = MOTE_ORDER_PROGRAM;
  options.planner = MOTE_PLANNER_SEED;
  options.passes = passes;
  options.pass_count = 1;
  const ExecutableHandle run = compiled(g, context, &options);
  const auto report = nlohmann::json::parse(report_of(run, MOTE_REPORT_JSON));
  EXPECT_EQ(report.at("order"), "program");
  EXPECT_EQ(report.at("passes").size(), 1U);
  options.pass_count = 0;  // no pass at all
  const ExecutableHandle bare = compiled(g, context, &options);
  EXPECT_TRUE(nlohmann::json::parse(report_of(bare, MOTE_REPORT_JSON)).at("passes").empty());
  mote_executable* none = nullptr;
  const auto refused = [&](const char* part) {
    EXPECT_EQ(mote_symbolic_compile(g, &options, context, &none), MOTE_INVALID);
    EXPECT_NE(std::strstr(mote_last_error(), part), nullptr) << mote_last_error();
  };
  options.order = 4;
  refused("options.order is none of mote_evaluation_order: 4");
  options.order = 0;
  options.planner = -1;
  refused("options.planner is none of mote_memory_planner: -1");
  options.planner = 0;
  options.passes = nullptr;
  options.pass_count = 1;
  refused("options.passes is NULL");
  EXPECT_EQ(none, nullptr);
}

TEST(SymbolicWorkC, RunsAreRecordedAndKernelsMeasured) {
  const ContextHandle context = made_context();
  const SymbolicHandle g = parsed(kChain);
  const ExecutableHandle run = compiled(g, context);
  const TensorHandle x = made_tensor({64}, 2), larger = made_tensor({128}, 2);
  const char* text = nullptr;
  EXPECT_EQ(mote_executable_report(run, MOTE_REPORT_TRACE, &text), MOTE_INVALID);
  ASSERT_EQ(mote_executable_bind(run, named(g, "x"), x), MOTE_OK);
  ASSERT_EQ(mote_executable_trace(run, 1), MOTE_OK) << mote_last_error();
  ASSERT_EQ(mote_executable_run(run), MOTE_OK) << mote_last_error();
  ASSERT_EQ(mote_executable_trace(run, 0), MOTE_OK) << mote_last_error();
  const auto trace = nlohmann::json::parse(report_of(run, MOTE_REPORT_TRACE));
  // The names of the process and the stream, and the one node that passes have left.
  EXPECT_EQ(trace.at("traceEvents").size(), 3U);
  std::size_t commands = 0;
  const mote_tuning_options options = {sizeof(options), 0.01, 1, 0};
  ASSERT_EQ(mote_executable_autotune(run, &options, &commands), MOTE_OK) << mote_last_error();
  EXPECT_GT(commands, 0U);
  ASSERT_EQ(mote_executable_run(run), MOTE_OK) << mote_last_error();
  EXPECT_EQ(output_of(run, named(g, "z")), Numbers(64, 4));
  ASSERT_EQ(mote_executable_bind(run, named(g, "x"), larger), MOTE_OK);
  ASSERT_EQ(mote_executable_run(run), MOTE_OK) << mote_last_error();
  EXPECT_EQ(mote_executable_report(run, MOTE_REPORT_TRACE, &text), MOTE_INVALID);
}

TEST(SymbolicWorkC, ACheckpointKeepsWhatItIsTold) {
  std::string text = "graph g(x f32[64]) -> (y)\n";
  for (int k = 0; k < 16; ++k)
    text += "  " + (k == 15 ? std::string("y") : "h" + std::to_string(k)) + " = tanh(" +
            (k == 0 ? std::string("x") : "h" + std::to_string(k - 1)) + ")\n";
  const auto copies = [&](const std::vector<std::string>& keep, bool is_old) {
    const SymbolicHandle g = parsed(text.c_str());
    const mote_symbol x = named(g, "x"), y = named(g, "y");
    mote_symbol outputs[] = {y, MOTE_NO_SYMBOL};
    EXPECT_EQ(mote_symbolic_gradient(g, &y, 1, &x, 1, nullptr, &outputs[1]), MOTE_OK);
    EXPECT_EQ(mote_symbolic_set_outputs(g, outputs, 2), MOTE_OK);
    std::vector<mote_symbol> kept;
    for (const std::string& name : keep) kept.push_back(named(g, name.c_str()));
    mote_checkpoint_options options = {};
    options.size = is_old ? offsetof(mote_checkpoint_options, keep) : sizeof(options);
    options.keep = kept.data();
    options.keep_count = kept.size();
    std::size_t count = 0;
    EXPECT_EQ(mote_symbolic_checkpoint(g, &y, 1, &options, &count), MOTE_OK) << mote_last_error();
    return count;
  };
  const std::size_t all = copies({}, false);
  EXPECT_GT(all, 0U);
  std::vector<std::string> names;
  for (int k = 0; k < 15; ++k) names.push_back("h" + std::to_string(k));
  EXPECT_EQ(copies(names, false), 0U);
  // A caller of an older struct has no such field: what lies there is not read.
  EXPECT_EQ(copies(names, true), all);
}

TEST(MemoryC, PlannersAndTheCheckOfAPlan) {
  const std::vector<mote_memory_block> blocks = {{64, 1, 0, 2}, {32, 1, 1, 3}, {64, 1, 2, 4}};
  std::vector<std::uint64_t> offsets(blocks.size());
  std::uint64_t total = 0, bound = 0;
  mote_memory_options options = {};
  options.size = sizeof(options);
  for (const std::int32_t planner : {MOTE_PLANNER_PACKING, MOTE_PLANNER_SEED})
    for (const std::int32_t effort : {MOTE_EFFORT_NORMAL, MOTE_EFFORT_FAST, MOTE_EFFORT_THOROUGH}) {
      options.planner = planner;
      options.effort = effort;
      ASSERT_EQ(mote_plan_memory_with(blocks.data(), blocks.size(), &options, offsets.data(),
                                      &total, &bound),
                MOTE_OK)
          << mote_last_error();
      EXPECT_EQ(bound, 96U);
      EXPECT_GE(total, bound);
      EXPECT_EQ(mote_check_memory_plan(blocks.data(), blocks.size(), offsets.data(), total),
                MOTE_OK)
          << mote_last_error();
    }
  offsets = {0, 32, 0};
  EXPECT_EQ(mote_check_memory_plan(blocks.data(), blocks.size(), offsets.data(), 96), MOTE_INVALID);
  EXPECT_NE(std::strstr(mote_last_error(), "block 0"), nullptr) << mote_last_error();
  EXPECT_NE(std::strstr(mote_last_error(), "block 1"), nullptr) << mote_last_error();
  options.effort = 3;
  EXPECT_EQ(
      mote_plan_memory_with(blocks.data(), blocks.size(), &options, offsets.data(), &total, &bound),
      MOTE_INVALID);
}

}  // namespace
