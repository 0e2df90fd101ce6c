// SPDX-License-Identifier: Apache-2.0
// Loops over the steps of a cell that cuDNN computes as a whole: which are replaced, and what they
// give, on the fake GPU. What is right is the loop, and the error bound of the cells step by step.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "graphs/sequences/sequence_case.h"
#include "mote/oracle/graph_bound.h"
#include "mote/runtime/plugins.h"
#include "mote/runtime/status.h"
#include "mote/symbolic/compile.h"
#include "mote/symbolic/evaluate.h"
#include "mote/symbolic/gradient.h"
#include "mote/symbolic/pass.h"
#include "mote/symbolic/text.h"

namespace mote {
namespace {

using test::elements;
using Case = test::SequenceCase;
using Network = test::SequenceNetwork;
using Symbols = std::vector<TensorSymbol>;

/// The backend cudnn on the fake GPU.
Context& context() {
  static Context* const made = [] {
    for (const char* variable : {"MOTE_CUDA_DRIVER", "MOTE_CUDNN"})
      setenv(variable, MOTE_CUDA_FAKE, 1);
    std::vector<const mote_backend*> backends;
    for (const mote_backend* backend : load_backends(MOTE_CUDNN_PLUGIN, Probe::none))
      if (std::string_view(backend->name) == "cudnn") backends.push_back(backend);
    return new Context({.backends = backends});
  }();
  return *made;
}

/// Runs the pass on the graph. Returns what it says.
std::string replaced(SymbolicGraph& g, Context* with = &context()) {
  return apply_passes(g, std::vector<std::string>{"replace"},
                      {.verify = true, .context = with, .inexact = true})
      .front()
      .text;
}

Symbols outputs_of(const Sequence& s) {
  Symbols all = {s.y};
  all.insert(all.end(), s.h.begin(), s.h.end());
  all.insert(all.end(), s.c.begin(), s.c.end());
  return all;
}

using Values = std::vector<std::vector<double>>;
Values values_of(const std::vector<Tensor>& tensors) {
  Values values;
  for (const Tensor& tensor : tensors) values.push_back(elements(tensor));
  return values;
}

Values run_of(const Network& n, const Symbols& of, const CompileOptions& options) {
  Executable executable = compile(n.g, options, context());
  executable.run(n.bindings);
  Values values;
  for (const TensorSymbol symbol : of) values.push_back(elements(executable.output(symbol)));
  return values;
}

/// A network whose graph is its loops alone.
struct Looped {
  explicit Looped(const Case& c)
      : n(c), of(outputs_of(sequence(n.g, c.cell, n.x, n.weights, n.options))) {
    n.g.set_outputs(of);
  }
  Network n;
  Symbols of;
};

const char* op_of(Cell cell) {
  return cell == Cell::rnn ? "rnn_sequence" : cell == Cell::lstm ? "lstm_sequence" : "gru_sequence";
}

/// Checks the results of a case by the bound of the cells step by step, in which each kernel is one
/// that the context chooses.
void expect_in_bound(const Case& c, const Symbols& of_cells, const Network& cells,
                     const std::vector<Tensor>& results) {
  SymbolicGraph g(cells.g);
  Symbols outputs;
  for (const TensorSymbol symbol : of_cells) outputs.push_back(g.at(symbol.index));
  g.set_outputs(outputs);
  std::vector<TensorBinding> bindings;
  for (const auto& [symbol, tensor] : cells.bindings)
    bindings.emplace_back(g.at(symbol.index), tensor);
  const auto judged = judge_by_bound(g, bindings, results, context());
  if (const auto* reason = std::get_if<Reason>(&judged))
    FAIL() << to_string(c) << ": " << reason->text;
  const auto& verdict = std::get<GraphBoundVerdict>(judged);
  EXPECT_EQ(verdict.failure, std::nullopt) << to_string(c);
  EXPECT_GT(verdict.judged, 0);
  EXPECT_EQ(verdict.open, 0);
}

TEST(CudnnSequences, AreOneCommandForEachLayer) {
  for (const Cell cell : {Cell::rnn, Cell::lstm, Cell::gru})
    for (const bool has_lengths : {false, true}) {
      Case c{.cell = cell, .layers = 2};
      if (has_lengths) c.lengths = {3, 0, 9};
      Looped l(c);
      const Executable executable = compile(l.n.g, {.inexact = true}, context());
      const std::string name = std::string(op_of(cell)) + (has_lengths ? " with lengths" : "");
      const CompileReport& report = executable.report();
      EXPECT_NE(std::ranges::find(report.passes, "replace: replaced 2 by " + name),
                report.passes.end())
          << to_text(report);
      EXPECT_NE(to_json(report).find("replaced 2 by " + name), std::string::npos);
      EXPECT_FALSE(report.has_control) << to_text(report);
      EXPECT_EQ(report.nodes.size(), 2U) << to_text(report);
    }
}

/// Cases of two steps whose loops are replaced.
std::vector<Case> small_cases() {
  std::vector<Case> all;
  for (const Cell cell : {Cell::rnn, Cell::lstm, Cell::gru}) {
    const Case c{.cell = cell, .steps = 2, .rows = 2, .features = 2};
    all.push_back(c);
    all.push_back(c);
    all.back().direction = Direction::backwards;
    for (const std::vector<std::int64_t>& lengths :
         {std::vector<std::int64_t>{2, 0}, std::vector<std::int64_t>{1, 2},
          std::vector<std::int64_t>{0, 0}}) {
      all.push_back(c);
      all.back().lengths = lengths;
    }
  }
  return all;
}

TEST(CudnnSequences, GiveWhatTheStepsGiveInTheirBound) {
  for (const Case& c : small_cases()) {
    Looped loop(c);
    Network cells(c);
    const Symbols of_cells = outputs_of(test::unrolled(cells, c));
    ASSERT_TRUE(replaced(loop.n.g).starts_with("replace: replaced 1 by ")) << to_string(c);
    expect_in_bound(c, of_cells, cells,
                    evaluate(loop.n.g, loop.n.bindings, loop.of, {.context = &context()}));
  }
}

/// The fake computes each step of a sequence as it computes a cell, so that any other bit than the
/// loop's shows a row or a step that is not the right one.
TEST(CudnnSequences, GiveTheBitsOfTheLoopAtRandom) {
  std::size_t count = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const Case c = test::random_sequence(seed);
    const Looped loop(c);
    const Values expected = run_of(loop.n, loop.of, {});
    EXPECT_EQ(run_of(loop.n, loop.of, {.inexact = true}), expected) << to_string(c);
    SymbolicGraph g(loop.n.g);
    if (replaced(g) != "replace: nothing") ++count;
  }
  EXPECT_GT(count, 20U);
}

/// The text of a loop that an LSTM's row of the table does not hold as it stands.
std::string by_hand(const std::string& condition, const std::string& more = "") {
  return "graph mine(x f32[7,2,3], w f32[4,5,3], r f32[4,5,5], b f32[4,5], h f32[2,5], c f32[2,5], "
         "y f32[7,2,5]) -> (last, all)\n"
         "  steps = tensor i64[]\n  steps <- function \"step count\"(x)\n"
         "  other, all, last = while (c, y, h, w, x, r, b, steps) counter {\n"
         "    graph body(c f32[2,5], y f32[7,2,5], h f32[2,5], w f32[4,5,3], x f32[7,2,3], "
         "r f32[4,5,5], b f32[4,5], steps i64[], t i64[]) -> (c_new, y_new, h_new, more)\n"
         "      more = " +
         condition +
         "\n      now = tensor f32[2,3]\n      now <- function \"step take\"(x, t)\n"
         "      h_new, c_new = lstm_cell(now, h, c, w, r, b)\n" +
         more +
         "      y_new = tensor f32[7,2,5]\n"
         "      y_new <- function \"step put\"(y, h_new, t)\n  }\n";
}

TEST(CudnnSequences, AreFoundInLoopsThatAreMadeByHand) {
  for (const char* condition : {"sub(steps, t)", "less(t, steps)"}) {
    SymbolicGraph g = parse_graph(by_hand(condition));
    std::vector<TensorBinding> bindings;
    for (std::uint32_t k = 0; k < g.symbol_count(); ++k) {
      if (g.symbols()[k].kind != SymbolOrigin::input) continue;
      const Tensor value(DType::f32, g.form(g.at(k)).shape);
      const Tensor flat = value.reshape({value.element_count()});
      for (std::int64_t i = 0; i < flat.element_count(); ++i)
        flat.set({i}, static_cast<double>((i * 5 + k) % 11 - 5) / 7);
      bindings.emplace_back(g.at(k), value);
    }
    const auto run = [&](bool inexact) {
      Executable executable = compile(g, {.inexact = inexact}, context());
      executable.run(bindings);
      EXPECT_EQ(executable.report().has_control, !inexact) << to_text(executable.report());
      return values_of({executable.output(g.find("last")), executable.output(g.find("all"))});
    };
    EXPECT_EQ(run(true), run(false)) << condition;
  }
}

/// Python's scan counts otherwise.
TEST(CudnnSequences, AreFoundInLoopsThatGoBackwardsByHand) {
  std::string text = by_hand(
      "less(t, steps)\n      one = constant i64[] [1]\n      most = sub(steps, one)\n"
      "      k = sub(most, t)");
  for (const char* step : {"(x, t)", "h_new, t)"})
    text.replace(text.find(step), std::string_view(step).size(),
                 step[0] == '(' ? "(x, k)" : "h_new, k)");
  SymbolicGraph g = parse_graph(text);
  EXPECT_EQ(replaced(g), "replace: replaced 1 by lstm_sequence backwards, compared");
}

TEST(CudnnSequences, StayLoopsWhereTheyDoSomethingElse) {
  const auto says = [](const std::string& text) {
    SymbolicGraph g = parse_graph(text);
    return replaced(g);
  };
  const std::string good = by_hand("sub(steps, t)");
  ASSERT_NE(says(good), "replace: nothing");
  const auto changed = [&](std::string text, const std::string& from, const std::string& to) {
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
  };
  EXPECT_EQ(says(by_hand("sub(t, steps)")), "replace: nothing");
  EXPECT_EQ(says(by_hand("less(steps, t)")), "replace: nothing");
  // A function more, which may do anything.
  EXPECT_EQ(says(by_hand("sub(steps, t)",
                         "      k = tensor i64[]\n"
                         "      k <- function \"step count\"(x)\n")),
            "replace: nothing");
  EXPECT_EQ(says(changed(good, "counter {", "counter limit 7 {")), "replace: nothing");
  EXPECT_EQ(says(changed(good, "\"step count\"(x)", "\"step count\"(y)")), "replace: nothing");
  EXPECT_EQ(says(changed(good, "(now, h, c, w", "(now, c, h, w")), "replace: nothing");
  EXPECT_EQ(says(changed(good, "(y, h_new, t)", "(y, c_new, t)")), "replace: nothing");
  EXPECT_EQ(says(changed(good, "(c_new, y_new, h_new, more)", "(h_new, y_new, c_new, more)")),
            "replace: nothing");
}

TEST(CudnnSequences, StayLoopsWhereTheBackendDoesNotTakeThem) {
  const auto says = [](const Case& c, Context* with) {
    Looped l(c);
    return replaced(l.n.g, with);
  };
  Context plain;
  EXPECT_EQ(says({}, &plain), "replace: nothing");
  EXPECT_EQ(says({}, nullptr), "replace: nothing");
  EXPECT_EQ(says({.steps = 0}, &context()), "replace: nothing");
  EXPECT_EQ(says({.direction = Direction::both}, &context()),
            "replace: replaced 1 by lstm_sequence, 1 by lstm_sequence backwards");
  // Rows go backwards from their own last steps.
  const Case backwards{.direction = Direction::backwards, .lengths = {5, 0, 3}};
  EXPECT_EQ(says(backwards, &context()), "replace: nothing");
  // Without the caller's leave no result may be rounded otherwise.
  const Looped exact{Case{}};
  const Executable executable = compile(exact.n.g, {}, context());
  EXPECT_TRUE(executable.report().has_control);

  // x is the transpose of what is given, so that its steps have gaps.
  Network n{Case{}};
  const TensorSymbol other = n.g.input("other", {DType::f32, {3, 5, 4}});
  const Sequence s = lstm(n.g, n.g.permute(other, {1, 0, 2}), n.weights, n.options);
  n.g.set_outputs(outputs_of(s));
  EXPECT_EQ(replaced(n.g), "replace: nothing");
}

TEST(CudnnSequences, StayInAnExecutableOfOtherShapes) {
  const Case c{.cell = Cell::gru, .steps = 3, .lengths = {3, 1, 2}};
  const Looped first(c);
  Executable executable = compile(first.n.g, {.inexact = true}, context());
  for (const std::int64_t steps : {3, 6}) {
    Case other = c;
    other.steps = steps;
    other.rows = steps;
    other.lengths.assign(static_cast<std::size_t>(steps), 2);
    const Looped now(other);
    for (const auto& [symbol, tensor] : now.n.bindings)
      executable.bind(first.n.g.find(now.n.g.text(symbol)), tensor);
    executable.run();
    EXPECT_FALSE(executable.report().has_control);
    Values got;
    for (const TensorSymbol symbol : first.of) got.push_back(elements(executable.output(symbol)));
    EXPECT_EQ(got, run_of(now.n, now.of, {})) << steps;
  }
}

/// Replaces first, and then adds the gradients of the results from `first` to before `end` with
/// respect to all.
void expect_gradients_in_bound(const Case& c, std::size_t first, std::size_t end) {
  Looped loop(c);
  ASSERT_NE(replaced(loop.n.g), "replace: nothing") << to_string(c);
  const auto with_gradients = [&](Network& n, const Symbols& all) {
    const Symbols of(all.begin() + static_cast<std::ptrdiff_t>(first),
                     all.begin() + static_cast<std::ptrdiff_t>(end));
    const Symbols wrt = n.wrt;
    Symbols seeds;
    for (std::size_t k = 0; k < of.size(); ++k)
      seeds.push_back(n.input("seed" + std::to_string(k), n.g.form(of[k]).shape));
    return gradient(n.g, of, wrt, seeds);
  };
  const Symbols gradients = with_gradients(loop.n, loop.of);
  loop.n.g.set_outputs(gradients);
  Executable executable = compile(loop.n.g, {.without_nan = true}, context());
  executable.run(loop.n.bindings);
  const auto& nodes = executable.report().nodes;
  EXPECT_TRUE(std::ranges::any_of(nodes, [&](const CompiledNode& node) {
    return node.text.find(std::string(op_of(c.cell)) + ".grad(") != std::string::npos;
  })) << to_text(executable.report());
  std::vector<Tensor> results;
  for (const TensorSymbol symbol : gradients) results.push_back(clone(executable.output(symbol)));
  Network cells(c);
  const Symbols of_cells = outputs_of(test::unrolled(cells, c));
  expect_in_bound(c, with_gradients(cells, of_cells), cells, results);
}

TEST(CudnnSequences, HaveTheGradientsOfTheStepsInTheirBound) {
  for (const Case& c : small_cases()) {
    const std::size_t results = Looped(c).of.size();
    expect_gradients_in_bound(c, 0, results);
    expect_gradients_in_bound(c, 0, 1);
    expect_gradients_in_bound(c, results - 1, results);
  }
}

TEST(CudnnSequences, NeedTheCallersLeaveForKernelsThatPromiseNothingOfInfinities) {
  Looped loop{Case{}};
  ASSERT_NE(replaced(loop.n.g), "replace: nothing");
  loop.n.g.set_outputs(gradient(loop.n.g, {loop.of[0]}, {loop.n.x}));
  try {
    compile(loop.n.g, {}, context());
    FAIL() << "no error";
  } catch (const StatusError& e) {
    EXPECT_NE(std::string(e.what()).find("lstm_sequence.grad"), std::string::npos) << e.what();
  }
}

/// The loop of a graph with its gradient keeps values on a tape: it does more than the row says.
TEST(CudnnSequences, StayLoopsThatKeepValuesForTheirGradients) {
  const Case c{.steps = 3};
  Looped loop(c);
  const Symbols gradients = gradient(loop.n.g, Symbols{loop.of[0]}, loop.n.wrt);
  loop.n.g.set_outputs(gradients);
  EXPECT_EQ(replaced(loop.n.g), "replace: nothing");
}

}  // namespace
}  // namespace mote
