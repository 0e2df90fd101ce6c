// SPDX-License-Identifier: Apache-2.0
// Tests mote/mote_dynamic.h without memory: each allocation fails once, and from then on;
// MOTE_OUT_OF_MEMORY, results untouched, graphs as they were, and a retry that succeeds.
#include <gtest/gtest.h>

#include <cstdint>
#include <new>
#include <string>
#include <vector>

#include "graphs/c_api/c_dynamic.h"
#include "runtime/faults/failing_heap.h"

namespace {

using namespace mote::test;  // NOLINT(google-build-using-namespace)
using Reals = std::vector<double>;

/// A graph with two variables and what a test makes of them.
struct Subject {
  explicit Subject(mote_context* context, bool deferred = false)
      : g(made_dynamic(context, deferred)),
        x(made_variable(g, {2, 3}, 2)),
        w(made_variable(g, {3, 2}, 0.5)) {}
  DynamicHandle g;
  VariableHandle x, w, y;
};

class FailingHeapDynamicC : public testing::TestWithParam<bool> {
 protected:
  /// The text of the last error takes memory that stays.
  void SetUp() override { EXPECT_EQ(mote_symbolic_create(nullptr, nullptr), MOTE_INVALID); }

  template <typename Act, typename Check>
  void survives(const Act& act, const Check& check) {
    survive_each_allocation([&] { return Subject(context, GetParam()); }, act, check);
  }
  /// Such a command makes y.
  template <typename Act>
  void survives(const Act& act, const Reals& expected) {
    survives(act, [&](Subject& s) { EXPECT_EQ(values_of(s.y), expected); });
  }

