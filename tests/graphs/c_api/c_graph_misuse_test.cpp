// SPDX-License-Identifier: Apache-2.0
// Tests that every function of mote/mote_graphs.h and mote/mote_rewriting.h refuses NULL with a
// status and a line, and leaves its results unchanged.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <string>

#include "graphs/c_api/c_misuse.h"

namespace {

using mote::test::expect_invalid;
using mote::test::kReal;
using mote::test::MisuseOfGraphsC;
using mote::test::text_of;

TEST_F(MisuseOfGraphsC, NullInTheMakingOfGraphs) {
  const char* text = nullptr;
  std::size_t count = 0;
  DLDataType dtype = {};
  std::int32_t rank = 0;
  std::array<std::int64_t, MOTE_MAX_AXES> extents{};
  const std::string before = text_of(g);
  expect_invalid({
      {"create", [&] { return mote_symbolic_create("a", nullptr); }},
      {"create: name", [&] { return mote_symbolic_create(nullptr, &no_graph); }},
      {"parse", [&] { return mote_symbolic_parse("graph a() -> ()\n", nullptr); }},
      {"parse: text", [&] { return mote_symbolic_parse(nullptr, &no_graph); }},
      {"copy", [&] { return mote_symbolic_copy(nullptr, &no_graph); }},
      {"copy: to", [&] { return mote_symbolic_copy(g, nullptr); }},
      {"text", [&] { return mote_symbolic_text(nullptr, &text); }},
      {"text: to", [&] { return mote_symbolic_text(g, nullptr); }},
      {"verify", [&] { return mote_symbolic_verify(nullptr); }},
      {"input", [&] { return mote_symbolic_input(nullptr, "i", kReal, 2, shape, &out); }},
      {"input: name", [&] { return mote_symbolic_input(g, nullptr, kReal, 2, shape, &out); }},
      {"input: shape", [&] { return mote_symbolic_input(g, "i", kReal, 2, nullptr, &out); }},
      {"input: symbol", [&] { return mote_symbolic_input(g, "i", kReal, 2, shape, nullptr); }},
      {"open", [&] { return mote_symbolic_open_input(nullptr, "i", kReal, &out); }},
      {"open: name", [&] { return mote_symbolic_open_input(g, nullptr, kReal, &out); }},
      {"open: symbol", [&] { return mote_symbolic_open_input(g, "i", kReal, nullptr); }},
      {"set_shape", [&] { return mote_symbolic_set_shape(nullptr, x, 2, shape); }},
      {"set_shape: of none", [&] { return mote_symbolic_set_shape(g, out, 2, shape); }},
      {"set_shape: shape", [&] { return mote_symbolic_set_shape(g, x, 2, nullptr); }},
      {"constant", [&] { return mote_symbolic_constant(nullptr, "c", tensor, &out); }},
      {"constant: value", [&] { return mote_symbolic_constant(g, "c", nullptr, &out); }},
      {"constant: symbol", [&] { return mote_symbolic_constant(g, "c", tensor, nullptr); }},
      {"tensor", [&] { return mote_symbolic_tensor(nullptr, "t", kReal, 2, shape, 0, &out); }},
      {"tensor: shape", [&] { return mote_symbolic_tensor(g, "t", kReal, 2, nullptr, 0, &out); }},
      {"tensor: symbol", [&] { return mote_symbolic_tensor(g, "t", kReal, 2, shape, 0, nullptr); }},
      {"slice", [&] { return mote_symbolic_slice(nullptr, x, 0, 0, 1, 1, &out); }},
      {"slice: view", [&] { return mote_symbolic_slice(g, x, 0, 0, 1, 1, nullptr); }},
      {"select", [&] { return mote_symbolic_select(nullptr, x, 0, 0, &out); }},
      {"select: view", [&] { return mote_symbolic_select(g, x, 0, 0, nullptr); }},
      {"permute", [&] { return mote_symbolic_permute(nullptr, x, 2, order, &out); }},
      {"permute: order", [&] { return mote_symbolic_permute(g, x, 2, nullptr, &out); }},
      {"permute: view", [&] { return mote_symbolic_permute(g, x, 2, order, nullptr); }},
      {"broadcast", [&] { return mote_symbolic_broadcast_to(nullptr, x, 2, shape, &out); }},
      {"broadcast: shape", [&] { return mote_symbolic_broadcast_to(g, x, 2, nullptr, &out); }},
      {"broadcast: view", [&] { return mote_symbolic_broadcast_to(g, x, 2, shape, nullptr); }},
      {"reshape", [&] { return mote_symbolic_reshape(nullptr, x, 2, shape, &out); }},
      {"reshape: shape", [&] { return mote_symbolic_reshape(g, x, 2, nullptr, &out); }},
      {"reshape: view", [&] { return mote_symbolic_reshape(g, x, 2, shape, nullptr); }},
      {"outputs", [&] { return mote_symbolic_outputs(nullptr, nullptr, 0, &count); }},
      {"outputs: count", [&] { return mote_symbolic_outputs(g, nullptr, 0, nullptr); }},
      {"set_outputs", [&] { return mote_symbolic_set_outputs(nullptr, &z, 1); }},
      {"set_outputs: list", [&] { return mote_symbolic_set_outputs(g, nullptr, 1); }},
      {"rename", [&] { return mote_symbolic_rename(nullptr, z, "n"); }},
      {"rename: name", [&] { return mote_symbolic_rename(g, z, nullptr); }},
      {"find", [&] { return mote_symbolic_find(nullptr, "z", &out); }},
      {"find: name", [&] { return mote_symbolic_find(g, nullptr, &out); }},
      {"find: symbol", [&] { return mote_symbolic_find(g, "z", nullptr); }},
      {"input_like", [&] { return mote_symbolic_input_like(nullptr, "i", g, z, &out); }},
      {"input_like: name", [&] { return mote_symbolic_input_like(g, nullptr, g, z, &out); }},
      {"input_like: of", [&] { return mote_symbolic_input_like(g, "i", nullptr, z, &out); }},
      {"input_like: other", [&] { return mote_symbolic_input_like(g, "i", other, z, &out); }},
      {"input_like: symbol", [&] { return mote_symbolic_input_like(g, "i", g, z, nullptr); }},
      {"inputs", [&] { return mote_symbolic_inputs(nullptr, nullptr, 0, &count); }},
      {"inputs: count", [&] { return mote_symbolic_inputs(g, nullptr, 0, nullptr); }},
      {"name", [&] { return mote_symbolic_name(nullptr, z, &text); }},
      {"name: of none", [&] { return mote_symbolic_name(g, out, &text); }},
      {"name: to", [&] { return mote_symbolic_name(g, z, nullptr); }},
      {"dtype", [&] { return mote_symbolic_dtype(nullptr, z, &dtype); }},
      {"dtype: of none", [&] { return mote_symbolic_dtype(g, out, &dtype); }},
      {"dtype: to", [&] { return mote_symbolic_dtype(g, z, nullptr); }},
      {"strides", [&] { return mote_symbolic_strides(nullptr, z, extents.data()); }},
      {"strides: of none", [&] { return mote_symbolic_strides(g, out, extents.data()); }},
      {"strides: to", [&] { return mote_symbolic_strides(g, z, nullptr); }},
      {"form", [&] { return mote_symbolic_form(nullptr, z, &dtype, &rank, extents.data()); }},
      {"form: dtype", [&] { return mote_symbolic_form(g, z, nullptr, &rank, extents.data()); }},
      {"form: rank", [&] { return mote_symbolic_form(g, z, &dtype, nullptr, extents.data()); }},
      {"form: shape", [&] { return mote_symbolic_form(g, z, &dtype, &rank, nullptr); }},
  });
  EXPECT_EQ(text_of(g), before);
  EXPECT_EQ(out.index, 7U);
  EXPECT_EQ(rank, 0);
  EXPECT_EQ(no_graph, nullptr);
}

TEST_F(MisuseOfGraphsC, NullInNodesAndRewriting) {
  const mote_checkpoint_options policy = {sizeof(policy), 0, 0, 0, nullptr, 0, nullptr};
  const mote_checkpoint_options no_list = {sizeof(policy), 0, 0, 0, nullptr, 1, nullptr};
  const char* const no_name[] = {nullptr};
  const mote_symbol missing = MOTE_NO_SYMBOL;
  const char* text = nullptr;
  std::int32_t depends = 5;
  const mote_node_work work = [](void*, const mote_tensor* const*, size_t, mote_tensor* const*,
                                 size_t) { return MOTE_OK; };
  const std::string before = text_of(g);
  expect_invalid({
      {"apply", [&] { return mote_symbolic_apply(nullptr, "neg", &z, 1, &out, 1); }},
      {"apply: command", [&] { return mote_symbolic_apply(g, nullptr, &z, 1, &out, 1); }},
      {"apply: inputs", [&] { return mote_symbolic_apply(g, "neg", nullptr, 1, &out, 1); }},
      {"apply: outputs", [&] { return mote_symbolic_apply(g, "neg", &z, 1, nullptr, 1); }},
      {"write", [&] { return mote_symbolic_write(nullptr, neg, &z, 1, &z, 1); }},
      {"write: command", [&] { return mote_symbolic_write(g, nullptr, &z, 1, &z, 1); }},
      {"write: inputs", [&] { return mote_symbolic_write(g, neg, nullptr, 1, &z, 1); }},
      {"write: outputs", [&] { return mote_symbolic_write(g, neg, &z, 1, nullptr, 1); }},
      {"convert", [&] { return mote_symbolic_convert(nullptr, z, kReal, &out); }},
      {"convert: y", [&] { return mote_symbolic_convert(g, z, kReal, nullptr); }},
      {"copy_to", [&] { return mote_symbolic_copy_to(nullptr, z, z); }},
      {"fill", [&] { return mote_symbolic_fill(nullptr, z, 1); }},
      {"gradient", [&] { return mote_symbolic_gradient(nullptr, &z, 1, &x, 1, nullptr, &out); }},
      {"gradient: of", [&] { return mote_symbolic_gradient(g, nullptr, 1, &x, 1, nullptr, &out); }},
      {"gradient: wrt",
       [&] { return mote_symbolic_gradient(g, &z, 1, nullptr, 1, nullptr, &out); }},
      {"gradient: to", [&] { return mote_symbolic_gradient(g, &z, 1, &x, 1, nullptr, nullptr); }},
      {"jvp", [&] { return mote_symbolic_jvp(nullptr, &z, 1, &x, 1, &x, &out); }},
      {"jvp: of", [&] { return mote_symbolic_jvp(g, nullptr, 1, &x, 1, &x, &out); }},
      {"jvp: wrt", [&] { return mote_symbolic_jvp(g, &z, 1, nullptr, 1, &x, &out); }},
      {"jvp: tangents", [&] { return mote_symbolic_jvp(g, &z, 1, &x, 1, nullptr, &out); }},
      {"jvp: changes", [&] { return mote_symbolic_jvp(g, &z, 1, &x, 1, &x, nullptr); }},
      {"checkpoint", [&] { return mote_symbolic_checkpoint(nullptr, &z, 1, &policy, nullptr); }},
      {"checkpoint: of", [&] { return mote_symbolic_checkpoint(g, nullptr, 1, &policy, nullptr); }},
      {"checkpoint: how", [&] { return mote_symbolic_checkpoint(g, &z, 1, nullptr, nullptr); }},
      {"checkpoint: keep", [&] { return mote_symbolic_checkpoint(g, &z, 1, &no_list, nullptr); }},
      {"call", [&] { return mote_symbolic_call(nullptr, "w", work, nullptr, &z, 1, &z, 1); }},
      {"call: name", [&] { return mote_symbolic_call(g, nullptr, work, nullptr, &z, 1, &z, 1); }},
      {"call: work", [&] { return mote_symbolic_call(g, "w", nullptr, nullptr, &z, 1, &z, 1); }},
      {"call: inputs",
       [&] { return mote_symbolic_call(g, "w", work, nullptr, nullptr, 1, &z, 1); }},
      {"call: an input",
       [&] { return mote_symbolic_call(g, "w", work, nullptr, &missing, 1, &z, 1); }},
      {"call: outputs",
       [&] { return mote_symbolic_call(g, "w", work, nullptr, &z, 1, nullptr, 1); }},
      {"order", [&] { return mote_symbolic_order(nullptr, z, sums); }},
      {"order: none", [&] { return mote_symbolic_order(g, missing, sums); }},
      {"depends", [&] { return mote_symbolic_depends(nullptr, z, x, &depends); }},
      {"depends: none", [&] { return mote_symbolic_depends(g, missing, x, &depends); }},
      {"depends: to", [&] { return mote_symbolic_depends(g, z, x, nullptr); }},
      {"saved", [&] { return mote_symbolic_saved(nullptr, &z, 1, &sums, 1, &text); }},
      {"saved: of", [&] { return mote_symbolic_saved(g, nullptr, 1, &sums, 1, &text); }},
      {"saved: gradients", [&] { return mote_symbolic_saved(g, &z, 1, nullptr, 1, &text); }},
      {"saved: to", [&] { return mote_symbolic_saved(g, &z, 1, &sums, 1, nullptr); }},
      {"passes", [&] { return mote_symbolic_apply_passes(nullptr, nullptr, 0); }},
      {"passes: names", [&] { return mote_symbolic_apply_passes(g, nullptr, 1); }},
      {"passes: a name", [&] { return mote_symbolic_apply_passes(g, no_name, 1); }},
  });
  EXPECT_EQ(text_of(g), before);
  EXPECT_EQ(out.index, 7U);
  EXPECT_EQ(depends, 5);
  EXPECT_EQ(text, nullptr);
}

TEST_F(MisuseOfGraphsC, NullInReportsOfRewriting) {
  const mote_checkpoint_options policy = {sizeof(policy), 0, 0, 0, nullptr, 0, nullptr};
  const mote_pass_options small = {};
  mote_checkpoint_report report = {}, no_size = {};
  report.size = sizeof report;
  const char* const no_name[] = {nullptr};
  const char* text = nullptr;
  const std::string before = text_of(g);
  expect_invalid({
      {"checkpoint",
       [&] { return mote_symbolic_checkpoint_with(nullptr, &z, 1, &policy, &report); }},
      {"checkpoint: of",
       [&] { return mote_symbolic_checkpoint_with(g, nullptr, 1, &policy, &report); }},
      {"checkpoint: how",
       [&] { return mote_symbolic_checkpoint_with(g, &z, 1, nullptr, &report); }},
      {"checkpoint: to", [&] { return mote_symbolic_checkpoint_with(g, &z, 1, &policy, nullptr); }},
      {"checkpoint: size",
       [&] { return mote_symbolic_checkpoint_with(g, &z, 1, &policy, &no_size); }},
      {"passes",
       [&] { return mote_symbolic_apply_passes_with(nullptr, nullptr, 0, nullptr, &text); }},
      {"passes: names",
       [&] { return mote_symbolic_apply_passes_with(g, nullptr, 1, nullptr, &text); }},
      {"passes: a name",
       [&] { return mote_symbolic_apply_passes_with(g, no_name, 1, nullptr, &text); }},
      {"passes: size",
       [&] { return mote_symbolic_apply_passes_with(g, nullptr, 0, &small, &text); }},
      {"pass_names", [&] { return mote_pass_names(nullptr, 0, nullptr); }},
      {"default_passes", [&] { return mote_default_passes(nullptr, 0, nullptr); }},
      {"pass_summary", [&] { return mote_pass_summary(nullptr, &text); }},
      {"pass_summary: unknown", [&] { return mote_pass_summary("no such pass", &text); }},
      {"pass_summary: to", [&] { return mote_pass_summary("prune", nullptr); }},
  });
  EXPECT_EQ(text_of(g), before);
  EXPECT_EQ(report.copies, 0U);
  EXPECT_EQ(text, nullptr);
}

TEST_F(MisuseOfGraphsC, NullWhereGraphsRun) {
  mote_executable* made = nullptr;
  mote_graph* made_graph = nullptr;
  mote_tensor* output = nullptr;
  const char* text = nullptr;
  mote_tensor* const to[] = {tensor};
  const mote_tensor* const from[] = {tensor};
  const auto work = [](void*) { return MOTE_OK; };
  const mote_memory_block block = {4, 4, 0, 1};
  std::uint64_t offset = 9;
  mote_graph* const c = concrete;
  expect_invalid({
      {"compile", [&] { return mote_symbolic_compile(nullptr, nullptr, context, &made); }},
      {"compile: context", [&] { return mote_symbolic_compile(g, nullptr, nullptr, &made); }},
      {"compile: to", [&] { return mote_symbolic_compile(g, nullptr, context, nullptr); }},
      {"plan",
       [&] { return mote_symbolic_plan(nullptr, nullptr, context, 0, &text, nullptr, nullptr); }},
      {"plan: context",
       [&] { return mote_symbolic_plan(g, nullptr, nullptr, 0, &text, nullptr, nullptr); }},
      {"bind", [&] { return mote_executable_bind(nullptr, x, tensor); }},
      {"bind: tensor", [&] { return mote_executable_bind(run, x, nullptr); }},
      {"run", [&] { return mote_executable_run(nullptr); }},
      {"output", [&] { return mote_executable_output(nullptr, sums, &output); }},
      {"output: to", [&] { return mote_executable_output(run, sums, nullptr); }},
      {"cancel", [&] { return mote_executable_cancel(nullptr); }},
      {"report", [&] { return mote_executable_report(nullptr, 0, &text); }},
      {"report: text", [&] { return mote_executable_report(run, 0, nullptr); }},
      {"bytes", [&] { return mote_executable_bytes(nullptr, nullptr, nullptr); }},
      {"graph", [&] { return mote_graph_create(nullptr, 1, nullptr); }},
      {"graph on no streams", [&] { return mote_graph_create(nullptr, 0, &made_graph); }},
      {"add", [&] { return mote_graph_add(nullptr, neg, from, 1, to, 1, nullptr); }},
      {"add: command", [&] { return mote_graph_add(c, nullptr, from, 1, to, 1, nullptr); }},
      {"add: inputs", [&] { return mote_graph_add(c, neg, nullptr, 1, to, 1, nullptr); }},
      {"add: outputs", [&] { return mote_graph_add(c, neg, from, 1, nullptr, 1, nullptr); }},
      {"copy", [&] { return mote_graph_copy(nullptr, tensor, tensor, nullptr); }},
      {"copy: x", [&] { return mote_graph_copy(c, nullptr, tensor, nullptr); }},
      {"copy: y", [&] { return mote_graph_copy(c, tensor, nullptr, nullptr); }},
      {"fill", [&] { return mote_graph_fill(nullptr, tensor, 1, nullptr); }},
      {"fill: y", [&] { return mote_graph_fill(c, nullptr, 1, nullptr); }},
      {"call", [&] { return mote_graph_call(nullptr, work, nullptr, from, 1, to, 1, nullptr); }},
      {"call: work", [&] { return mote_graph_call(c, nullptr, nullptr, from, 1, to, 1, nullptr); }},
      {"call: reads",
       [&] { return mote_graph_call(c, work, nullptr, nullptr, 1, to, 1, nullptr); }},
      {"call: writes",
       [&] { return mote_graph_call(c, work, nullptr, from, 1, nullptr, 1, nullptr); }},
      {"order", [&] { return mote_graph_order(nullptr, 0, 0); }},
      {"find_order", [&] { return mote_graph_find_order(nullptr); }},
      {"run a graph", [&] { return mote_graph_run(nullptr); }},
      {"cancel a graph", [&] { return mote_graph_cancel(nullptr); }},
      {"dot", [&] { return mote_graph_dot(nullptr, &text); }},
      {"dot: text", [&] { return mote_graph_dot(c, nullptr); }},
      {"plan", [&] { return mote_plan_memory(nullptr, 1, &offset, nullptr, nullptr); }},
      {"plan: offsets", [&] { return mote_plan_memory(&block, 1, nullptr, nullptr, nullptr); }},
  });
  EXPECT_EQ(made, nullptr);
  EXPECT_EQ(made_graph, nullptr);
  EXPECT_EQ(output, nullptr);
  EXPECT_EQ(text, nullptr);
  EXPECT_EQ(offset, 9U);
  mote_symbolic_free(nullptr);
  mote_executable_free(nullptr);
  mote_graph_free(nullptr);
}

TEST_F(MisuseOfGraphsC, NullWhereRunsAreChosenAndMeasured) {
  mote_tensor* result = nullptr;
  const mote_tensor* const from[] = {tensor};
  const mote_memory_block block = {4, 4, 0, 1};
  const mote_memory_options plan = {sizeof(plan), 0, 0, 0};
  const mote_memory_options small = {1, 0, 0, 0};
  mote_graph_statistics statistics = {};
  std::uint64_t offset = 9;
  const char* text = nullptr;
  mote_graph* const c = concrete;
  expect_invalid({
      {"evaluate",
       [&] { return mote_symbolic_evaluate(nullptr, nullptr, &x, from, 1, &z, 1, &result); }},
      {"evaluate: inputs",
       [&] { return mote_symbolic_evaluate(g, nullptr, nullptr, from, 1, &z, 1, &result); }},
      {"evaluate: tensors",
       [&] { return mote_symbolic_evaluate(g, nullptr, &x, nullptr, 1, &z, 1, &result); }},
      {"evaluate: outputs",
       [&] { return mote_symbolic_evaluate(g, nullptr, &x, from, 1, nullptr, 1, &result); }},
      {"evaluate: results",
       [&] { return mote_symbolic_evaluate(g, nullptr, &x, from, 1, &z, 1, nullptr); }},
      {"trace", [&] { return mote_executable_trace(nullptr, 1); }},
      {"autotune", [&] { return mote_executable_autotune(nullptr, nullptr, nullptr); }},
      {"untuned", [&] { return mote_executable_untuned(nullptr, &text); }},
      {"graph untuned", [&] { return mote_graph_untuned(nullptr, &text); }},
      {"graph untuned: to", [&] { return mote_graph_untuned(c, nullptr); }},
      {"placeholder", [&] { return mote_graph_placeholder(nullptr, tensor); }},
      {"placeholder: tensor", [&] { return mote_graph_placeholder(c, nullptr); }},
      {"graph bind", [&] { return mote_graph_bind(nullptr, tensor, tensor); }},
      {"graph bind: of", [&] { return mote_graph_bind(c, nullptr, tensor); }},
      {"graph bind: no placeholder", [&] { return mote_graph_bind(c, tensor, tensor); }},
      {"remove", [&] { return mote_graph_remove(nullptr, 0); }},
      {"remove: no such node", [&] { return mote_graph_remove(c, 0); }},
      {"run_part", [&] { return mote_graph_run_part(nullptr, nullptr, 0, nullptr, 0); }},
      {"run_part: from", [&] { return mote_graph_run_part(c, nullptr, 1, nullptr, 0); }},
      {"run_part: to", [&] { return mote_graph_run_part(c, nullptr, 0, nullptr, 1); }},
      {"run_on", [&] { return mote_graph_run_on(c, nullptr); }},
      {"graph trace", [&] { return mote_graph_trace(nullptr, 1); }},
      {"trace_text", [&] { return mote_graph_trace_text(nullptr, &text); }},
      {"trace_text: to", [&] { return mote_graph_trace_text(c, nullptr); }},
      {"graph autotune", [&] { return mote_graph_autotune(nullptr, nullptr, nullptr); }},
      {"statistics", [&] { return mote_graph_get_statistics(nullptr, &statistics); }},
      {"statistics: to", [&] { return mote_graph_get_statistics(c, nullptr); }},
      {"statistics: size", [&] { return mote_graph_get_statistics(c, &statistics); }},
      {"plan_with",
       [&] { return mote_plan_memory_with(nullptr, 1, &plan, &offset, nullptr, nullptr); }},
      {"plan_with: how",
       [&] { return mote_plan_memory_with(&block, 1, nullptr, &offset, nullptr, nullptr); }},
      {"plan_with: size",
       [&] { return mote_plan_memory_with(&block, 1, &small, &offset, nullptr, nullptr); }},
      {"check_plan", [&] { return mote_check_memory_plan(nullptr, 1, &offset, 16); }},
      {"check_plan: offsets", [&] { return mote_check_memory_plan(&block, 1, nullptr, 16); }},
  });
  EXPECT_EQ(result, nullptr);
  EXPECT_EQ(text, nullptr);
  EXPECT_EQ(offset, 9U);
}

}  // namespace
