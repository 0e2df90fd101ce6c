// SPDX-License-Identifier: Apache-2.0
// Tests loops and branches through mote/mote_graphs.h: powers, a branch by its index, misuse.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "graphs/c_api/c_graphs.h"

namespace {

using namespace mote::test;  // NOLINT(google-build-using-namespace)

constexpr const char* kBody =
    "graph step(x f32[2], w f32[2], c i64[]) -> (y, left)\n"
    "  n = constant i64[] [3]\n"
    "  left = sub(n, c)\n"
    "  y = mul(x, w)\n";

mote_symbol input(mote_symbolic* graph, const char* name) {
  const std::int64_t shape[] = {2};
  mote_symbol symbol = MOTE_NO_SYMBOL;
  expect(mote_symbolic_input(graph, name, kReal, 1, shape, &symbol));
  return symbol;
}

SymbolicHandle graph_of_loops() {
  SymbolicHandle graph;
  graph.set([&](mote_symbolic** g) { return mote_symbolic_create("g", g); });
  return graph;
}

/// A graph that x and w are inputs of, and the loop whose body is kBody.
struct Powers {
  SymbolicHandle graph = graph_of_loops();
  SymbolicHandle body = parsed(kBody);
  mote_symbol inputs[2] = {input(graph, "x"), input(graph, "w")};
  mote_while_options options{};
  mote_symbol y = MOTE_NO_SYMBOL;

