// SPDX-License-Identifier: Apache-2.0
// Tests the functions of mote/mote_rewriting.h for checkpoints with their reports and for passes by
// name with theirs, and inputs of a given form.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

#include "graphs/c_api/c_graphs.h"

namespace {

using mote::test::compiled;
using mote::test::ContextHandle;
using mote::test::ExecutableHandle;
using mote::test::expect;
using mote::test::kReal;
using mote::test::made_context;
using mote::test::made_tensor;
using mote::test::named;
using mote::test::output_of;
using mote::test::parsed;
using mote::test::SymbolicHandle;
using mote::test::text_of;

/// A chain of 16 tanh on x, with its gradient.
struct Chain {
  SymbolicHandle graph = parsed("graph chain(x f32[64]) -> (x)\n");
  mote_symbol x = named(graph, "x"), loss = x, slope = MOTE_NO_SYMBOL;

  Chain() {
    for (int k = 0; k < 16; ++k) {
      const mote_symbol before = loss;
      expect(mote_symbolic_apply(graph, "tanh", &before, 1, &loss, 1));
    }
    expect(mote_symbolic_gradient(graph, &loss, 1, &x, 1, nullptr, &slope));
    expect(mote_symbolic_set_outputs(graph, &slope, 1));
  }
  std::vector<double> run() const {
    const ContextHandle context = made_context();
    const ExecutableHandle step = compiled(graph, context);
    expect(mote_executable_bind(step, x, made_tensor({64}, 0.5)));
    expect(mote_executable_run(step));
    return output_of(step, slope);
  }
  std::size_t planned() const {
    const ContextHandle context = made_context();
    std::size_t bytes = 0;
    expect(mote_symbolic_plan(graph, nullptr, context, 0, nullptr, &bytes, nullptr));
    return bytes;
  }
};

TEST(RewritingC, ACheckpointSaysWhatItDid) {
  const Chain chain, plain;
  mote_checkpoint_options options = {};
  options.size = sizeof options;
  options.policy = MOTE_CHECKPOINT_SQUARE_ROOT;
  mote_checkpoint_report report = {};
  report.size = sizeof report;
  expect(mote_symbolic_checkpoint_with(chain.graph, &chain.loss, 1, &options, &report));
  EXPECT_EQ(report.size, sizeof report);
  EXPECT_EQ(report.forward_nodes, 16U);
  EXPECT_GT(report.copies, 0U);
  EXPECT_GT(report.segments, 1U);
  EXPECT_EQ(report.most_runs, 2U);
  // Each copy reads and writes one tensor of 64 f32.
  EXPECT_EQ(report.copied_bytes, report.copies * 2 * 64 * 4);
  EXPECT_EQ(std::string(report.text).rfind("square_root: ", 0), 0U) << report.text;
  std::size_t copies = 0;
  const Chain again;
  expect(mote_symbolic_checkpoint(again.graph, &again.loss, 1, &options, &copies));
  EXPECT_EQ(copies, report.copies);
  EXPECT_LT(chain.planned(), plain.planned());
  EXPECT_EQ(chain.run(), plain.run());
}

TEST(RewritingC, AnOlderStructOfCheckpointsIsFilled) {
  const Chain chain;
  mote_checkpoint_options options = {};
  options.size = sizeof options;
  alignas(mote_checkpoint_report) std::byte room[sizeof(mote_checkpoint_report)];
  std::memset(room, 0x5A, sizeof(room));
  const std::size_t size = offsetof(mote_checkpoint_report, segments);
  std::memcpy(room, &size, sizeof(size));
  auto* old = reinterpret_cast<mote_checkpoint_report*>(room);
  expect(mote_symbolic_checkpoint_with(chain.graph, &chain.loss, 1, &options, old));
  EXPECT_GT(old->copies, 0U);
  for (std::size_t k = size; k < sizeof(room); ++k) EXPECT_EQ(room[k], std::byte{0x5A}) << k;
}

TEST(RewritingC, ABudgetThatNothingFitsLeavesTheReport) {
  const Chain chain;
  const std::string before = text_of(chain.graph);
  mote_checkpoint_options options = {};
  options.size = sizeof options;
  options.policy = MOTE_CHECKPOINT_BUDGET;
  options.budget = 8;
  mote_checkpoint_report report = {};
  report.size = sizeof report;
  EXPECT_NE(mote_symbolic_checkpoint_with(chain.graph, &chain.loss, 1, &options, &report), MOTE_OK);
  EXPECT_EQ(report.text, nullptr);
  EXPECT_EQ(text_of(chain.graph), before);
}

std::vector<std::string> names_by(mote_status (*list)(const char**, std::size_t, std::size_t*)) {
  std::size_t count = 0;
  expect(list(nullptr, 0, &count));
  std::vector<const char*> names(count);
  expect(list(names.data(), count, &count));
  return {names.begin(), names.end()};
}

TEST(RewritingC, PassesAreListedWithWhatTheyDo) {
  const std::vector<std::string> all = names_by(mote_pass_names);
  const std::vector<std::string> usual = names_by(mote_default_passes);
  EXPECT_EQ(usual, (std::vector<std::string>{"fold", "cancel", "merge", "replace", "prune"}));
  for (const std::string& name : usual)
    EXPECT_NE(std::find(all.begin(), all.end(), name), all.end()) << name;
  const char* summary = nullptr;
  expect(mote_pass_summary("prune", &summary));
  EXPECT_STREQ(summary, "Removes nodes and symbols that no output needs.");
  EXPECT_EQ(mote_pass_summary("prun", &summary), MOTE_INVALID);
  EXPECT_NE(std::strstr(mote_last_error(), "did you mean prune?"), nullptr) << mote_last_error();
  const char* first = nullptr;
  std::size_t count = 0;
  expect(mote_default_passes(&first, 1, &count));  // there is room for one
  EXPECT_STREQ(first, "fold");
  EXPECT_EQ(count, usual.size());
}

TEST(RewritingC, PassesSayWhatTheyDid) {
  const SymbolicHandle g = parsed(
      "graph g(x f32[4]) -> (y)\n  a = tanh(x)\n  b = tanh(x)\n  y = add(a, b)\n  z = neg(x)\n");
  const char* const names[] = {"merge", "prune", "merge"};
  const char* reports = nullptr;
  mote_pass_options options = {};
  options.size = sizeof options;
  options.verify = 1;
  expect(mote_symbolic_apply_passes_with(g, names, 3, &options, &reports));
  EXPECT_STREQ(reports,
               "merge: 1 node removed\nprune: 1 node removed, 2 symbols removed\n"
               "merge: nothing\n");
  EXPECT_EQ(text_of(g).find("neg("), std::string::npos);
  expect(mote_symbolic_apply_passes_with(g, nullptr, 0, nullptr, nullptr));  // both may be NULL
}

TEST(RewritingC, TheBytesOfWhatIsComputedAheadHaveALimit) {
  const char* text = "graph g() -> (y)\n  c = constant f32[2] [1, 2]\n  y = tanh(c)\n";
  const char* const fold = "fold";
  mote_pass_options options = {};
  options.size = sizeof options;
  for (const std::size_t bytes : {std::size_t{4}, std::size_t{0}}) {
    const SymbolicHandle g = parsed(text);
    options.fold_bytes = bytes;
    const char* reports = nullptr;
    expect(mote_symbolic_apply_passes_with(g, &fold, 1, &options, &reports));
    EXPECT_STREQ(reports, bytes == 0 ? "fold: 1 node computed\n" : "fold: nothing\n");
  }
}

TEST(FormsC, AnInputHasTheFormOfAnotherSymbol) {
  const SymbolicHandle around =
      parsed("graph a(x f32[2,3], o f32[?]) -> (x)\n  t = x.permute(1, 0)\n");
  const SymbolicHandle g = parsed("graph b(x f32[2]) -> (x)\n");
  mote_symbol made[2] = {MOTE_NO_SYMBOL, MOTE_NO_SYMBOL};
  expect(mote_symbolic_input_like(g, "t", around, named(around, "t"), &made[0]));
  expect(mote_symbolic_input_like(g, "o", around, named(around, "o"), &made[1]));
  std::int64_t strides[MOTE_MAX_AXES] = {};
  expect(mote_symbolic_strides(g, made[0], strides));
  EXPECT_EQ(strides[0], 1);
  EXPECT_EQ(strides[1], 3);
  EXPECT_EQ(mote_symbolic_strides(g, made[1], strides), MOTE_INVALID);  // no shape yet
  DLDataType dtype = {};
  expect(mote_symbolic_dtype(g, made[1], &dtype));
  EXPECT_EQ(dtype.code, kReal.code);
  EXPECT_EQ(dtype.bits, kReal.bits);
  EXPECT_EQ(mote_symbolic_input_like(g, "x", around, named(around, "x"), &made[0]), MOTE_INVALID);
  mote_symbol like_itself = MOTE_NO_SYMBOL;
  expect(mote_symbolic_input_like(g, "u", g, made[0], &like_itself));
  std::size_t count = 0;
  mote_symbol inputs[4] = {};
  expect(mote_symbolic_inputs(g, inputs, 4, &count));
  ASSERT_EQ(count, 4U);
  std::vector<std::string> names;
  for (const mote_symbol input : inputs) {
    const char* name = nullptr;
    expect(mote_symbolic_name(g, input, &name));
    names.emplace_back(name);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"x", "t", "o", "u"}));
  mote_symbol unnamed = MOTE_NO_SYMBOL;
  expect(mote_symbolic_apply(g, "neg", inputs, 1, &unnamed, 1));
  const char* name = nullptr;
  expect(mote_symbolic_name(g, unnamed, &name));
  EXPECT_STREQ(name, "");
}

