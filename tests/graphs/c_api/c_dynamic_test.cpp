// SPDX-License-Identifier: Apache-2.0
// Tests dynamic graphs through mote/mote_dynamic.h: values, views, writes, gradients, scopes,
// static functions, statistics; commands at once and deferred.
#include "graphs/c_api/c_dynamic.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace {

using namespace mote::test;  // NOLINT(google-build-using-namespace)
using Reals = std::vector<double>;

class DynamicC : public testing::TestWithParam<bool> {
 protected:
  ContextHandle context = made_context();
  DynamicHandle g = made_dynamic(context, GetParam());
};
INSTANTIATE_TEST_SUITE_P(Modes, DynamicC, testing::Bool(),
                         [](const auto& mode) { return mode.param ? "Deferred" : "Eager"; });

TEST_P(DynamicC, ValuesAreThereWhenLookedAt) {
  const VariableHandle x = made_variable(g, {2, 3}, 2), w = made_variable(g, {3, 4}, 0.5);
  const VariableHandle y = ran(g, "matmul", {x, w});
  std::int32_t is_pending = -1, is_traced = -1, rank = -1;
  expect(mote_variable_is_pending(y, &is_pending));
  EXPECT_EQ(is_pending, GetParam() ? 1 : 0);
  expect(mote_variable_is_traced(y, &is_traced));
  EXPECT_EQ(is_traced, 1);
  DLDataType dtype = {};
  std::int64_t shape[MOTE_MAX_AXES] = {};
  expect(mote_variable_form(y, &dtype, &rank, shape));
  EXPECT_EQ(dtype.bits, 32);
  EXPECT_EQ((std::vector<std::int64_t>{rank, shape[0], shape[1]}),
            (std::vector<std::int64_t>{2, 2, 4}));
  EXPECT_EQ(values_of(y), Reals(8, 3));
  expect(mote_variable_is_pending(y, &is_pending));
  EXPECT_EQ(is_pending, 0);
}

TEST_P(DynamicC, AllOutputsOrTheFirst) {
  const VariableHandle x = made_variable(g, {1, 1, 4, 4}, 3);
  const CommandHandle pool =
      command_of("max_pool2d_with_indices kernel0=2 kernel1=2 stride0=2 stride1=2");
  mote_variable* outputs[2] = {};
  const mote_variable* const inputs[] = {x};
  expect(mote_dynamic_run(g, pool, inputs, 1, nullptr, outputs, 2));
  const auto free_both = [&] {
    for (mote_variable* one : outputs) mote_variable_free(one);
  };
  EXPECT_EQ(values_of(outputs[0]), Reals(4, 3));
  DLDataType dtype = {};
  std::int32_t rank = 0;
  std::int64_t shape[MOTE_MAX_AXES] = {};
  expect(mote_variable_form(outputs[1], &dtype, &rank, shape));
  EXPECT_EQ(dtype.code, kDLInt);
  free_both();
  outputs[1] = nullptr;
  expect(mote_dynamic_run(g, pool, inputs, 1, nullptr, outputs, 1));
  EXPECT_EQ(values_of(outputs[0]), Reals(4, 3));
  EXPECT_EQ(outputs[1], nullptr);
  free_both();
}

TEST_P(DynamicC, ViewsShareTheirVariable) {
  VariableHandle zeros, row, part, across, flat, wide;
  const std::int64_t shape[] = {2, 3}, all[] = {6}, more[] = {4, 3};
  const std::int32_t order[] = {1, 0};
  zeros.set([&](mote_variable** v) { return mote_dynamic_zeros(g, kReal, 2, shape, v); });
  row.set([&](mote_variable** v) { return mote_variable_select(zeros, 0, 1, v); });
  part.set([&](mote_variable** v) { return mote_variable_slice(row, 0, 0, 2, 2, v); });
  across.set([&](mote_variable** v) { return mote_variable_permute(zeros, 2, order, v); });
  flat.set([&](mote_variable** v) { return mote_variable_reshape(zeros, 1, all, v); });
  wide.set([&](mote_variable** v) { return mote_variable_broadcast_to(row, 2, more, v); });
  const VariableHandle seven = made_variable(g, {2}, 7);
  expect(mote_variable_assign(part, seven));
  EXPECT_EQ(values_of(zeros), (Reals{0, 0, 0, 7, 0, 7}));
  EXPECT_EQ(values_of(across), (Reals{0, 7, 0, 0, 0, 7}));
  EXPECT_EQ(values_of(flat), (Reals{0, 0, 0, 7, 0, 7}));
  EXPECT_EQ(values_of(wide), (Reals{7, 0, 7, 7, 0, 7, 7, 0, 7, 7, 0, 7}));
  std::uint64_t version = 0;
  expect(mote_variable_version(zeros, &version));
  EXPECT_EQ(version, 1U);
}

