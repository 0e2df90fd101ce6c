// SPDX-License-Identifier: Apache-2.0
// Tests that functions of mote/mote_dynamic.h refuse null pointers, variables of another graph, and
// counts, forms and options that mean nothing, with an error in words, and leave their results as
// they were.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "graphs/c_api/c_dynamic.h"
#include "graphs/c_api/c_misuse.h"

namespace {

using namespace mote::test;  // NOLINT(google-build-using-namespace)

mote_status no_work(void*, const mote_tensor* const*, std::size_t, mote_tensor* const*,
                    std::size_t) {
  return MOTE_OK;
}
mote_status no_gradient(void*, mote_dynamic*, const mote_variable* const*, std::size_t,
                        const mote_variable* const*, const mote_variable* const*, std::size_t,
                        mote_variable**) {
  return MOTE_OK;
}
mote_status no_variables(void*, mote_dynamic*, const mote_variable* const*, std::size_t,
                         mote_variable**, std::size_t) {
  return MOTE_OK;
}

class MisuseOfDynamicC : public testing::Test {
 protected:
  MisuseOfDynamicC() {
    function.set([](mote_graph_function** f) {
      return mote_graph_function_create("nothing", no_work, nullptr, nullptr, nullptr, f);
    });
    fixed.set([&](mote_static_function** f) {
      return mote_static_function_create(graph, nullptr, 0, f);
    });
    constant.set([&](mote_variable** v) { return mote_dynamic_constant(d, tensor, v); });
  }

