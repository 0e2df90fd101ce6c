// SPDX-License-Identifier: Apache-2.0
// Tests loops and branches of graphs of operations on tensors through mote/mote_concrete.h: powers,
// a loop in a loop, a branch in a loop, decisions of the caller's code, misuse.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "graphs/c_api/c_graphs.h"

namespace {

using namespace mote::test;  // NOLINT(google-build-using-namespace)

GraphHandle made_graph(mote_context* context = nullptr, std::int32_t streams = 1) {
  GraphHandle graph;
  graph.set([&](mote_graph** g) { return mote_graph_create(context, streams, g); });
  return graph;
}

CommandHandle command(const char* text) {
  CommandHandle made;
  made.set([&](mote_command** c) { return mote_command_parse(text, c); });
  return made;
}

TensorHandle made_integer(double value) {
  TensorHandle made;
  made.set([](mote_tensor** t) {
    return mote_tensor_create(DLDataType{kDLInt, 64, 1}, 0, nullptr, t);
  });
  expect(mote_tensor_fill_real(made, value));
  return made;
}

void add(mote_graph* graph, const char* text, std::vector<const mote_tensor*> inputs,
         mote_tensor* output) {
  const CommandHandle what = command(text);
  expect(mote_graph_add(graph, what, inputs.data(), inputs.size(), &output, 1, nullptr));
}

/// Goes on as long as the number of the innermost loop's iteration is below this one.
mote_status is_below(void* argument, const std::int64_t* counters, std::size_t count,
                     std::int64_t* decision) {
  *decision = counters[count - 1] < *static_cast<std::int64_t*>(argument) ? 1 : 0;
  return MOTE_OK;
}

mote_loop_options loop_below(std::int64_t& n) {
  mote_loop_options options{};
  options.size = sizeof options;
  options.decide = is_below;
  options.argument = &n;
  return options;
}

struct GraphControlC : testing::Test {
  TensorHandle x = made_tensor({2}, 3), y = made_tensor({2}, 1);
};

/// y becomes y·x in each iteration.
TEST_F(GraphControlC, ALoopComputesPowers) {
  for (std::int64_t n : {0, 1, 5}) {
    const GraphHandle graph = made_graph(), body = made_graph();
    add(body, "mul", {y, x}, y);
    const mote_loop_options options = loop_below(n);
    expect(mote_graph_add_while(graph, body, nullptr, 0, &options, nullptr));
    for (int run = 0; run < 2; ++run) {
      expect(mote_tensor_fill_real(y, 1));
      expect(mote_graph_run(graph));
      double power = 1;
      for (std::int64_t k = 0; k < n; ++k) power *= 3;
      EXPECT_EQ(elements(y), std::vector<double>(2, power));
    }
  }
}

TEST_F(GraphControlC, APlaceholderOfTheBodyHasTheMemoryOfOneAround) {
  const GraphHandle graph = made_graph(), body = made_graph();
  const TensorHandle inner = made_tensor({2}, 0);
  expect(mote_graph_placeholder(body, inner));
  expect(mote_graph_placeholder(graph, x));
  add(body, "mul", {y, inner}, y);
  std::int64_t n = 2;
  const mote_loop_options options = loop_below(n);
  const mote_outer_tensor link = {x, inner};
  expect(mote_graph_add_while(graph, body, &link, 1, &options, nullptr));
  expect(mote_graph_run(graph));
  EXPECT_EQ(elements(y), std::vector<double>(2, 9));
  expect(mote_graph_bind(graph, x, made_tensor({2}, 2)));
  expect(mote_tensor_fill_real(y, 1));
  expect(mote_graph_run(graph));
  EXPECT_EQ(elements(y), std::vector<double>(2, 4));
}

/// left = n - c is the condition; n and c are the body's.
TEST_F(GraphControlC, ATensorIsTheConditionAndAnotherTheCounter) {
  const GraphHandle graph = made_graph(), body = made_graph();
  const TensorHandle n = made_integer(4), c = made_integer(0), left = made_integer(0);
  add(body, "sub", {n, c}, left);
  add(body, "add", {y, x}, y);
  mote_loop_options options{};
  options.size = sizeof options;
  options.condition = left;
  options.counter = c;
  mote_graph_node node = 0;
  expect(mote_graph_add_while(graph, body, nullptr, 0, &options, &node));
  expect(mote_graph_run(graph));
  EXPECT_EQ(elements(y), std::vector<double>(2, 13));
  options.has_limit = 1;
  options.limit = 3;
  expect(mote_graph_remove(graph, node));
  expect(mote_graph_add_while(graph, body, nullptr, 0, &options, nullptr));
  EXPECT_EQ(mote_graph_run(graph), MOTE_FAILED);
  EXPECT_NE(std::string(mote_last_error()).find("its limit is 3"), std::string::npos)
      << mote_last_error();
}

/// The branch is the iteration's number; the fourth one is no branch's.
mote_status by_iteration(void* argument, const std::int64_t* counters, std::size_t count,
                         std::int64_t* decision) {
  *static_cast<std::size_t*>(argument) = count;
  *decision = counters[0] - 1;
  return MOTE_OK;
}

TEST_F(GraphControlC, ABranchIsChosenInALoop) {
  for (std::int64_t n : {1, 2, 3, 4}) {
    const GraphHandle graph = made_graph(), body = made_graph(), plus = made_graph(),
                      minus = made_graph();
    add(plus, "add", {y, x}, y);
    add(minus, "neg", {y}, y);
    const mote_graph_branch branches[] = {{plus, nullptr, 0}, {minus, nullptr, 0}};
    std::size_t loops = 7;
    mote_choice_options choice{};
    choice.size = sizeof choice;
    choice.decide = by_iteration;
    choice.argument = &loops;
    expect(mote_graph_add_case_of(body, branches, 2, &choice, nullptr));
    const mote_loop_options options = loop_below(n);
    expect(mote_graph_add_while(graph, body, nullptr, 0, &options, nullptr));
    expect(mote_tensor_fill_real(y, 1));
    if (n == 4) {
      EXPECT_EQ(mote_graph_run(graph), MOTE_INVALID);
      EXPECT_NE(std::string(mote_last_error()).find("there is no branch 2, it has 2"),
                std::string::npos)
          << mote_last_error();
      continue;
    }
    expect(mote_graph_run(graph));
    EXPECT_EQ(loops, 1U);
    EXPECT_EQ(elements(y), std::vector<double>(2, n == 1 ? 1 : n == 2 ? 4 : -4));
  }
}

/// The inner loop runs once more in each iteration of the outer one: y·x^(1 + 2 + … + n).
mote_status is_not_above_outer(void* argument, const std::int64_t* counters, std::size_t count,
                               std::int64_t* decision) {
  *static_cast<std::size_t*>(argument) = count;
  *decision = counters[1] <= counters[0] ? 1 : 0;
  return MOTE_OK;
}

TEST_F(GraphControlC, ALoopInALoopSeesBothCounters) {
  const GraphHandle graph = made_graph(), outer = made_graph(), inner = made_graph();
  add(inner, "mul", {y, x}, y);
  std::size_t loops = 0;
  mote_loop_options options{};
  options.size = sizeof options;
  options.decide = is_not_above_outer;
  options.argument = &loops;
  expect(mote_graph_add_while(outer, inner, nullptr, 0, &options, nullptr));
  std::int64_t n = 3;
  options = loop_below(n);
  expect(mote_graph_add_while(graph, outer, nullptr, 0, &options, nullptr));
  expect(mote_graph_run(graph));
  EXPECT_EQ(loops, 2U);
  EXPECT_EQ(elements(y), std::vector<double>(2, 729));  // 3^6
}

/// An index that a node before writes; find_order() sees what branches use.
TEST_F(GraphControlC, ATensorIsTheIndexAndEdgesFollowFromMemory) {
  const ContextHandle context = made_context();
  for (const std::int32_t streams : {1, 2}) {
    const GraphHandle graph = made_graph(context, streams), plus = made_graph(),
                      minus = made_graph();
    add(plus, "add", {y, x}, y);
    add(minus, "neg", {y}, y);
    const TensorHandle k = made_integer(0), index = made_integer(7);
    add(graph, "neg", {k}, index);
    const mote_graph_branch branches[] = {{plus, nullptr, 0}, {minus, nullptr, 0}};
    mote_choice_options choice{};
    choice.size = sizeof choice;
    choice.index = index;
    choice.must_run = 1;
    expect(mote_graph_add_case_of(graph, branches, 2, &choice, nullptr));
    const TensorHandle z = made_tensor({2}, 0);
    expect(mote_graph_copy(graph, y, z, nullptr));
    expect(mote_graph_find_order(graph));
    const double expected[] = {4, -1};
    for (int branch = 0; branch < 2; ++branch) {
      expect(mote_tensor_fill_real(y, 1));
      expect(mote_tensor_fill_real(k, -branch));
      expect(mote_graph_run(graph));
      EXPECT_EQ(elements(z), std::vector<double>(2, expected[branch]));
    }
    expect(mote_tensor_fill_real(k, 1));
    EXPECT_EQ(mote_graph_run(graph), MOTE_INVALID);
    EXPECT_NE(std::string(mote_last_error()).find("no branch has the index -1"), std::string::npos)
        << mote_last_error();
  }
}

mote_status fails(void*, const std::int64_t*, std::size_t, std::int64_t*) {
  return MOTE_UNSUPPORTED;
}

TEST_F(GraphControlC, MisuseIsAnErrorInWordsAndAddsNothing) {
  const GraphHandle graph = made_graph(), body = made_graph();
  add(body, "mul", {y, x}, y);
  std::int64_t n = 1;
  mote_loop_options loop = loop_below(n);
  const auto says = [](mote_status status, const char* part) {
    EXPECT_EQ(status, MOTE_INVALID);
    EXPECT_NE(std::string(mote_last_error()).find(part), std::string::npos) << mote_last_error();
  };
  says(mote_graph_add_while(nullptr, body, nullptr, 0, &loop, nullptr), "graph is NULL");
  says(mote_graph_add_while(graph, nullptr, nullptr, 0, &loop, nullptr), "body is NULL");
  says(mote_graph_add_while(graph, body, nullptr, 1, &loop, nullptr), "tensors is NULL");
  says(mote_graph_add_while(graph, body, nullptr, 0, nullptr, nullptr), "options is NULL");
  const mote_outer_tensor link = {x, x};
  says(mote_graph_add_while(graph, body, &link, 1, &loop, nullptr),
       "the inner tensor f32[2] must be a placeholder of the body");
  loop.condition = x;
  says(mote_graph_add_while(graph, body, nullptr, 0, &loop, nullptr), "got both");
  loop.decide = nullptr;
  says(mote_graph_add_while(graph, body, nullptr, 0, &loop, nullptr),
       "the condition must be a bool or an integer of one element");
  const TensorHandle other = made_integer(0);
  loop.condition = other;
  says(mote_graph_add_while(graph, body, nullptr, 0, &loop, nullptr),
       "the condition i64[] must be a tensor that a node of the body uses");
  loop = loop_below(n);
  loop.counter = other;
  says(mote_graph_add_while(graph, body, nullptr, 0, &loop, nullptr), "the counter i64[] must be");
  loop = loop_below(n);
  loop.evaluated_count = 1;
  says(mote_graph_add_while(graph, body, nullptr, 0, &loop, nullptr), "evaluated is NULL");
  loop = {};
  says(mote_graph_add_while(graph, body, nullptr, 0, &loop, nullptr), "options.size");
  mote_choice_options choice{};
  choice.size = sizeof choice;
  const mote_graph_branch branch = {body, nullptr, 0};
  says(mote_graph_add_case_of(graph, &branch, 1, &choice, nullptr), "got neither");
  choice.decide = fails;
  says(mote_graph_add_case_of(graph, nullptr, 1, &choice, nullptr), "branches is NULL");
  says(mote_graph_add_case_of(graph, &branch, 0, &choice, nullptr), "no branches");
  mote_graph_statistics statistics{};
  statistics.size = sizeof statistics;
  expect(mote_graph_get_statistics(graph, &statistics));
  EXPECT_EQ(statistics.nodes, 0U);
  expect(mote_graph_add_case_of(graph, &branch, 1, &choice, nullptr));
  EXPECT_EQ(mote_graph_run(graph), MOTE_UNSUPPORTED);
  EXPECT_NE(std::string(mote_last_error()).find("node 0 (case..of): the code that decides"),
            std::string::npos)
      << mote_last_error();
}

}  // namespace