TEST_P(DynamicC, WritesAndNewTensors) {
  const VariableHandle x = made_variable(g, {2}, 3);
  const CommandHandle mul = command_of("mul");
  const mote_variable* const pair[] = {x, x};
  expect(mote_dynamic_run_to(g, x, mul, pair, 2));
  EXPECT_EQ(values_of(x), Reals(2, 9));
  expect(mote_variable_set(x, made_tensor({3}, 5)));
  EXPECT_EQ(values_of(x), Reals(3, 5));
  // Elements written through a constant's other dtype.
  VariableHandle half, back, detached;
  half.set([&](mote_variable** v) {
    return mote_dynamic_convert(g, x, {kDLFloat, 64, 1}, nullptr, v);
  });
  EXPECT_EQ(values_of(half), Reals(3, 5));
  back = gradient_of(g, half, x);
  EXPECT_EQ(values_of(back), Reals(3, 1));
  detached.set([&](mote_variable** v) { return mote_variable_detach(x, v); });
  std::int32_t is_traced = -1;
  expect(mote_variable_is_traced(detached, &is_traced));
  EXPECT_EQ(is_traced, 0);
}

TEST_P(DynamicC, GradientsOfHigherOrders) {
  const VariableHandle x = made_variable(g, {}, 2);
  mote_backward_options options = {};
  options.size = sizeof(options);
  options.is_traced = 1;
  VariableHandle y = ran(g, "mul", {ran(g, "mul", {x, x}), x});
  for (const double expected : {12.0, 12.0, 6.0}) {
    y = gradient_of(g, y, x, &options);
    EXPECT_EQ(item_of(y), expected);
  }
}

TEST_P(DynamicC, SeedsAndSums) {
  const VariableHandle x = made_variable(g, {2}, 3), z = made_variable(g, {2}, 1);
  const VariableHandle y = ran(g, "mul", {x, x}), seed = made_variable(g, {2}, 0.5);
  VariableHandle sum;
  const std::int64_t shape[] = {2};
  sum.set([&](mote_variable** v) { return mote_dynamic_zeros(g, kReal, 1, shape, v); });
  const mote_variable* const of[] = {y};
  const mote_variable* const wrt[] = {x, z};
  const mote_variable* const seeds[] = {seed};
  mote_variable* const into[] = {sum, nullptr};
  const mote_backward_options options = {sizeof(options), seeds, into, 0, 0};
  mote_variable* gradients[2] = {};
  for (int round = 0; round < 2; ++round) {
    expect(mote_dynamic_backward(g, of, 1, wrt, 2, &options, gradients));
    EXPECT_EQ(values_of(gradients[0]), Reals(2, 3.0 * (round + 1)));
    EXPECT_EQ(values_of(gradients[1]), Reals(2, 0));
    for (mote_variable* one : gradients) mote_variable_free(one);
  }
  EXPECT_EQ(values_of(sum), Reals(2, 6));
}

TEST_P(DynamicC, ScopesWithoutGradients) {
  const VariableHandle x = made_variable(g, {}, 3);
  const std::size_t before = statistics_of(g).steps;
  expect(mote_no_gradient_begin());
  expect(mote_no_gradient_begin());
  expect(mote_no_gradient_end());
  const VariableHandle y = ran(g, "mul", {x, x});
  EXPECT_EQ(item_of(y), 9);
  EXPECT_EQ(statistics_of(g).steps, before);
  expect(mote_no_gradient_end());
  const VariableHandle z = ran(g, "mul", {x, y});
  std::int32_t has_effect = -1;
  expect(mote_dynamic_has_effect(g, x, z, &has_effect));
  EXPECT_EQ(has_effect, 1);
  expect(mote_dynamic_has_effect(g, x, y, &has_effect));
  EXPECT_EQ(has_effect, 0);
  EXPECT_EQ(item_of(gradient_of(g, z, x)), 9);
  EXPECT_EQ(mote_no_gradient_end(), MOTE_INVALID);
  EXPECT_NE(std::strstr(mote_last_error(), "no scope without gradients has begun"), nullptr);
}