  ContextHandle context = made_context();
  CommandHandle matmul = command_of("matmul"), neg = command_of("neg");
};
INSTANTIATE_TEST_SUITE_P(Modes, FailingHeapDynamicC, testing::Bool(),
                         [](const auto& mode) { return mode.param ? "Deferred" : "Eager"; });

TEST_P(FailingHeapDynamicC, Graphs) {
  survive_each_allocation([] { return DynamicHandle(); },
                          [&](DynamicHandle& g) { g = made_dynamic(context, GetParam()); },
                          [](DynamicHandle& g) { EXPECT_NE(g, nullptr); });
}

TEST_P(FailingHeapDynamicC, Variables) {
  survives([](Subject& s) { s.y = made_variable(s.g, {2}, 3); }, Reals(2, 3));
  survives(
      [](Subject& s) {
        s.y.set([&](mote_variable** v) { return mote_dynamic_scalar(s.g, kReal, 7, v); });
      },
      Reals(1, 7));
  survives(
      [](Subject& s) {
        const std::int64_t shape[] = {2};
        s.y.set([&](mote_variable** v) { return mote_dynamic_zeros(s.g, kReal, 1, shape, v); });
      },
      Reals(2, 0));
  survives(
      [](Subject& s) {
        s.y.set([&](mote_variable** v) { return mote_variable_select(s.x, 0, 1, v); });
      },
      Reals(3, 2));
  survives(
      [](Subject& s) { s.y.set([&](mote_variable** v) { return mote_variable_detach(s.x, v); }); },
      Reals(6, 2));
}

TEST_P(FailingHeapDynamicC, Commands) {
  survives(
      [&](Subject& s) {
        const mote_variable* const inputs[] = {s.x, s.w};
        s.y.set([&](mote_variable** v) {
          return mote_dynamic_run(s.g, matmul, inputs, 2, nullptr, v, 1);
        });
        values_of(s.y);
      },
      Reals(4, 3));
  survives(
      [&](Subject& s) {
        s.y.set([&](mote_variable** v) {
          return mote_dynamic_convert(s.g, s.x, {kDLFloat, 64, 1}, nullptr, v);
        });
      },
      Reals(6, 2));
}

/// A write that failed has not changed the variable.
TEST_P(FailingHeapDynamicC, Writes) {
  survives(
      [&](Subject& s) {
        const mote_variable* const inputs[] = {s.x};
        const Reals before = {-2};
        try {
          expect(mote_dynamic_run_to(s.g, s.x, neg, inputs, 1));
        } catch (const std::bad_alloc&) {
          std::uint64_t version = 77;
          EXPECT_EQ(mote_variable_version(s.x, &version), MOTE_OK);
          EXPECT_EQ(version, 0U);
          throw;
        }
      },
      [](Subject& s) { EXPECT_EQ(values_of(s.x), Reals(6, -2)); });
  survives([](Subject& s) { expect(mote_variable_set(s.x, made_tensor({2}, 9))); },
           [](Subject& s) { EXPECT_EQ(values_of(s.x), Reals(2, 9)); });
  survives(
      [](Subject& s) {
        VariableHandle row, value;
        row.set([&](mote_variable** v) { return mote_variable_select(s.x, 0, 1, v); });
        value = made_variable(s.g, {3}, 9);
        expect(mote_variable_assign(row, value));
        values_of(s.x);
      },
      [](Subject& s) {
        EXPECT_EQ(values_of(s.x), (Reals{2, 2, 2, 9, 9, 9}));
      });
}

TEST_P(FailingHeapDynamicC, Gradients) {
  survives(
      [&](Subject& s) {
        const VariableHandle product = ran(s.g, "matmul", {s.x, s.w});
        s.y = gradient_of(s.g, ran(s.g, "mul", {product, product}), s.x);
        values_of(s.y);
      },
      Reals(6, 6));
}

mote_status twice(void*, mote_dynamic* graph, const mote_variable* const* inputs, std::size_t,
                  mote_variable** outputs, std::size_t) {
  mote_command* add = nullptr;
  mote_status status = mote_command_parse("add", &add);
  const mote_variable* const pair[] = {inputs[0], inputs[0]};
  if (status == MOTE_OK) status = mote_dynamic_run(graph, add, pair, 2, nullptr, outputs, 1);
  mote_command_free(add);
  return status;
}

TEST_P(FailingHeapDynamicC, Checkpoints) {
  survives(
      [](Subject& s) {
        const mote_variable* const inputs[] = {s.x};
        s.y.set([&](mote_variable** v) {
          return mote_dynamic_checkpoint(s.g, twice, nullptr, inputs, 1, v, 1);
        });
        values_of(s.y);
      },
      Reals(6, 4));
}

void count_release(void* count) { ++*static_cast<int*>(count); }

mote_status fill_seven(void*, const mote_tensor* const*, std::size_t, mote_tensor* const* outputs,
                       std::size_t) {
  return mote_tensor_fill_real(outputs[0], 7);
}

/// An argument is released once for each function that was made.
TEST_P(FailingHeapDynamicC, Functions) {
  int made = 0, released = 0;
  survives(
      [&](Subject& s) {
        FunctionHandle function;
        function.set([&](mote_graph_function** f) {
          return mote_graph_function_create("fills with seven, whatever it gets", fill_seven,
                                            nullptr, &released, count_release, f);
        });
        ++made;
        const std::int64_t shape[] = {2};
        const mote_form form = {kReal, 1, shape};
        const mote_variable* const inputs[] = {s.x};
        s.y.set([&](mote_variable** v) {
          return mote_dynamic_call(s.g, function, inputs, 1, &form, v, 1);
        });
        values_of(s.y);
      },
      Reals(2, 7));
  EXPECT_EQ(released, made);
}

/// The gradient seeds[0]·inputs[0], by a command.
mote_status seed_by_input(void*, mote_dynamic* graph, const mote_variable* const* inputs,
                          std::size_t, const mote_variable* const*,
                          const mote_variable* const* seeds, std::size_t,
                          mote_variable** gradients) {
  mote_command* mul = nullptr;
  mote_status status = mote_command_parse("mul", &mul);
  const mote_variable* const both[] = {seeds[0], inputs[0]};
  if (status == MOTE_OK) status = mote_dynamic_run(graph, mul, both, 2, nullptr, gradients, 1);
  mote_command_free(mul);
  return status;
}

TEST_P(FailingHeapDynamicC, TracedFunctions) {
  int made = 0, released = 0;
  survives(
      [&](Subject& s) {
        FunctionHandle function;
        function.set([&](mote_graph_function** f) {
          return mote_graph_function_create_traced(context, "seven", fill_seven, seed_by_input,
                                                   &released, count_release, f);
        });
        ++made;
        const std::int64_t shape[] = {2, 3};
        const mote_form form = {kReal, 2, shape};
        const mote_variable* const inputs[] = {s.x};
        VariableHandle seven;
        seven.set([&](mote_variable** v) {
          return mote_dynamic_call(s.g, function, inputs, 1, &form, v, 1);
        });
        s.y = gradient_of(s.g, seven, s.x);
        values_of(s.y);
      },
      Reals(6, 2));
  EXPECT_EQ(released, made);
}

/// After a failure the functions list the same as without one.
TEST_P(FailingHeapDynamicC, StatisticsAndMemory) {
  const auto listed = [](Subject& s) {
    const mote_kept_memory* memory = nullptr;
    std::size_t count = 77;
    try {
      expect(mote_dynamic_get_memory(s.g, &memory, &count));
    } catch (const std::bad_alloc&) {
      EXPECT_EQ(memory, nullptr);
      EXPECT_EQ(count, 77U);
      throw;
    }
    std::string text;
    for (std::size_t k = 0; k < count; ++k)
      text += std::string(memory[k].form) + " " + std::to_string(memory[k].bytes) + ": " +
              memory[k].reason + "\n";
    mote_dynamic_statistics statistics = {};
    statistics.size = sizeof(statistics);
    expect(mote_dynamic_get_statistics(s.g, &statistics));
    return text + std::to_string(statistics.steps) + " steps";
  };
  std::string last;
  survive_each_allocation(
      [&] {  // x and its square have no name, so that no gradient can be asked for
        Subject s(context, GetParam());
        s.y = ran(s.g, "tanh", {ran(s.g, "mul", {s.x, s.x})});
        values_of(s.y);
        s.x = VariableHandle();
        last.clear();
        return s;
      },
      [&](Subject& s) { last = listed(s); },
      [&](Subject&) {
        EXPECT_EQ(last, "f32[2,3] 24: a variable has it\nf32[3,2] 24: a variable has it\n0 steps");
      });
}

TEST_P(FailingHeapDynamicC, StaticFunctions) {
  const SymbolicHandle graph = parsed("graph f(x f32[2,3]) -> (y)\n  y = neg(x)\n");
  survives(
      [&](Subject& s) {
        StaticFunctionHandle function;
        function.set([&](mote_static_function** f) {
          return mote_static_function_create(graph, nullptr, 0, f);
        });
        const mote_variable* const inputs[] = {s.x};
        s.y.set([&](mote_variable** v) {
          return mote_dynamic_run_static(s.g, function, inputs, 1, v, 1);
        });
        values_of(s.y);
      },
      Reals(6, -2));
}

}  // namespace
