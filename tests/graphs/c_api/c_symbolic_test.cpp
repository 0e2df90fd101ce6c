// SPDX-License-Identifier: Apache-2.0
// Tests the functions of mote/mote_graphs.h that make and rewrite symbolic graphs.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "graphs/c_api/c_graphs.h"

namespace {

using mote::test::CommandHandle;
using mote::test::compiled;
using mote::test::ContextHandle;
using mote::test::elements;
using mote::test::ExecutableHandle;
using mote::test::kMlp;
using mote::test::kReal;
using mote::test::made_context;
using mote::test::made_tensor;
using mote::test::named;
using mote::test::output_of;
using mote::test::parsed;
using mote::test::SymbolicHandle;
using mote::test::TensorHandle;
using mote::test::text_of;

std::size_t count_in(mote_symbolic* graph, const std::string& part) {
  const std::string text = text_of(graph);
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++count;
  return count;
}

TEST(SymbolicC, ATextIsReadAndWritten) {
  const SymbolicHandle graph = parsed();
  EXPECT_EQ(mote_symbolic_verify(graph), MOTE_OK) << mote_last_error();
  const std::string text = text_of(graph);
  EXPECT_EQ(text, kMlp);
  SymbolicHandle copy;
  copy.set([&](mote_symbolic** c) { return mote_symbolic_copy(graph, c); });
  EXPECT_EQ(mote_symbolic_rename(copy, named(copy, "h"), "hidden"), MOTE_OK) << mote_last_error();
  EXPECT_NE(text_of(copy), text);
  EXPECT_EQ(text_of(graph), text);  // the copy is a graph of its own
  EXPECT_EQ(named(copy, "hidden").index, named(graph, "h").index);
  std::size_t count = 0;
  EXPECT_EQ(mote_symbolic_outputs(graph, nullptr, 0, &count), MOTE_OK);
  EXPECT_EQ(count, 1U);
  mote_symbol output = MOTE_NO_SYMBOL;
  EXPECT_EQ(mote_symbolic_outputs(graph, &output, 1, &count), MOTE_OK);
  EXPECT_EQ(output.index, named(graph, "sums").index);
  DLDataType dtype = {};
  std::int32_t rank = 0;
  std::array<std::int64_t, MOTE_MAX_AXES> shape{};
  EXPECT_EQ(mote_symbolic_form(graph, named(graph, "z"), &dtype, &rank, shape.data()), MOTE_OK);
  EXPECT_EQ(dtype.bits, 32);
  EXPECT_EQ(rank, 2);
  EXPECT_EQ(shape[0], 4);
  EXPECT_EQ(shape[1], 2);
}

/// A graph that calls make: y = x + c, of which parts of p are made.
struct Views {
  SymbolicHandle graph;
  mote_symbol x{}, p{}, h{}, b{}, t{}, z{};