TEST_P(DynamicC, ASymbolicGraphIsOneStep) {
  const SymbolicHandle mlp = parsed();
  const mote_symbol z = named(mlp, "z");
  StaticFunctionHandle whole, part;
  whole.set(
      [&](mote_static_function** f) { return mote_static_function_create(mlp, nullptr, 0, f); });
  part.set([&](mote_static_function** f) { return mote_static_function_create(mlp, &z, 1, f); });
  // Other rows than those of the graph.
  const VariableHandle x = made_variable(g, {5, 3}, 0.25), w1 = made_variable(g, {3, 8}, 0.5),
                       w2 = made_variable(g, {8, 2}, 2);
  const Given inputs = {x, w1, w2};
  VariableHandle sums, rows;
  sums.set(
      [&](mote_variable** v) { return mote_dynamic_run_static(g, whole, inputs.data(), 3, v, 1); });
  rows.set(
      [&](mote_variable** v) { return mote_dynamic_run_static(g, part, inputs.data(), 3, v, 1); });
  const VariableHandle h = ran(g, "tanh", {ran(g, "matmul", {x, w1})});
  const VariableHandle by_commands = ran(g, "matmul", {h, w2});
  EXPECT_EQ(values_of(rows), values_of(by_commands));
  EXPECT_EQ(values_of(sums), values_of(ran(g, "sum axis=0", {by_commands})));
  EXPECT_EQ(values_of(gradient_of(g, rows, w1)), values_of(gradient_of(g, by_commands, w1)));
}

TEST_P(DynamicC, StatisticsFillWhatTheCallerKnows) {
  const VariableHandle x = made_variable(g, {4}, 3);
  const VariableHandle y = ran(g, "mul", {x, x});
  expect(mote_dynamic_finish(g));
  const mote_dynamic_statistics all = statistics_of(g);
  EXPECT_EQ(all.variables, 2U);
  EXPECT_EQ(all.values, 2U);
  EXPECT_EQ(all.steps, 1U);
  EXPECT_EQ(all.pending_steps, 0U);
  EXPECT_EQ(all.variable_bytes, 32U);
  mote_dynamic_statistics old;
  std::memset(&old, 0x77, sizeof(old));
  old.size = offsetof(mote_dynamic_statistics, steps);
  expect(mote_dynamic_get_statistics(g, &old));
  EXPECT_EQ(old.values, 2U);
  EXPECT_EQ(old.steps % 256, 0x77U);
  values_of(gradient_of(g, y, x));
  EXPECT_GT(statistics_of(g).compiled_graphs, 0U);
  expect(mote_dynamic_trim(g));
  EXPECT_EQ(statistics_of(g).compiled_graphs, 0U);
  EXPECT_EQ(values_of(y), Reals(4, 9));
}

TEST_P(DynamicC, SaysWhyMemoryIsKept) {
  const mote_kept_memory* memory = nullptr;
  std::size_t count = 77;
  expect(mote_dynamic_get_memory(g, &memory, &count));
  EXPECT_EQ(count, 0U);
  EXPECT_EQ(memory, nullptr);
  VariableHandle x = made_variable(g, {4}, 3);
  VariableHandle y = ran(g, "tanh", {x});
  const VariableHandle z = ran(g, "neg", {y});
  expect(mote_dynamic_finish(g));
  y.reset();
  expect(mote_dynamic_get_memory(g, &memory, &count));
  ASSERT_EQ(count, 3U);
  const auto is = [&](std::size_t k, const char* reason) {
    EXPECT_STREQ(memory[k].form, "f32[4]");
    EXPECT_EQ(memory[k].bytes, 16U);
    EXPECT_STREQ(memory[k].reason, reason);
  };
  is(0, "a variable has it");
  is(1, "the gradient of tanh reads it");
  is(2, "a variable has it");
  EXPECT_EQ(statistics_of(g).forgotten, 0U);
  x.reset();  // no gradient with respect to it can be asked for
  expect(mote_dynamic_get_memory(g, &memory, &count));
  EXPECT_EQ(count, 1U);
  EXPECT_EQ(statistics_of(g).forgotten, 2U);
}

TEST_P(DynamicC, VariablesOutliveTheGraphsHandle) {
  const VariableHandle x = made_variable(g, {2}, 3);
  const VariableHandle y = ran(g, "neg", {x});
  g.reset();
  EXPECT_EQ(values_of(y), Reals(2, -3));
}

TEST_P(DynamicC, HandlesOfTheSame) {
  DynamicHandle same_graph;
  VariableHandle same;
  VariableHandle x = made_variable(g, {2}, 3);
  same_graph.set([&](mote_dynamic** d) { return mote_dynamic_share(g, d); });
  same.set([&](mote_variable** v) { return mote_variable_share(x, v); });
  expect(mote_variable_set(x, made_tensor({2}, 5)));
  EXPECT_EQ(values_of(ran(same_graph, "neg", {same})), Reals(2, -5));
  x.reset();
  EXPECT_EQ(statistics_of(g).variables, 1U);
  EXPECT_EQ(values_of(same), Reals(2, 5));
}