  Powers() {
    options.size = sizeof options;
    options.has_counter = 1;
  }
  mote_status add() { return mote_symbolic_add_while(graph, body, inputs, 2, &options, &y, 1); }
  mote_symbol slope() {
    mote_symbol gradient = MOTE_NO_SYMBOL;
    expect(mote_symbolic_gradient(graph, &y, 1, &inputs[1], 1, nullptr, &gradient));
    return gradient;
  }
  /// Compiles the graph, and runs it with x and w.
  ExecutableHandle run(const ContextHandle& context, double x, double w) const {
    ExecutableHandle executable = compiled(graph, context);
    expect(mote_executable_bind(executable, inputs[0], made_tensor({2}, x)));
    expect(mote_executable_bind(executable, inputs[1], made_tensor({2}, w)));
    expect(mote_executable_run(executable));
    return executable;
  }
};

TEST(ControlC, ALoopComputesPowersAndHasAGradient) {
  Powers powers;
  expect(powers.add());
  const mote_symbol gradient = powers.slope();
  const mote_symbol outputs[] = {powers.y, gradient};
  expect(mote_symbolic_set_outputs(powers.graph, outputs, 2));
  const ContextHandle context = made_context();
  const ExecutableHandle executable = powers.run(context, 5, 2);
  EXPECT_EQ(output_of(executable, powers.y), (std::vector<double>{40, 40}));
  EXPECT_EQ(output_of(executable, gradient), (std::vector<double>{60, 60}));
}

TEST(ControlC, ALimitEndsALoop) {
  Powers powers;
  powers.options.has_limit = 1;
  powers.options.limit = 2;
  expect(powers.add());
  expect(mote_symbolic_set_outputs(powers.graph, &powers.y, 1));
  const ContextHandle context = made_context();
  const ExecutableHandle executable = compiled(powers.graph, context);
  for (const mote_symbol symbol : powers.inputs)
    expect(mote_executable_bind(executable, symbol, made_tensor({2}, 1)));
  EXPECT_EQ(mote_executable_run(executable), MOTE_FAILED);
  EXPECT_NE(std::string(mote_last_error()).find("its limit is 2"), std::string::npos)
      << mote_last_error();
}

TEST(ControlC, ABranchIsChosenByItsIndex) {
  const SymbolicHandle graph = parsed("graph g(x f32[2], k i64[]) -> (x)\n");
  const mote_symbol x = named(graph, "x");
  const SymbolicHandle doubled = parsed("graph a(x f32[2]) -> (y)\n  y = add(x, x)\n");
  const SymbolicHandle negated = parsed("graph b(x f32[2]) -> (y)\n  y = neg(x)\n");
  const mote_branch branches[] = {{doubled, &x, 1}, {negated, &x, 1}};
  mote_symbol y = MOTE_NO_SYMBOL;
  expect(mote_symbolic_add_case_of(graph, named(graph, "k"), branches, 2, &x, &y, 1));
  expect(mote_symbolic_set_outputs(graph, &y, 1));
  const ContextHandle context = made_context();
  const ExecutableHandle executable = compiled(graph, context);
  expect(mote_executable_bind(executable, x, made_tensor({2}, 3)));
  const double expected[] = {3, 6, -3};
  for (std::int64_t k = -1; k < 2; ++k) {
    TensorHandle index;
    index.set([&](mote_tensor** t) {
      return mote_tensor_create(DLDataType{kDLInt, 64, 1}, 0, nullptr, t);
    });
    expect(mote_tensor_fill_real(index, static_cast<double>(k)));
    expect(mote_executable_bind(executable, named(graph, "k"), index));
    expect(mote_executable_run(executable));
    EXPECT_EQ(output_of(executable, y), (std::vector<double>(2, expected[k + 1])));
  }
}

TEST(ControlC, MisuseIsAnErrorInWords) {
  const SymbolicHandle graph = graph_of_loops();
  const SymbolicHandle body = parsed(kBody);
  const mote_symbol inputs[] = {input(graph, "x"), input(graph, "w")};
  mote_symbol y[2] = {MOTE_NO_SYMBOL, MOTE_NO_SYMBOL};
  const auto says = [](mote_status status, const char* part) {
    EXPECT_EQ(status, MOTE_INVALID);
    EXPECT_NE(std::string(mote_last_error()).find(part), std::string::npos) << mote_last_error();
  };
  says(mote_symbolic_add_while(graph, nullptr, inputs, 2, nullptr, y, 1), "body");
  says(mote_symbolic_add_while(graph, body, nullptr, 2, nullptr, y, 1), "inputs");
  says(mote_symbolic_add_while(graph, body, inputs, 2, nullptr, y, 2), "room is for 2");
  says(mote_symbolic_add_while(graph, body, inputs, 2, nullptr, y, 1), "takes 3 inputs, got 2");
  mote_while_options options{};
  says(mote_symbolic_add_while(graph, body, inputs, 2, &options, y, 1), "size");
  says(mote_symbolic_add_case_of(graph, inputs[0], nullptr, 1, nullptr, y, 1), "branches");
  says(mote_symbolic_add_case_of(graph, inputs[0], nullptr, 0, nullptr, y, 0), "no branches");
}

TEST(ControlC, ALoopWithCheckpointsHasTheSameGradient) {
  Powers powers;
  powers.options.checkpoints = -1;
  expect(powers.add());
  const char* text = nullptr;
  expect(mote_symbolic_text(powers.graph, &text));
  EXPECT_NE(std::string(text).find("counter checkpoint sqrt {"), std::string::npos) << text;
  const mote_symbol gradient = powers.slope();
  expect(mote_symbolic_set_outputs(powers.graph, &gradient, 1));
  const ContextHandle context = made_context();
  const ExecutableHandle executable = powers.run(context, 5, 2);
  EXPECT_EQ(output_of(executable, gradient), (std::vector<double>{60, 60}));
  powers.options.checkpoints = -2;
  EXPECT_EQ(powers.add(), MOTE_INVALID);
  EXPECT_NE(std::string(mote_last_error()).find("got -2"), std::string::npos) << mote_last_error();
}

mote_symbol input_of(mote_symbolic* graph, const char* name,
                     const std::vector<std::int64_t>& shape) {
  mote_symbol symbol = MOTE_NO_SYMBOL;
  expect(mote_symbolic_input(graph, name, kReal, static_cast<std::int32_t>(shape.size()),
                             shape.data(), &symbol));
  return symbol;
}

TEST(SequenceC, IsThatOfItsCells) {
  const SymbolicHandle graph = graph_of_loops();
  const mote_symbol x = input_of(graph, "x", {2, 1, 3});
  const mote_cell_weights weights = {input_of(graph, "w", {2, 3}), input_of(graph, "r", {2, 2}),
                                     input_of(graph, "b", {2})};
  const mote_symbol start = input_of(graph, "h", {1, 2});
  mote_sequence_options options{};
  options.size = sizeof options;
  options.direction = MOTE_BACKWARDS;
  options.h = &start;
  mote_symbol y = MOTE_NO_SYMBOL, h = MOTE_NO_SYMBOL;
  expect(mote_symbolic_sequence(graph, MOTE_CELL_RNN, x, &weights, 1, &options, &y, &h, nullptr));
  // Step 1, then step 0.
  mote_symbol state = start;
  for (std::int64_t t = 1; t >= 0; --t) {
    mote_symbol step = MOTE_NO_SYMBOL;
    expect(mote_symbolic_select(graph, x, 0, t, &step));
    const mote_symbol inputs[] = {step, state, weights.w, weights.r, weights.b};
    expect(mote_symbolic_apply(graph, "rnn_cell", inputs, 5, &state, 1));
  }
  mote_symbol gradients[2] = {MOTE_NO_SYMBOL, MOTE_NO_SYMBOL};
  expect(mote_symbolic_gradient(graph, &h, 1, &weights.r, 1, nullptr, &gradients[0]));
  expect(mote_symbolic_gradient(graph, &state, 1, &weights.r, 1, nullptr, &gradients[1]));
  const mote_symbol outputs[] = {h, state, gradients[0], gradients[1], y};
  expect(mote_symbolic_set_outputs(graph, outputs, 5));
  const ContextHandle context = made_context();
  const ExecutableHandle executable = compiled(graph, context);
  expect(mote_executable_bind(executable, x, made_tensor({2, 1, 3}, 0.25)));
  expect(mote_executable_bind(executable, weights.w, made_tensor({2, 3}, -0.5)));
  expect(mote_executable_bind(executable, weights.r, made_tensor({2, 2}, 0.75)));
  expect(mote_executable_bind(executable, weights.b, made_tensor({2}, 0.125)));
  expect(mote_executable_bind(executable, start, made_tensor({1, 2}, 1)));
  expect(mote_executable_run(executable));
  EXPECT_EQ(output_of(executable, h), output_of(executable, state));
  EXPECT_EQ(output_of(executable, gradients[0]), output_of(executable, gradients[1]));
  const std::vector<double> all = output_of(executable, y);
  ASSERT_EQ(all.size(), 4U);
  EXPECT_EQ((std::vector<double>{all[0], all[1]}), output_of(executable, h));
}

TEST(SequenceC, MisuseIsAnErrorInWords) {
  const SymbolicHandle graph = graph_of_loops();
  const mote_symbol x = input_of(graph, "x", {2, 1, 3});
  const mote_cell_weights weights = {input_of(graph, "w", {2, 3}), input_of(graph, "r", {2, 2}),
                                     input_of(graph, "b", {2})};
  mote_symbol y = MOTE_NO_SYMBOL, c = MOTE_NO_SYMBOL;
  const auto says = [](mote_status status, const char* part) {
    EXPECT_EQ(status, MOTE_INVALID);
    EXPECT_NE(std::string(mote_last_error()).find(part), std::string::npos) << mote_last_error();
  };
  const auto add = [&](std::int32_t cell, const mote_sequence_options* options,
                       mote_symbol* c_end = nullptr) {
    return mote_symbolic_sequence(graph, cell, x, &weights, 1, options, &y, nullptr, c_end);
  };
  says(mote_symbolic_sequence(nullptr, 0, x, &weights, 1, nullptr, &y, nullptr, nullptr), "graph");
  says(mote_symbolic_sequence(graph, 0, x, nullptr, 1, nullptr, &y, nullptr, nullptr), "weights");
  says(mote_symbolic_sequence(graph, 0, x, &weights, 1, nullptr, nullptr, nullptr, nullptr), "y");
  says(mote_symbolic_sequence(graph, 0, x, &weights, 0, nullptr, &y, nullptr, nullptr),
       "rnn: weights: expected one set for each layer, got 0");
  says(add(3, nullptr), "there is no such cell: 3");
  says(add(MOTE_CELL_LSTM, nullptr), "lstm: weights 0, r: expected [g, H, H], got r f32[2,2]");
  says(add(MOTE_CELL_RNN, nullptr, &c), "c: expected NULL");
  mote_sequence_options options{};
  says(add(MOTE_CELL_RNN, &options), "size");
  options.size = sizeof options;
  options.direction = 3;
  says(add(MOTE_CELL_RNN, &options), "there is no such direction: 3");
  options.direction = MOTE_FORWARDS;
  options.lengths = x;
  says(add(MOTE_CELL_RNN, &options), "rnn: lengths: expected i64[1], got x f32[2,1,3]");
}

/// y[t] = h = h + x[t], over the steps of x; backwards reads them from the last.
TEST(StepsC, ALoopReadsAndWritesThem) {
  const SymbolicHandle graph = parsed("graph g(x f32[3,2], h f32[2], y f32[3,2]) -> (x)\n");
  const SymbolicHandle body = parsed(
      "graph step(h f32[2], y f32[3,2], x f32[3,2], n i64[], t i64[]) -> (h)\n  left = sub(n, "
      "t)\n");
  const mote_symbol t = named(body, "t"), h = named(body, "h");
  mote_symbol step = MOTE_NO_SYMBOL, y = MOTE_NO_SYMBOL, next = MOTE_NO_SYMBOL;
  expect(mote_symbolic_take_step(body, named(body, "x"), t, &step));
  const mote_symbol terms[] = {h, step};
  expect(mote_symbolic_apply(body, "add", terms, 2, &next, 1));
  expect(mote_symbolic_put_step(body, named(body, "y"), next, t, &y));
  expect(mote_symbolic_add_step(body, y, step, t, &y));
  const mote_symbol outputs[] = {next, y, named(body, "left")};
  expect(mote_symbolic_set_outputs(body, outputs, 3));
  const mote_symbol x = named(graph, "x");
  mote_symbol inputs[] = {named(graph, "h"), named(graph, "y"), x, MOTE_NO_SYMBOL};
  expect(mote_symbolic_count_steps(graph, x, &inputs[3]));
  mote_while_options options{};
  options.size = sizeof options;
  options.has_counter = 1;
  mote_symbol ends[2] = {MOTE_NO_SYMBOL, MOTE_NO_SYMBOL}, slope = MOTE_NO_SYMBOL;
  expect(mote_symbolic_add_while(graph, body, inputs, 4, &options, ends, 2));
  expect(mote_symbolic_gradient(graph, &ends[1], 1, &x, 1, nullptr, &slope));
  const mote_symbol asked[] = {ends[0], ends[1], slope};
  expect(mote_symbolic_set_outputs(graph, asked, 3));
  const ContextHandle context = made_context();
  const ExecutableHandle executable = compiled(graph, context);
  for (const std::int64_t steps : {3, 5}) {  // another T than that of the graph, too
    expect(mote_executable_bind(executable, x, made_tensor({steps, 2}, 2)));
    expect(mote_executable_bind(executable, inputs[0], made_tensor({2}, 10)));
    expect(mote_executable_bind(executable, inputs[1], made_tensor({steps, 2}, -1)));
    expect(mote_executable_run(executable));
    std::vector<double> sums, slopes;
    for (std::int64_t k = 0; k < steps; ++k) {
      const auto count = static_cast<double>(k);
      sums.insert(sums.end(), 2, 10 + 2 * (count + 1) + 2);
      slopes.insert(slopes.end(), 2, static_cast<double>(steps) - count + 1);
    }
    EXPECT_EQ(output_of(executable, ends[1]), sums);
    EXPECT_EQ(output_of(executable, slope), slopes);
  }
}

TEST(StepsC, MisuseIsAnErrorInWords) {
  const SymbolicHandle g = parsed("graph g(x f32[3,2], v f32[2], t i64[], s f32[]) -> (x)\n");
  const mote_symbol x = named(g, "x"), v = named(g, "v"), t = named(g, "t"), s = named(g, "s");
  mote_symbol y = {7, 7};
  const auto says = [](mote_status status, const char* part) {
    EXPECT_EQ(status, MOTE_INVALID);
    EXPECT_NE(std::string(mote_last_error()).find(part), std::string::npos) << mote_last_error();
  };
  says(mote_symbolic_take_step(nullptr, x, t, &y), "graph is NULL");
  says(mote_symbolic_take_step(g, x, t, nullptr), "y is NULL");
  says(mote_symbolic_take_step(g, s, t, &y), "expected a sequence, which has an axis of steps");
  says(mote_symbolic_take_step(g, x, v, &y), "expected an i64[] for the number of the step");
  says(mote_symbolic_take_step(g, x, MOTE_NO_SYMBOL, &y), "a symbol is missing");
  says(mote_symbolic_put_step(nullptr, x, v, t, &y), "graph is NULL");
  says(mote_symbolic_put_step(g, x, v, t, nullptr), "z is NULL");
  says(mote_symbolic_put_step(g, x, x, t, &y), "step put: expected f32[2] for a step of f32[3,2]");
  says(mote_symbolic_put_step(g, x, MOTE_NO_SYMBOL, t, &y), "a symbol is missing");
  says(mote_symbolic_add_step(nullptr, x, v, t, &y), "graph is NULL");
  says(mote_symbolic_add_step(g, x, v, t, nullptr), "z is NULL");
  says(mote_symbolic_add_step(g, x, s, t, &y), "step add: expected f32[2] for a step of f32[3,2]");
  says(mote_symbolic_count_steps(nullptr, x, &y), "graph is NULL");
  says(mote_symbolic_count_steps(g, x, nullptr), "n is NULL");
  says(mote_symbolic_count_steps(g, s, &y), "expected a sequence");
  EXPECT_EQ(y.index, 7U);
}

}  // namespace
