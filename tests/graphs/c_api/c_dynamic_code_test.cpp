// SPDX-License-Identifier: Apache-2.0
// Tests code of C in dynamic graphs (mote/mote_dynamic.h): functions with a gradient, checkpoints,
// a dynamic graph as a node of a symbolic one, and what is left of their errors.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

#include "graphs/c_api/c_dynamic.h"

namespace {

using namespace mote::test;  // NOLINT(google-build-using-namespace)
using Reals = std::vector<double>;

/// The argument of the functions below.
struct Calls {
  int forward = 0, backward = 0, released = 0;
  mote_status status = MOTE_OK;
};

void release_calls(void* calls) { ++static_cast<Calls*>(calls)->released; }

/// Returns element k of an f32[3]: the tensors that code is given may have any strides.
float& at(const mote_tensor* tensor, int k) {
  return static_cast<float*>(tensor->dl.data)[k * tensor->dl.strides[0]];
}

/// y = a·b for f32[3].
mote_status multiply(void* argument, const mote_tensor* const* inputs, std::size_t input_count,
                     mote_tensor* const* outputs, std::size_t output_count) {
  auto& calls = *static_cast<Calls*>(argument);
  ++calls.forward;
  EXPECT_EQ(input_count, 2U);
  EXPECT_EQ(output_count, 1U);
  for (int k = 0; k < 3; ++k) at(outputs[0], k) = at(inputs[0], k) * at(inputs[1], k);
  return calls.status;
}

/// A gradient that is ten times too large, so that a test sees that it is asked.
mote_status ten_times(void* argument, const mote_tensor* const* inputs, std::size_t,
                      const mote_tensor* const* outputs, const mote_tensor* const* seeds,
                      std::size_t output_count, mote_tensor* const* gradients) {
  auto& calls = *static_cast<Calls*>(argument);
  ++calls.backward;
  EXPECT_EQ(output_count, 1U);
  for (int k = 0; k < 3; ++k) {
    EXPECT_EQ(at(outputs[0], k), at(inputs[0], k) * at(inputs[1], k));
    for (int n = 0; n < 2; ++n)
      if (gradients[n] != nullptr)
        at(gradients[n], k) = 10 * at(seeds[0], k) * at(inputs[1 - n], k);
  }
  return MOTE_OK;
}

FunctionHandle made_function(Calls& calls, mote_graph_function_gradient gradient = ten_times) {
  FunctionHandle function;
  function.set([&](mote_graph_function** f) {
    return mote_graph_function_create("multiply", multiply, gradient, &calls, release_calls, f);
  });
  return function;
}

constexpr std::int64_t kShape[] = {3};
constexpr mote_form kThree = {kReal, 1, kShape};

mote_status call(mote_dynamic* g, const mote_graph_function* function, const mote_variable* a,
                 const mote_variable* b, mote_variable** y) {
  const mote_variable* const inputs[] = {a, b};
  return mote_dynamic_call(g, function, inputs, 2, &kThree, y, 1);
}

class DynamicCodeC : public testing::TestWithParam<bool> {
 protected:
  VariableHandle called(const mote_variable* a, const mote_variable* b) const {
    VariableHandle y;
    y.set([&](mote_variable** v) { return call(g, function, a, b, v); });
    return y;
  }