  Views() {
    graph.set([](mote_symbolic** g) { return mote_symbolic_create("views", g); });
    const std::int64_t two_by_three[] = {2, 3};
    const std::int64_t four_by_three[] = {4, 3};
    const std::int64_t twelve[] = {12};
    const std::int32_t swapped[] = {1, 0};
    const TensorHandle value = made_tensor({3}, 1);
    CommandHandle relu;
    relu.set([](mote_command** c) { return mote_command_parse("relu", c); });
    mote_symbol c{}, y{}, rows{}, row{}, first{}, last{}, flat{};
    expect(mote_symbolic_input(graph, "x", kReal, 2, two_by_three, &x));
    expect(mote_symbolic_constant(graph, "c", value, &c));
    const mote_symbol terms[] = {x, c};
    expect(mote_symbolic_apply(graph, "add", terms, 2, &y, 1));
    expect(mote_symbolic_tensor(graph, nullptr, kReal, 2, four_by_three, 0, &p));
    expect(mote_symbolic_slice(graph, p, 0, 0, 2, 1, &rows));
    expect(mote_symbolic_write(graph, relu, &y, 1, &rows, 1));
    expect(mote_symbolic_select(graph, p, 0, 2, &row));
    expect(mote_symbolic_select(graph, x, 0, 1, &first));
    expect(mote_symbolic_copy_to(graph, first, row));
    expect(mote_symbolic_select(graph, p, 0, 3, &last));
    expect(mote_symbolic_fill(graph, last, 7));
    expect(mote_symbolic_permute(graph, p, 2, swapped, &t));
    expect(mote_symbolic_broadcast_to(graph, row, 2, two_by_three, &b));
    expect(mote_symbolic_reshape(graph, p, 1, twelve, &flat));
    expect(mote_symbolic_convert(graph, flat, {kDLFloat, 64, 1}, &h));
    expect(mote_symbolic_tensor(graph, "z", kReal, 2, two_by_three, 1, &z));
    const mote_symbol outputs[] = {h, b, t, z};
    expect(mote_symbolic_set_outputs(graph, outputs, 4));
  }
  static void expect(mote_status status) { ASSERT_EQ(status, MOTE_OK) << mote_last_error(); }
};

TEST(SymbolicC, ViewsAreWrittenAndRead) {
  const Views views;
  ASSERT_EQ(mote_symbolic_verify(views.graph), MOTE_OK) << mote_last_error();
  const ContextHandle context = made_context();
  const ExecutableHandle run = compiled(views.graph, context);
  const TensorHandle x = made_tensor({2, 3}, 0);
  for (int k = 0; k < 6; ++k)
    static_cast<float*>(static_cast<mote_tensor*>(x)->dl.data)[k] = static_cast<float>(k - 3);
  ASSERT_EQ(mote_executable_bind(run, views.x, x), MOTE_OK) << mote_last_error();
  ASSERT_EQ(mote_executable_run(run), MOTE_OK) << mote_last_error();
  EXPECT_EQ(output_of(run, views.h), (std::vector<double>{0, 0, 0, 1, 2, 3, 0, 1, 2, 7, 7, 7}));
  EXPECT_EQ(output_of(run, views.b), (std::vector<double>{0, 1, 2, 0, 1, 2}));
  EXPECT_EQ(output_of(run, views.t), (std::vector<double>{0, 1, 0, 7, 0, 2, 1, 7, 0, 3, 2, 7}));
  EXPECT_EQ(output_of(run, views.z), (std::vector<double>{0, 0, 0, 0, 0, 0}));
}

/// The graph of y = x*x.
struct Square {
  SymbolicHandle graph = parsed("graph square(x f32[3], t f32[3]) -> (y)\n  y = mul(x, x)\n");
  mote_symbol x = named(graph, "x"), t = named(graph, "t"), y = named(graph, "y");

