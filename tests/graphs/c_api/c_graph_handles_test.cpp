// SPDX-License-Identifier: Apache-2.0
// Tests that functions of mote/mote_graphs.h refuse symbols that are none of the graph's, counts
// beyond the op's, and values without a meaning, and leave their results unchanged.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <string>

#include "graphs/c_api/c_misuse.h"

namespace {

using mote::test::expect_invalid;
using mote::test::kReal;
using mote::test::MisuseOfGraphsC;
using mote::test::named;
using mote::test::text_of;

/// Symbols of another graph, none, and some that the graph does not have.
TEST_F(MisuseOfGraphsC, WrongSymbols) {
  const mote_checkpoint_options policy = {sizeof(policy), 0, 0, 0};
  DLDataType dtype = {};
  std::int32_t rank = 0;
  std::array<std::int64_t, MOTE_MAX_AXES> extents{};
  mote_tensor* output = nullptr;
  mote_executable* made = nullptr;
  const std::string before = text_of(g);
  for (const mote_symbol wrong :
       {named(other, "z"), MOTE_NO_SYMBOL, mote_symbol{x.graph, 1000}, mote_symbol{}}) {
    mote_compile_options options = {};
    options.size = sizeof(options);
    options.outputs = &wrong;
    options.output_count = 1;
    mote_compile_options bound = {};
    bound.size = sizeof(bound);
    bound.bound = &wrong;
    bound.bound_count = 1;
    expect_invalid({
        {"slice", [&] { return mote_symbolic_slice(g, wrong, 0, 0, 1, 1, &out); }},
        {"select", [&] { return mote_symbolic_select(g, wrong, 0, 0, &out); }},
        {"permute", [&] { return mote_symbolic_permute(g, wrong, 2, order, &out); }},
        {"broadcast", [&] { return mote_symbolic_broadcast_to(g, wrong, 2, shape, &out); }},
        {"reshape", [&] { return mote_symbolic_reshape(g, wrong, 2, shape, &out); }},
        {"apply", [&] { return mote_symbolic_apply(g, "neg", &wrong, 1, &out, 1); }},
        {"write", [&] { return mote_symbolic_write(g, neg, &z, 1, &wrong, 1); }},
        {"convert", [&] { return mote_symbolic_convert(g, wrong, kReal, &out); }},
        {"copy from", [&] { return mote_symbolic_copy_to(g, wrong, z); }},
        {"copy to", [&] { return mote_symbolic_copy_to(g, z, wrong); }},
        {"fill", [&] { return mote_symbolic_fill(g, wrong, 1); }},
        {"set_outputs", [&] { return mote_symbolic_set_outputs(g, &wrong, 1); }},
        {"rename", [&] { return mote_symbolic_rename(g, wrong, "n"); }},
        {"form", [&] { return mote_symbolic_form(g, wrong, &dtype, &rank, extents.data()); }},
        {"of", [&] { return mote_symbolic_gradient(g, &wrong, 1, &x, 1, nullptr, &out); }},
        {"wrt", [&] { return mote_symbolic_gradient(g, &z, 1, &wrong, 1, nullptr, &out); }},
        {"seed", [&] { return mote_symbolic_gradient(g, &z, 1, &x, 1, &wrong, &out); }},
        {"jvp", [&] { return mote_symbolic_jvp(g, &wrong, 1, &x, 1, &x, &out); }},
        {"checkpoint", [&] { return mote_symbolic_checkpoint(g, &wrong, 1, &policy, nullptr); }},
        {"compile", [&] { return mote_symbolic_compile(g, &options, context, &made); }},
        {"bound", [&] { return mote_symbolic_compile(g, &bound, context, &made); }},
        {"bind", [&] { return mote_executable_bind(run, wrong, tensor); }},
        {"output", [&] { return mote_executable_output(run, wrong, &output); }},
    });
  }
  EXPECT_EQ(text_of(g), before);
  EXPECT_EQ(out.index, 7U);
  EXPECT_EQ(output, nullptr);
}

/// The handle of a symbol that a pass removed is dead.
TEST_F(MisuseOfGraphsC, RemovedSymbols) {
  mote_symbol unused = MOTE_NO_SYMBOL;
  ASSERT_EQ(mote_symbolic_apply(g, "exp", &z, 1, &unused, 1), MOTE_OK) << mote_last_error();
  const char* const prune[] = {"prune"};
  ASSERT_EQ(mote_symbolic_apply_passes(g, prune, 1), MOTE_OK) << mote_last_error();
  expect_invalid({
      {"apply", [&] { return mote_symbolic_apply(g, "neg", &unused, 1, &out, 1); }},
      {"set_outputs", [&] { return mote_symbolic_set_outputs(g, &unused, 1); }},
      {"gradient", [&] { return mote_symbolic_gradient(g, &unused, 1, &x, 1, nullptr, &out); }},
  });
}

TEST_F(MisuseOfGraphsC, CountsSizesAndValues) {
  const mote_symbol two[] = {z, z};
  mote_symbol outs[2] = {out, out};
  const mote_compile_options small = {};
  mote_compile_options streams = {};
  streams.size = sizeof(streams);
  streams.streams = -1;
  const mote_checkpoint_options tiny = {4, 0, 0, 0};
  const mote_checkpoint_options no_policy = {sizeof(no_policy), 9, 0, 0};
  const mote_checkpoint_options no_slots = {sizeof(no_slots), MOTE_CHECKPOINT_BINOMIAL, -3, 0};
  const char* const unknown[] = {"merje"};
  const std::int32_t twice[] = {0, 0};
  const std::int64_t negative[] = {4, -3};
  mote_executable* made = nullptr;
  const char* text = nullptr;
  const mote_tensor* const from[] = {tensor, tensor};
  mote_tensor* const to[] = {tensor, tensor};
  const mote_memory_block skewed = {4, 3, 0, 1};
  std::uint64_t offset = 9;
  expect_invalid({
      {"inputs beyond the op's", [&] { return mote_symbolic_apply(g, "neg", two, 2, outs, 1); }},
      {"outputs beyond", [&] { return mote_symbolic_apply(g, "neg", &z, 1, outs, 2); }},
      {"too few inputs", [&] { return mote_symbolic_apply(g, "add", &z, 1, outs, 1); }},
      {"unknown op", [&] { return mote_symbolic_apply(g, "negg", &z, 1, outs, 1); }},
      {"write: inputs beyond", [&] { return mote_symbolic_write(g, neg, two, 2, &z, 1); }},
      {"write: outputs beyond", [&] { return mote_symbolic_write(g, neg, &z, 1, two, 2); }},
      {"write what is written", [&] { return mote_symbolic_write(g, neg, &z, 1, &z, 1); }},
      {"add: inputs beyond",
       [&] { return mote_graph_add(concrete, neg, from, 2, to, 1, nullptr); }},
      {"add: outputs beyond",
       [&] { return mote_graph_add(concrete, neg, from, 1, to, 2, nullptr); }},
      {"no node", [&] { return mote_graph_order(concrete, 0, 1); }},
      {"rank", [&] { return mote_symbolic_input(g, "i", kReal, 13, shape, &out); }},
      {"negative rank", [&] { return mote_symbolic_input(g, "i", kReal, -1, shape, &out); }},
      {"extent", [&] { return mote_symbolic_input(g, "i", kReal, 2, negative, &out); }},
      {"dtype",
       [&] {
         return mote_symbolic_input(g, "i", {kDLFloat, 7, 1}, 2, shape, &out);
       }},
      {"a name twice", [&] { return mote_symbolic_input(g, "x", kReal, 2, shape, &out); }},
      {"slice: axis", [&] { return mote_symbolic_slice(g, z, 5, 0, 1, 1, &out); }},
      {"select: index", [&] { return mote_symbolic_select(g, z, 0, INT64_MAX, &out); }},
      {"permute", [&] { return mote_symbolic_permute(g, z, 2, twice, &out); }},
      {"unknown symbol", [&] { return mote_symbolic_find(g, "zz", &out); }},
      {"unknown pass", [&] { return mote_symbolic_apply_passes(g, unknown, 1); }},
      {"parse", [&] { return mote_symbolic_parse("graph a(", &no_graph); }},
      {"options of compile", [&] { return mote_symbolic_compile(g, &small, context, &made); }},
      {"streams", [&] { return mote_symbolic_compile(g, &streams, context, &made); }},
      {"options", [&] { return mote_symbolic_checkpoint(g, &sums, 1, &tiny, nullptr); }},
      {"policy", [&] { return mote_symbolic_checkpoint(g, &sums, 1, &no_policy, nullptr); }},
      {"slots", [&] { return mote_symbolic_checkpoint(g, &sums, 1, &no_slots, nullptr); }},
      {"format", [&] { return mote_executable_report(run, 4, &text); }},
      {"negative format", [&] { return mote_executable_report(run, -1, &text); }},
      {"format of a plan",
       [&] {
         return mote_symbolic_plan(g, nullptr, context, MOTE_REPORT_DOT, &text, nullptr, nullptr);
       }},
      {"options of a plan",
       [&] { return mote_symbolic_plan(g, &small, context, 0, &text, nullptr, nullptr); }},
      {"an input that is not bound", [&] { return mote_executable_run(run); }},
      {"bind what is no input", [&] { return mote_executable_bind(run, z, tensor); }},
      {"alignment", [&] { return mote_plan_memory(&skewed, 1, &offset, nullptr, nullptr); }},
  });
  EXPECT_EQ(outs[0].index, 7U);
  EXPECT_EQ(out.index, 7U);
  EXPECT_EQ(made, nullptr);
  EXPECT_EQ(no_graph, nullptr);
  EXPECT_EQ(offset, 9U);
}

}  // namespace