  Calls calls;
  ContextHandle context = made_context();
  DynamicHandle g = made_dynamic(context, GetParam());
  FunctionHandle function = made_function(calls);
};
INSTANTIATE_TEST_SUITE_P(Modes, DynamicCodeC, testing::Bool(),
                         [](const auto& mode) { return mode.param ? "Deferred" : "Eager"; });

TEST_P(DynamicCodeC, AFunctionHasTheCallersGradient) {
  const VariableHandle x = made_variable(g, {3}, 2), w = made_variable(g, {3}, 5);
  const VariableHandle y = called(x, w);
  EXPECT_EQ(values_of(ran(g, "neg", {y})), Reals(3, -10));
  EXPECT_EQ(values_of(gradient_of(g, y, x)), Reals(3, 50));
  EXPECT_EQ(values_of(gradient_of(g, y, w)), Reals(3, 20));
  const VariableHandle loss = ran(g, "sum axis=0", {ran(g, "mul", {y, y})});
  EXPECT_EQ(values_of(gradient_of(g, loss, x)), Reals(3, 2 * 10 * 10 * 5));
  EXPECT_GE(calls.forward, 1);
  EXPECT_EQ(calls.backward, 3);
}

TEST_P(DynamicCodeC, TheArgumentIsReleasedWhenNothingNeedsIt) {
  {
    const VariableHandle x = made_variable(g, {3}, 2);
    const VariableHandle y = called(x, x);
    function.reset();
    EXPECT_EQ(calls.released, 0);
    EXPECT_EQ(values_of(gradient_of(g, y, x)), Reals(3, 40));
  }
  expect(mote_dynamic_trim(g));
  EXPECT_EQ(calls.released, 1);
}

TEST_P(DynamicCodeC, AFunctionsErrorIsTheCalls) {
  const VariableHandle x = made_variable(g, {3}, 2);
  calls.status = MOTE_FAILED;
  VariableHandle y;
  mote_variable* made = nullptr;
  mote_tensor* value = nullptr;
  if (GetParam()) {
    y = called(x, x);
    EXPECT_EQ(mote_variable_value(y, &value), MOTE_FAILED);
  } else {
    EXPECT_EQ(call(g, function, x, x, &made), MOTE_FAILED);
  }
  EXPECT_NE(std::strstr(mote_last_error(), "multiply: the caller's code failed"), nullptr)
      << mote_last_error();
  EXPECT_EQ(made, nullptr);
  EXPECT_EQ(value, nullptr);
  calls.status = MOTE_OK;
  EXPECT_EQ(values_of(GetParam() ? std::move(y) : called(x, x)), Reals(3, 4));
}

TEST_P(DynamicCodeC, AFunctionWithoutAGradientCannotBeDifferentiated) {
  const FunctionHandle plain = made_function(calls, nullptr);
  const VariableHandle x = made_variable(g, {3}, 2);
  VariableHandle y;
  y.set([&](mote_variable** v) { return call(g, plain, x, x, v); });
  EXPECT_EQ(values_of(y), Reals(3, 4));
  mote_variable* gradient = nullptr;
  const mote_variable* const of[] = {y};
  const mote_variable* const wrt[] = {x};
  EXPECT_EQ(mote_dynamic_backward(g, of, 1, wrt, 1, nullptr, &gradient), MOTE_UNSUPPORTED);
  EXPECT_NE(std::strstr(mote_last_error(), "multiply"), nullptr) << mote_last_error();
  EXPECT_EQ(gradient, nullptr);
}

/// The gradient of multiply() on variables: (2·dy·b, nothing), too large by 2, so that a test sees
/// that it is asked.
mote_status doubled(void* argument, mote_dynamic* graph, const mote_variable* const* inputs,
                    std::size_t input_count, const mote_variable* const* outputs,
                    const mote_variable* const* seeds, std::size_t output_count,
                    mote_variable** gradients) {
  auto& calls = *static_cast<Calls*>(argument);
  ++calls.backward;
  EXPECT_EQ(input_count, 2U);
  EXPECT_EQ(output_count, 1U);
  EXPECT_EQ(values_of(outputs[0])[0], values_of(inputs[0])[0] * values_of(inputs[1])[0]);
  if (calls.status != MOTE_OK) return calls.status;
  const VariableHandle half = ran(graph, "mul", {seeds[0], inputs[1]});
  const CommandHandle add = command_of("add");
  const mote_variable* const both[] = {half, half};
  return mote_dynamic_run(graph, add, both, 2, nullptr, &gradients[0], 1);
}

FunctionHandle made_traced_function(mote_context* context, Calls& calls) {
  FunctionHandle function;
  function.set([&](mote_graph_function** f) {
    return mote_graph_function_create_traced(context, "multiply", multiply, doubled, &calls,
                                             release_calls, f);
  });
  return function;
}

TEST_P(DynamicCodeC, ATracedGradientIsDifferentiatedAgain) {
  const FunctionHandle traced = made_traced_function(context, calls);
  const VariableHandle x = made_variable(g, {3}, 2), w = made_variable(g, {3}, 5);
  VariableHandle y;
  y.set([&](mote_variable** v) { return call(g, traced, x, w, v); });
  mote_backward_options options = {};
  options.size = sizeof(options);
  options.is_traced = 1;
  const VariableHandle first = gradient_of(g, y, x, &options);
  EXPECT_EQ(values_of(first), Reals(3, 10));
  EXPECT_EQ(values_of(gradient_of(g, y, w)), Reals(3, 0));  // which the code leaves out
  EXPECT_EQ(values_of(gradient_of(g, first, w)), Reals(3, 2));
  EXPECT_EQ(values_of(gradient_of(g, first, x)), Reals(3, 0));
  EXPECT_GE(calls.backward, 2);
}

TEST_P(DynamicCodeC, ATracedGradientsErrorIsTheCalls) {
  const FunctionHandle traced = made_traced_function(context, calls);
  const VariableHandle x = made_variable(g, {3}, 2);
  VariableHandle y;
  y.set([&](mote_variable** v) { return call(g, traced, x, x, v); });
  EXPECT_EQ(values_of(y), Reals(3, 4));
  calls.status = MOTE_FAILED;
  mote_variable* gradient = nullptr;
  const mote_variable* const of[] = {y};
  const mote_variable* const wrt[] = {x};
  mote_status status = mote_dynamic_backward(g, of, 1, wrt, 1, nullptr, &gradient);
  if (GetParam()) {
    ASSERT_EQ(status, MOTE_OK);
    mote_tensor* value = nullptr;
    status = mote_variable_value(gradient, &value);
    mote_variable_free(gradient);
  }
  EXPECT_EQ(status, MOTE_FAILED);
  EXPECT_NE(std::strstr(mote_last_error(), "multiply.grad: the caller's code failed"), nullptr)
      << mote_last_error();
}

/// y = tanh(tanh(x·x)), and counts its calls.
mote_status layers(void* argument, mote_dynamic* graph, const mote_variable* const* inputs,
                   std::size_t input_count, mote_variable** outputs, std::size_t output_count) {
  auto& calls = *static_cast<Calls*>(argument);
  ++calls.forward;
  EXPECT_EQ(input_count, 1U);
  EXPECT_EQ(output_count, 1U);
  if (calls.status != MOTE_OK) return calls.status;
  const CommandHandle tanh = command_of("tanh");
  const VariableHandle h = ran(graph, "tanh", {ran(graph, "mul", {inputs[0], inputs[0]})});
  const mote_variable* const last[] = {h};
  return mote_dynamic_run(graph, tanh, last, 1, nullptr, outputs, 1);
}

TEST_P(DynamicCodeC, ACheckpointGivesTheSameBitsInLessMemory) {
  const VariableHandle x = made_variable(g, {64}, 0.5);
  const mote_variable* const inputs[] = {x};
  VariableHandle plain, kept;
  plain.set([&](mote_variable** v) { return layers(&calls, g, inputs, 1, v, 1); });
  const Reals expected = values_of(gradient_of(g, plain, x));
  plain.reset();
  kept.set([&](mote_variable** v) {
    return mote_dynamic_checkpoint(g, layers, &calls, inputs, 1, v, 1);
  });
  values_of(kept);
  EXPECT_EQ(statistics_of(g).saved_bytes, 0U);
  EXPECT_EQ(values_of(gradient_of(g, kept, x)), expected);
  EXPECT_EQ(calls.forward, 2);
}

TEST_P(DynamicCodeC, ACheckpointsErrorIsTheCalls) {
  const VariableHandle x = made_variable(g, {2}, 0.5);
  const mote_variable* const inputs[] = {x};
  calls.status = MOTE_FAILED;
  mote_variable* y = nullptr;
  EXPECT_EQ(mote_dynamic_checkpoint(g, layers, &calls, inputs, 1, &y, 1), MOTE_FAILED);
  EXPECT_NE(std::strstr(mote_last_error(), "checkpoint: the caller's code failed"), nullptr)
      << mote_last_error();
  EXPECT_EQ(y, nullptr);
}

/// Adds the node to a graph of one input, and returns its value and its gradient at x.
template <typename Add>
std::pair<Reals, Reals> value_and_gradient(mote_context* context, double x, const Add& add) {
  const SymbolicHandle graph = parsed("graph g(x f32[3]) -> (x)\n  y = tensor f32[3]\n");
  const mote_symbol input = named(graph, "x"), y = named(graph, "y");
  expect(add(graph, input, y));
  mote_symbol outputs[2] = {y, MOTE_NO_SYMBOL};
  expect(mote_symbolic_gradient(graph, &y, 1, &input, 1, nullptr, &outputs[1]));
  expect(mote_symbolic_set_outputs(graph, outputs, 2));
  const ExecutableHandle run = compiled(graph, context);
  expect(mote_executable_bind(run, input, made_tensor({3}, x)));
  expect(mote_executable_run(run));
  return {output_of(run, outputs[0]), output_of(run, outputs[1])};
}

TEST_P(DynamicCodeC, ADynamicGraphIsANodeOfASymbolicOne) {
  const auto [value, gradient] =
      value_and_gradient(context, 0.5, [&](mote_symbolic* graph, mote_symbol x, mote_symbol y) {
        return mote_symbolic_call_dynamic(graph, context, "layers", layers, &calls, release_calls,
                                          &x, 1, &y, 1);
      });
  const VariableHandle x = made_variable(g, {3}, 0.5);
  const mote_variable* const inputs[] = {x};
  VariableHandle y;
  y.set([&](mote_variable** v) { return layers(&calls, g, inputs, 1, v, 1); });
  EXPECT_EQ(value, values_of(y));
  EXPECT_EQ(gradient, values_of(gradient_of(g, y, x)));
  EXPECT_EQ(calls.released, 1);
}

TEST_P(DynamicCodeC, AFunctionIsANodeOfASymbolicGraph) {
  const auto [value, gradient] =
      value_and_gradient(context, 3, [&](mote_symbolic* graph, mote_symbol x, mote_symbol y) {
        const mote_symbol pair[] = {x, x};
        return mote_symbolic_call_function(graph, function, pair, 2, &y, 1);
      });
  EXPECT_EQ(value, Reals(3, 9));
  EXPECT_EQ(gradient, Reals(3, 60));
}

}  // namespace