TEST(DynamicOptionsC, InPlaceKeepsTheAddress) {
  const ContextHandle context = made_context();
  const DynamicHandle g = made_dynamic(context);
  VariableHandle x;
  TensorHandle memory = made_tensor({2}, 3);
  x.set([&](mote_variable** v) { return mote_dynamic_constant(g, memory, v); });
  const CommandHandle neg = command_of("neg");
  expect(mote_dynamic_run_in_place(g, x, neg, nullptr, 0));
  EXPECT_EQ(elements(memory), Reals(2, -3));
  const VariableHandle w = made_variable(g, {2}, 3), y = ran(g, "mul", {w, w});
  EXPECT_EQ(mote_dynamic_run_in_place(g, w, neg, nullptr, 0), MOTE_INVALID);
  EXPECT_NE(std::strstr(mote_last_error(), "the gradient of mul reads it"), nullptr)
      << mote_last_error();
}

/// Memory that came as DLPack is the program's: only mote_dynamic_run_in_place() writes over it.
struct ProgramsMemory {
  ProgramsMemory() {
    managed.dl_tensor = {memory, {kDLCPU, 0}, 1, kReal, shape, nullptr, 0};
    managed.manager_ctx = &is_deleted;
    managed.deleter = [](DLManagedTensor* self) { *static_cast<bool*>(self->manager_ctx) = true; };
  }
  VariableHandle constant(mote_dynamic* graph) {
    TensorHandle tensor;
    tensor.set([&](mote_tensor** t) { return mote_tensor_from_dlpack(&managed, t); });
    VariableHandle variable;
    variable.set([&](mote_variable** v) { return mote_dynamic_constant(graph, tensor, v); });
    return variable;
  }
  float memory[2] = {1, 2};
  std::int64_t shape[1] = {2};
  bool is_deleted = false;
  DLManagedTensor managed = {};
};

TEST(DynamicOptionsC, ImportedMemoryIsNotWrittenOver) {
  const ContextHandle context = made_context();
  const DynamicHandle g = made_dynamic(context);
  ProgramsMemory array;
  VariableHandle x = array.constant(g);
  const CommandHandle neg = command_of("neg");
  const mote_variable* const inputs[] = {x};
  expect(mote_dynamic_run_to(g, x, neg, inputs, 1));
  EXPECT_EQ(values_of(x), (Reals{-1, -2}));
  EXPECT_EQ((Reals{array.memory[0], array.memory[1]}), (Reals{1, 2}));
  EXPECT_TRUE(array.is_deleted);
}

TEST(DynamicOptionsC, ImportedMemoryIsNotWrittenOverThroughViews) {
  const ContextHandle context = made_context();
  const DynamicHandle g = made_dynamic(context);
  ProgramsMemory array;
  VariableHandle x = array.constant(g), first, nine;
  first.set([&](mote_variable** v) { return mote_variable_slice(x, 0, 0, 1, 1, v); });
  nine.set([&](mote_variable** v) { return mote_variable_detach(made_variable(g, {1}, 9), v); });
  expect(mote_variable_assign(first, nine));
  EXPECT_EQ(values_of(x), (Reals{9, 2}));
  EXPECT_EQ((Reals{array.memory[0], array.memory[1]}), (Reals{1, 2}));
  EXPECT_TRUE(array.is_deleted);
}

TEST(DynamicOptionsC, EqualCommandsAreKeptAndOldValuesDropped) {
  const ContextHandle context = made_context();
  mote_dynamic_options options = {};
  options.size = sizeof(options);
  options.memo_bytes = 1 << 20;
  DynamicHandle g;
  g.set([&](mote_dynamic** d) { return mote_dynamic_create(context, &options, d); });
  const VariableHandle x = made_variable(g, {2}, 3);
  const VariableHandle y = ran(g, "neg", {x}), again = ran(g, "neg", {x});
  EXPECT_EQ(statistics_of(g).memo_hits, 1U);
  options.memo_bytes = 0;
  options.saved_bytes = 4096;
  g.set([&](mote_dynamic** d) { return mote_dynamic_create(context, &options, d); });
  const VariableHandle first = made_variable(g, {512}, 0.5);
  VariableHandle h = ran(g, "tanh", {first});
  for (int k = 0; k < 8; ++k) h = ran(g, "tanh", {h});
  values_of(gradient_of(g, h, first));
  EXPECT_GT(statistics_of(g).computed_again, 0U);
}

/// A caller whose struct ends before the later fields is served; these are 0.
TEST(DynamicOptionsC, AnOlderStructOfOptionsIsTaken) {
  const ContextHandle context = made_context();
  mote_dynamic_options options;
  std::memset(&options, 0xFF, sizeof(options));
  options.size = offsetof(mote_dynamic_options, memo_bytes);
  options.deferred = 0;
  options.pending_bytes = 0;
  DynamicHandle g;
  g.set([&](mote_dynamic** d) { return mote_dynamic_create(context, &options, d); });
  const VariableHandle x = made_variable(g, {2}, 3);
  const VariableHandle y = ran(g, "neg", {x}), again = ran(g, "neg", {x});
  EXPECT_EQ(statistics_of(g).memo_hits, 0U);  // nothing is kept for equal commands
}

}  // namespace