TEST(FormsC, ALoopTakesAnInputWithStrides) {
  const SymbolicHandle g = parsed("graph g(y f32[2], w f32[2,3]) -> (y)\n");
  const mote_symbol w = named(g, "w");
  mote_symbol column = MOTE_NO_SYMBOL;
  expect(mote_symbolic_select(g, w, 1, 2, &column));
  SymbolicHandle body = parsed("graph step(y f32[2]) -> (y)\n");
  mote_symbol inside[2] = {named(body, "y"), MOTE_NO_SYMBOL}, next = MOTE_NO_SYMBOL;
  expect(mote_symbolic_input_like(body, "c", g, column, &inside[1]));
  expect(mote_symbolic_apply(body, "add", inside, 2, &next, 1));
  mote_symbol going = MOTE_NO_SYMBOL;
  const std::int64_t none[1] = {0};
  expect(mote_symbolic_input(body, "i", DLDataType{kDLInt, 64, 1}, 0, none, &going));
  mote_symbol limit = MOTE_NO_SYMBOL;
  mote_tensor* value = nullptr;
  expect(mote_tensor_create(DLDataType{kDLInt, 64, 1}, 0, none, &value));
  expect(mote_tensor_fill_integer(value, 3));
  expect(mote_symbolic_constant(body, "n", value, &limit));
  mote_tensor_free(value);
  const mote_symbol difference[] = {limit, going};
  mote_symbol left = MOTE_NO_SYMBOL;
  expect(mote_symbolic_apply(body, "sub", difference, 2, &left, 1));
  const mote_symbol outputs[] = {next, left};
  expect(mote_symbolic_set_outputs(body, outputs, 2));
  mote_while_options options = {};
  options.size = sizeof options;
  options.has_counter = 1;
  const mote_symbol given[] = {named(g, "y"), column};
  mote_symbol end = MOTE_NO_SYMBOL;
  expect(mote_symbolic_add_while(g, body, given, 2, &options, &end, 1));
  expect(mote_symbolic_set_outputs(g, &end, 1));
  const ContextHandle context = made_context();
  const ExecutableHandle run = compiled(g, context);
  expect(mote_executable_bind(run, given[0], made_tensor({2}, 1)));
  expect(mote_executable_bind(run, w, made_tensor({2, 3}, 2)));
  expect(mote_executable_run(run));
  EXPECT_EQ(output_of(run, end), (std::vector<double>{7, 7}));
}

}  // namespace