  ContextHandle context = made_context();
  DynamicHandle g = made_dynamic(context), other = made_dynamic(context);
  mote_dynamic* const d = g;
  mote_dynamic* const none = nullptr;
  VariableHandle x = made_variable(g, {4, 3}, 1), w = made_variable(g, {3, 2}, 2),
                 foreign = made_variable(other, {4, 3}, 1), constant;
  TensorHandle tensor = made_tensor({4, 3}, 1);
  SymbolicHandle graph = parsed();
  StaticFunctionHandle fixed;
  FunctionHandle function;
  CommandHandle neg = command_of("neg"), mul = command_of("mul");
  const mote_variable* const one[1] = {x};
  const mote_variable* const missing[1] = {nullptr};
  const std::int64_t shape[2] = {4, 3};
  const std::int32_t order[2] = {1, 0};
  const mote_form form = {kReal, 2, shape};
  mote_variable* out = nullptr;
};

TEST_F(MisuseOfDynamicC, NullPointers) {
  DLDataType dtype = {9, 9, 9};
  std::int32_t number = 77;
  std::int64_t extents[MOTE_MAX_AXES] = {};
  std::uint64_t version = 77;
  double item = 77;
  mote_tensor* value = nullptr;
  mote_dynamic* made = nullptr;
  mote_static_function* made_static = nullptr;
  mote_graph_function* made_function = nullptr;
  mote_variable* const no_variable = nullptr;
  const mote_symbol s = named(graph, "x");
  mote_dynamic_statistics statistics = {};
  const mote_kept_memory* memory = nullptr;
  std::size_t count = 77;
  expect_invalid({
      {"create", [&] { return mote_dynamic_create(nullptr, nullptr, &made); }},
      {"create: to", [&] { return mote_dynamic_create(context, nullptr, nullptr); }},
      {"variable", [&] { return mote_dynamic_variable(none, tensor, &out); }},
      {"variable: value", [&] { return mote_dynamic_variable(d, nullptr, &out); }},
      {"variable: to", [&] { return mote_dynamic_variable(d, tensor, nullptr); }},
      {"constant", [&] { return mote_dynamic_constant(none, tensor, &out); }},
      {"constant: value", [&] { return mote_dynamic_constant(d, nullptr, &out); }},
      {"constant: to", [&] { return mote_dynamic_constant(d, tensor, nullptr); }},
      {"scalar", [&] { return mote_dynamic_scalar(none, kReal, 1, &out); }},
      {"scalar: to", [&] { return mote_dynamic_scalar(d, kReal, 1, nullptr); }},
      {"scalar_like", [&] { return mote_dynamic_scalar_like(none, x, 1, &out); }},
      {"scalar_like: like", [&] { return mote_dynamic_scalar_like(d, nullptr, 1, &out); }},
      {"scalar_like: to", [&] { return mote_dynamic_scalar_like(d, x, 1, nullptr); }},
      {"zeros", [&] { return mote_dynamic_zeros(none, kReal, 2, shape, &out); }},
      {"zeros: shape", [&] { return mote_dynamic_zeros(d, kReal, 2, nullptr, &out); }},
      {"zeros: to", [&] { return mote_dynamic_zeros(d, kReal, 2, shape, nullptr); }},
      {"form", [&] { return mote_variable_form(nullptr, &dtype, &number, extents); }},
      {"form: dtype", [&] { return mote_variable_form(x, nullptr, &number, extents); }},
      {"form: rank", [&] { return mote_variable_form(x, &dtype, nullptr, extents); }},
      {"form: shape", [&] { return mote_variable_form(x, &dtype, &number, nullptr); }},
      {"value", [&] { return mote_variable_value(nullptr, &value); }},
      {"value: to", [&] { return mote_variable_value(x, nullptr); }},
      {"item", [&] { return mote_variable_item(nullptr, &item); }},
      {"item: to", [&] { return mote_variable_item(x, nullptr); }},
      {"version", [&] { return mote_variable_version(nullptr, &version); }},
      {"version: to", [&] { return mote_variable_version(x, nullptr); }},
      {"is_traced", [&] { return mote_variable_is_traced(nullptr, &number); }},
      {"is_traced: to", [&] { return mote_variable_is_traced(x, nullptr); }},
      {"is_pending", [&] { return mote_variable_is_pending(nullptr, &number); }},
      {"is_pending: to", [&] { return mote_variable_is_pending(x, nullptr); }},
      {"share", [&] { return mote_variable_share(nullptr, &out); }},
      {"share: to", [&] { return mote_variable_share(x, nullptr); }},
      {"share a graph", [&] { return mote_dynamic_share(none, &made); }},
      {"share a graph: to", [&] { return mote_dynamic_share(d, nullptr); }},
      {"detach", [&] { return mote_variable_detach(nullptr, &out); }},
      {"detach: to", [&] { return mote_variable_detach(x, nullptr); }},
      {"slice", [&] { return mote_variable_slice(nullptr, 0, 0, 1, 1, &out); }},
      {"slice: to", [&] { return mote_variable_slice(x, 0, 0, 1, 1, nullptr); }},
      {"select", [&] { return mote_variable_select(nullptr, 0, 0, &out); }},
      {"select: to", [&] { return mote_variable_select(x, 0, 0, nullptr); }},
      {"permute", [&] { return mote_variable_permute(nullptr, 2, order, &out); }},
      {"permute: order", [&] { return mote_variable_permute(x, 2, nullptr, &out); }},
      {"permute: to", [&] { return mote_variable_permute(x, 2, order, nullptr); }},
      {"broadcast", [&] { return mote_variable_broadcast_to(nullptr, 2, shape, &out); }},
      {"broadcast: shape", [&] { return mote_variable_broadcast_to(x, 2, nullptr, &out); }},
      {"broadcast: to", [&] { return mote_variable_broadcast_to(x, 2, shape, nullptr); }},
      {"reshape", [&] { return mote_variable_reshape(nullptr, 2, shape, &out); }},
      {"reshape: shape", [&] { return mote_variable_reshape(x, 2, nullptr, &out); }},
      {"reshape: to", [&] { return mote_variable_reshape(x, 2, shape, nullptr); }},
      {"assign", [&] { return mote_variable_assign(no_variable, x); }},
      {"assign: value", [&] { return mote_variable_assign(x, nullptr); }},
      {"set", [&] { return mote_variable_set(no_variable, tensor); }},
      {"set: value", [&] { return mote_variable_set(x, nullptr); }},
      {"static", [&] { return mote_static_function_create(nullptr, &s, 1, &made_static); }},
      {"static: outputs",
       [&] { return mote_static_function_create(graph, nullptr, 1, &made_static); }},
      {"static: to", [&] { return mote_static_function_create(graph, &s, 1, nullptr); }},
      {"function: name",
       [&] {
         return mote_graph_function_create(nullptr, no_work, nullptr, nullptr, nullptr,
                                           &made_function);
       }},
      {"function: work",
       [&] {
         return mote_graph_function_create("f", nullptr, nullptr, nullptr, nullptr, &made_function);
       }},
      {"function: to",
       [&] {
         return mote_graph_function_create("f", no_work, nullptr, nullptr, nullptr, nullptr);
       }},
      {"traced function: context",
       [&] {
         return mote_graph_function_create_traced(nullptr, "f", no_work, no_gradient, nullptr,
                                                  nullptr, &made_function);
       }},
      {"traced function: gradient",
       [&] {
         return mote_graph_function_create_traced(context, "f", no_work, nullptr, nullptr, nullptr,
                                                  &made_function);
       }},
      {"traced function: to",
       [&] {
         return mote_graph_function_create_traced(context, "f", no_work, no_gradient, nullptr,
                                                  nullptr, nullptr);
       }},
      {"finish", [&] { return mote_dynamic_finish(none); }},
      {"statistics", [&] { return mote_dynamic_get_statistics(none, &statistics); }},
      {"statistics: to", [&] { return mote_dynamic_get_statistics(d, nullptr); }},
      {"statistics: size", [&] { return mote_dynamic_get_statistics(d, &statistics); }},
      {"memory", [&] { return mote_dynamic_get_memory(none, &memory, &count); }},
      {"memory: to", [&] { return mote_dynamic_get_memory(d, nullptr, &count); }},
      {"memory: count", [&] { return mote_dynamic_get_memory(d, &memory, nullptr); }},
      {"trim", [&] { return mote_dynamic_trim(none); }},
  });
  EXPECT_EQ(memory, nullptr);
  EXPECT_EQ(count, 77U);
  EXPECT_EQ(out, nullptr);
  EXPECT_EQ(value, nullptr);
  EXPECT_EQ(made, nullptr);
  EXPECT_EQ(made_static, nullptr);
  EXPECT_EQ(made_function, nullptr);
  EXPECT_EQ(dtype.code, 9);
  EXPECT_EQ(number, 77);
  EXPECT_EQ(version, 77U);
  EXPECT_EQ(item, 77);
}

TEST_F(MisuseOfDynamicC, NullPointersOfRuns) {
  const mote_symbol s = named(graph, "x"), z = named(graph, "z");
  mote_symbolic* const to = graph;
  std::int32_t effect = 77;
  expect_invalid({
      {"run", [&] { return mote_dynamic_run(none, neg, one, 1, nullptr, &out, 1); }},
      {"run: command", [&] { return mote_dynamic_run(d, nullptr, one, 1, nullptr, &out, 1); }},
      {"run: inputs", [&] { return mote_dynamic_run(d, neg, nullptr, 1, nullptr, &out, 1); }},
      {"run: an input", [&] { return mote_dynamic_run(d, neg, missing, 1, nullptr, &out, 1); }},
      {"run: outputs", [&] { return mote_dynamic_run(d, neg, one, 1, nullptr, nullptr, 1); }},
      {"run_to", [&] { return mote_dynamic_run_to(none, x, neg, one, 1); }},
      {"run_to: output", [&] { return mote_dynamic_run_to(d, nullptr, neg, one, 1); }},
      {"run_to: command", [&] { return mote_dynamic_run_to(d, x, nullptr, one, 1); }},
      {"run_to: inputs", [&] { return mote_dynamic_run_to(d, x, neg, nullptr, 1); }},
      {"run_to: an input", [&] { return mote_dynamic_run_to(d, x, neg, missing, 1); }},
      {"in_place", [&] { return mote_dynamic_run_in_place(none, x, neg, nullptr, 0); }},
      {"in_place: x", [&] { return mote_dynamic_run_in_place(d, nullptr, neg, nullptr, 0); }},
      {"in_place: command", [&] { return mote_dynamic_run_in_place(d, x, nullptr, nullptr, 0); }},
      {"in_place: others", [&] { return mote_dynamic_run_in_place(d, x, mul, nullptr, 1); }},
      {"convert", [&] { return mote_dynamic_convert(none, x, kReal, nullptr, &out); }},
      {"convert: x", [&] { return mote_dynamic_convert(d, nullptr, kReal, nullptr, &out); }},
      {"convert: to", [&] { return mote_dynamic_convert(d, x, kReal, nullptr, nullptr); }},
      {"run_static", [&] { return mote_dynamic_run_static(none, fixed, one, 1, &out, 1); }},
      {"run_static: function",
       [&] { return mote_dynamic_run_static(d, nullptr, one, 1, &out, 1); }},
      {"run_static: inputs",
       [&] { return mote_dynamic_run_static(d, fixed, nullptr, 3, &out, 1); }},
      {"run_static: outputs",
       [&] { return mote_dynamic_run_static(d, fixed, one, 1, nullptr, 1); }},
      {"call", [&] { return mote_dynamic_call(none, function, one, 1, &form, &out, 1); }},
      {"call: function", [&] { return mote_dynamic_call(d, nullptr, one, 1, &form, &out, 1); }},
      {"call: inputs", [&] { return mote_dynamic_call(d, function, nullptr, 1, &form, &out, 1); }},
      {"call: an input",
       [&] { return mote_dynamic_call(d, function, missing, 1, &form, &out, 1); }},
      {"call: forms", [&] { return mote_dynamic_call(d, function, one, 1, nullptr, &out, 1); }},
      {"call: outputs", [&] { return mote_dynamic_call(d, function, one, 1, &form, nullptr, 1); }},
      {"node", [&] { return mote_symbolic_call_function(nullptr, function, &s, 1, &z, 1); }},
      {"node: function", [&] { return mote_symbolic_call_function(to, nullptr, &s, 1, &z, 1); }},
      {"node: inputs",
       [&] { return mote_symbolic_call_function(to, function, nullptr, 1, &z, 1); }},
      {"node: outputs",
       [&] { return mote_symbolic_call_function(to, function, &s, 1, nullptr, 1); }},
      {"dynamic node",
       [&] {
         return mote_symbolic_call_dynamic(nullptr, context, "n", no_variables, nullptr, nullptr,
                                           &s, 1, &z, 1);
       }},
      {"dynamic node: context",
       [&] {
         return mote_symbolic_call_dynamic(to, nullptr, "n", no_variables, nullptr, nullptr, &s, 1,
                                           &z, 1);
       }},
      {"dynamic node: name",
       [&] {
         return mote_symbolic_call_dynamic(to, context, nullptr, no_variables, nullptr, nullptr, &s,
                                           1, &z, 1);
       }},
      {"dynamic node: work",
       [&] {
         return mote_symbolic_call_dynamic(to, context, "n", nullptr, nullptr, nullptr, &s, 1, &z,
                                           1);
       }},
      {"backward", [&] { return mote_dynamic_backward(none, one, 1, one, 1, nullptr, &out); }},
      {"backward: of", [&] { return mote_dynamic_backward(d, nullptr, 1, one, 1, nullptr, &out); }},
      {"backward: one of",
       [&] { return mote_dynamic_backward(d, missing, 1, one, 1, nullptr, &out); }},
      {"backward: wrt",
       [&] { return mote_dynamic_backward(d, one, 1, nullptr, 1, nullptr, &out); }},
      {"backward: one of wrt",
       [&] { return mote_dynamic_backward(d, one, 1, missing, 1, nullptr, &out); }},
      {"backward: to", [&] { return mote_dynamic_backward(d, one, 1, one, 1, nullptr, nullptr); }},
      {"checkpoint",
       [&] { return mote_dynamic_checkpoint(none, no_variables, nullptr, one, 1, &out, 1); }},
      {"checkpoint: work",
       [&] { return mote_dynamic_checkpoint(d, nullptr, nullptr, one, 1, &out, 1); }},
      {"checkpoint: inputs",
       [&] { return mote_dynamic_checkpoint(d, no_variables, nullptr, nullptr, 1, &out, 1); }},
      {"checkpoint: outputs",
       [&] { return mote_dynamic_checkpoint(d, no_variables, nullptr, one, 1, nullptr, 1); }},
      {"has_effect", [&] { return mote_dynamic_has_effect(none, x, x, &effect); }},
      {"has_effect: x", [&] { return mote_dynamic_has_effect(d, nullptr, x, &effect); }},
      {"has_effect: y", [&] { return mote_dynamic_has_effect(d, x, nullptr, &effect); }},
      {"has_effect: to", [&] { return mote_dynamic_has_effect(d, x, x, nullptr); }},
  });
  EXPECT_EQ(out, nullptr);
  EXPECT_EQ(effect, 77);
  EXPECT_EQ(values_of(x), std::vector<double>(12, 1));
}

TEST_F(MisuseOfDynamicC, VariablesOfAnotherGraph) {
  const mote_variable* const strange[] = {foreign};
  const mote_variable* const both[] = {x, foreign};
  std::int32_t effect = 77;
  mote_variable* const into[] = {foreign};
  const mote_backward_options seeded = {sizeof(seeded), strange, nullptr, 0, 0};
  const mote_backward_options summed = {sizeof(summed), nullptr, into, 0, 0};
  expect_invalid({
      {"run", [&] { return mote_dynamic_run(d, mul, both, 2, nullptr, &out, 1); }},
      {"run_to: to", [&] { return mote_dynamic_run_to(d, foreign, neg, one, 1); }},
      {"run_to: from", [&] { return mote_dynamic_run_to(d, x, neg, strange, 1); }},
      {"in_place", [&] { return mote_dynamic_run_in_place(d, foreign, neg, nullptr, 0); }},
      {"in_place: others", [&] { return mote_dynamic_run_in_place(d, x, mul, strange, 1); }},
      {"scalar_like", [&] { return mote_dynamic_scalar_like(d, foreign, 1, &out); }},
      {"convert", [&] { return mote_dynamic_convert(d, foreign, kReal, nullptr, &out); }},
      {"assign", [&] { return mote_variable_assign(x, foreign); }},
      {"call", [&] { return mote_dynamic_call(d, function, strange, 1, &form, &out, 1); }},
      {"of", [&] { return mote_dynamic_backward(d, strange, 1, one, 1, nullptr, &out); }},
      {"wrt", [&] { return mote_dynamic_backward(d, one, 1, strange, 1, nullptr, &out); }},
      {"seeds", [&] { return mote_dynamic_backward(d, one, 1, one, 1, &seeded, &out); }},
      {"into", [&] { return mote_dynamic_backward(d, one, 1, one, 1, &summed, &out); }},
      {"has_effect", [&] { return mote_dynamic_has_effect(d, foreign, x, &effect); }},
      {"has_effect: y", [&] { return mote_dynamic_has_effect(d, x, foreign, &effect); }},
  });
  EXPECT_NE(std::strstr(mote_last_error(), "belongs to another dynamic graph"), nullptr)
      << mote_last_error();
  EXPECT_EQ(out, nullptr);
  EXPECT_EQ(effect, 77);
}

TEST_F(MisuseOfDynamicC, CountsFormsAndOptions) {
  const mote_variable* const three[] = {x, x, x};
  const mote_variable* const small[] = {w};
  const mote_variable* const fixed_value[] = {constant};
  const std::int32_t twice[] = {0, 0};
  const std::int64_t negative[] = {4, -3};
  const mote_form bad_form = {{kDLFloat, 7, 1}, 2, shape}, bad_rank = {kReal, 13, shape};
  const mote_dynamic_options no_size = {};
  mote_backward_options short_options = {};
  const mote_backward_options seeds = {sizeof(seeds), small, nullptr, 0, 0};
  TensorHandle integers;
  integers.set([](mote_tensor** t) {
    return mote_tensor_create(DLDataType{kDLInt, 64, 1}, 0, nullptr, t);
  });
  VariableHandle view, wide;
  const std::int64_t more[] = {2, 4, 3};
  view.set([&](mote_variable** v) { return mote_variable_select(x, 0, 0, v); });
  wide.set([&](mote_variable** v) { return mote_variable_broadcast_to(x, 3, more, v); });
  const VariableHandle cube = made_variable(g, {2, 4, 3}, 1);
  mote_variable* outs[3] = {};
  mote_dynamic* made = nullptr;
  double item = 77;
  const SymbolicHandle empty = parsed("graph e(x f32[2]) -> ()\n");
  const mote_symbol strange = named(parsed(), "x"), unwritten = MOTE_NO_SYMBOL;
  mote_static_function* no_function = nullptr;
  expect_invalid({
      {"options", [&] { return mote_dynamic_create(context, &no_size, &made); }},
      {"integers", [&] { return mote_dynamic_variable(d, integers, &out); }},
      {"dtype",
       [&] {
         return mote_dynamic_scalar(d, {kDLFloat, 7, 1}, 1, &out);
       }},
      {"rank", [&] { return mote_dynamic_zeros(d, kReal, 13, shape, &out); }},
      {"extent", [&] { return mote_dynamic_zeros(d, kReal, 2, negative, &out); }},
      {"item of many", [&] { return mote_variable_item(x, &item); }},
      {"slice: axis", [&] { return mote_variable_slice(x, 5, 0, 1, 1, &out); }},
      {"slice: count", [&] { return mote_variable_slice(x, 0, 0, 9, 1, &out); }},
      {"select: index", [&] { return mote_variable_select(x, 0, INT64_MAX, &out); }},
      {"permute", [&] { return mote_variable_permute(x, 2, twice, &out); }},
      {"broadcast", [&] { return mote_variable_broadcast_to(w, 2, shape, &out); }},
      {"reshape", [&] { return mote_variable_reshape(w, 2, shape, &out); }},
      {"assign another form", [&] { return mote_variable_assign(x, w); }},
      {"assign to repeated elements", [&] { return mote_variable_assign(wide, cube); }},
      {"set a view", [&] { return mote_variable_set(view, tensor); }},
      {"set integers", [&] { return mote_variable_set(x, integers); }},
      {"inputs", [&] { return mote_dynamic_run(d, neg, three, 3, nullptr, outs, 1); }},
      {"outputs", [&] { return mote_dynamic_run(d, neg, one, 1, nullptr, outs, 3); }},
      {"too few inputs", [&] { return mote_dynamic_run(d, mul, one, 1, nullptr, outs, 1); }},
      {"run_to: inputs", [&] { return mote_dynamic_run_to(d, x, neg, three, 3); }},
      {"run_to: another form", [&] { return mote_dynamic_run_to(d, x, neg, small, 1); }},
      {"in_place: inputs", [&] { return mote_dynamic_run_in_place(d, x, neg, three, 3); }},
      {"convert: dtype",
       [&] {
         return mote_dynamic_convert(d, x, {kDLFloat, 7, 1}, nullptr, &out);
       }},
      {"static: no outputs",
       [&] { return mote_static_function_create(empty, nullptr, 0, &no_function); }},
      {"static: symbols",
       [&] { return mote_static_function_create(graph, &strange, 1, &no_function); }},
      {"static: no symbol",
       [&] { return mote_static_function_create(graph, &unwritten, 1, &no_function); }},
      {"run_static: inputs", [&] { return mote_dynamic_run_static(d, fixed, one, 1, &out, 1); }},
      {"run_static: outputs", [&] { return mote_dynamic_run_static(d, fixed, three, 3, outs, 2); }},
      {"run_static: shapes", [&] { return mote_dynamic_run_static(d, fixed, three, 3, outs, 1); }},
      {"call: dtype", [&] { return mote_dynamic_call(d, function, one, 1, &bad_form, outs, 1); }},
      {"call: rank", [&] { return mote_dynamic_call(d, function, one, 1, &bad_rank, outs, 1); }},
      {"backward: a constant",
       [&] { return mote_dynamic_backward(d, one, 1, fixed_value, 1, nullptr, outs); }},
      {"backward: size",
       [&] { return mote_dynamic_backward(d, one, 1, one, 1, &short_options, outs); }},
      {"backward: seeds", [&] { return mote_dynamic_backward(d, one, 1, one, 1, &seeds, outs); }},
      {"end of no scope", [] { return mote_no_gradient_end(); }},
  });
  EXPECT_EQ(out, nullptr);
  for (const mote_variable* one_out : outs) EXPECT_EQ(one_out, nullptr);
  EXPECT_EQ(made, nullptr);
  EXPECT_EQ(no_function, nullptr);
  EXPECT_EQ(item, 77);
  const std::vector<const mote_variable*> many(65, x.operator mote_variable*());
  EXPECT_EQ(mote_dynamic_call(d, function, many.data(), many.size(), &form, &out, 1),
            MOTE_UNSUPPORTED);
  EXPECT_NE(std::strstr(mote_last_error(), "nothing: a function has at most 64 inputs, got 65"),
            nullptr)
      << mote_last_error();
  EXPECT_EQ(mote_dynamic_convert(d, x, kReal, "no device", &out), MOTE_UNSUPPORTED);
}

/// Code that leaves an output out, or makes one of another graph, is an error of the call.
TEST_F(MisuseOfDynamicC, WhatACheckpointReturns) {
  const auto strange = [](void* argument, mote_dynamic*, const mote_variable* const*, std::size_t,
                          mote_variable** outputs, std::size_t) {
    return mote_dynamic_scalar(static_cast<mote_dynamic*>(argument), kReal, 1, outputs);
  };
  EXPECT_EQ(mote_dynamic_checkpoint(d, strange, other, one, 1, &out, 1), MOTE_INVALID);
  EXPECT_NE(std::strstr(mote_last_error(), "belongs to another dynamic graph"), nullptr)
      << mote_last_error();
  EXPECT_EQ(mote_dynamic_checkpoint(d, no_variables, nullptr, one, 1, &out, 1), MOTE_OK);
  EXPECT_EQ(out, nullptr);  // the output is left out
}

}  // namespace