  /// Runs with x = 3 and t = 5.
  std::vector<double> value(mote_symbol of) const {
    const ContextHandle context = made_context();
    mote_compile_options options = {};
    options.size = sizeof(options);
    options.outputs = &of;
    options.output_count = 1;
    const ExecutableHandle run = compiled(graph, context, &options);
    const TensorHandle three = made_tensor({3}, 3), five = made_tensor({3}, 5);
    EXPECT_EQ(mote_executable_bind(run, x, three), MOTE_OK);
    EXPECT_EQ(mote_executable_bind(run, t, five), MOTE_OK);
    EXPECT_EQ(mote_executable_run(run), MOTE_OK) << mote_last_error();
    return output_of(run, of);
  }
};

TEST(SymbolicC, BothModesOfTheGradient) {
  const Square s;
  mote_symbol plain = MOTE_NO_SYMBOL, seeded = MOTE_NO_SYMBOL, change = MOTE_NO_SYMBOL;
  ASSERT_EQ(mote_symbolic_gradient(s.graph, &s.y, 1, &s.x, 1, nullptr, &plain), MOTE_OK)
      << mote_last_error();
  ASSERT_EQ(mote_symbolic_gradient(s.graph, &s.y, 1, &s.x, 1, &s.t, &seeded), MOTE_OK);
  ASSERT_EQ(mote_symbolic_jvp(s.graph, &s.y, 1, &s.x, 1, &s.t, &change), MOTE_OK)
      << mote_last_error();
  EXPECT_EQ(s.value(plain), std::vector<double>(3, 6));
  EXPECT_EQ(s.value(seeded), std::vector<double>(3, 30));
  EXPECT_EQ(s.value(change), std::vector<double>(3, 30));
}

TEST(SymbolicC, CheckpointsComputeAgain) {
  for (const int policy : {MOTE_CHECKPOINT_SQUARE_ROOT, MOTE_CHECKPOINT_BINOMIAL,
                           MOTE_CHECKPOINT_BUDGET, MOTE_CHECKPOINT_CHEAP}) {
    std::string text = "graph chain(x f32[3], t f32[3]) -> (y)\n  a0 = tanh(x)\n";
    for (int k = 1; k < 16; ++k)
      text += "  a" + std::to_string(k) + " = tanh(a" + std::to_string(k - 1) + ")\n";
    Square chain{.graph = parsed((text + "  y = tanh(a15)\n").c_str())};
    chain.x = named(chain.graph, "x");
    chain.t = named(chain.graph, "t");
    chain.y = named(chain.graph, "y");
    mote_symbol slope = MOTE_NO_SYMBOL;
    ASSERT_EQ(mote_symbolic_gradient(chain.graph, &chain.y, 1, &chain.x, 1, nullptr, &slope),
              MOTE_OK);
    ASSERT_EQ(mote_symbolic_set_outputs(chain.graph, &slope, 1), MOTE_OK);
    const std::vector<double> kept = chain.value(slope);
    const std::size_t before = count_in(chain.graph, " tanh(");
    const mote_checkpoint_options options = {sizeof(options), policy, 2, std::size_t{1} << 20};
    std::size_t copies = 1000;
    ASSERT_EQ(mote_symbolic_checkpoint(chain.graph, &chain.y, 1, &options, &copies), MOTE_OK)
        << policy << mote_last_error();
    EXPECT_EQ(count_in(chain.graph, " tanh("), before + copies) << policy;
    // It fits the budget as it is, and values that follow from x would all be there at once.
    const bool is_worth = policy != MOTE_CHECKPOINT_BUDGET && policy != MOTE_CHECKPOINT_CHEAP;
    EXPECT_EQ(copies > 0, is_worth) << policy;
    std::size_t count = 0;
    ASSERT_EQ(mote_symbolic_outputs(chain.graph, &slope, 1, &count), MOTE_OK);
    EXPECT_EQ(chain.value(slope), kept) << policy;
    EXPECT_EQ(mote_symbolic_checkpoint(chain.graph, &chain.y, 1, &options, nullptr), MOTE_OK);
  }
}

TEST(SymbolicC, PassesRunByName) {
  const SymbolicHandle graph = parsed(
      "graph twice(x f32[3]) -> (y)\n  a = tanh(x)\n  b = tanh(x)\n  c = exp(x)\n  y = add(a, "
      "b)\n");
  const char* const names[] = {"merge", "prune"};
  ASSERT_EQ(mote_symbolic_apply_passes(graph, names, 2), MOTE_OK) << mote_last_error();
  EXPECT_EQ(count_in(graph, "tanh("), 1U);
  EXPECT_EQ(count_in(graph, "exp("), 0U);
}

TEST(SymbolicC, OptionalOutputsAndInputsMayBeLeftOut) {
  SymbolicHandle graph;
  graph.set([](mote_symbolic** g) { return mote_symbolic_create("conv", g); });
  const std::int64_t image[] = {1, 2, 5, 5};
  const std::int64_t kernel[] = {3, 2, 3, 3};
  mote_symbol x{}, w{}, y{};
  ASSERT_EQ(mote_symbolic_input(graph, "x", kReal, 4, image, &x), MOTE_OK);
  ASSERT_EQ(mote_symbolic_input(graph, "w", kReal, 4, kernel, &w), MOTE_OK);
  const mote_symbol inputs[] = {x, w, MOTE_NO_SYMBOL};
  ASSERT_EQ(mote_symbolic_apply(graph, "conv2d stride0=2", inputs, 3, &y, 1), MOTE_OK)
      << mote_last_error();
  ASSERT_EQ(mote_symbolic_apply(graph, "relu", &y, 1, nullptr, 0), MOTE_OK) << mote_last_error();
  EXPECT_NE(text_of(graph).find("conv2d(x, w, _, stride0=2)"), std::string::npos) << text_of(graph);
}

}  // namespace
