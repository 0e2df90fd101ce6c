// SPDX-License-Identifier: Apache-2.0
// The functions that graph text may call: tapes and steps of sequences. Whatever they are given is
// an error in words or a call.
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "graphs/symbolic/error_of.h"
#include "mote/runtime/command.h"
#include "mote/symbolic/evaluate.h"
#include "mote/symbolic/symbolic_graph.h"
#include "mote/symbolic/text.h"

namespace mote {
namespace {

using test::error_of;

/// A function, and what it takes. `forms` are those of the inputs and, behind them, the outputs.
struct Called {
  std::string name;
  std::vector<std::string> inputs, outputs;
  bool takes_more_inputs = false, takes_more_outputs = false;
  bool last_input_may_lack = false, last_output_may_lack = false;
};

std::vector<Called> all_called() {
  const std::string token = "f64[]", number = "i64[]", x = "f32[3,2]", step = "f32[2]";
  return {{"tape push 1", {token}, {token, number}, true, false, false, true},
          {"tape count 1", {token}, {number}},
          {"tape get 1 v 0", {token, number, token}, {x}, false, false, true},
          {"tape add 1 v.1 0 1", {token, number, x, x}, {token}},
          {"tape keep 1 sqrt", {token}, {token}, true},
          {"tape take 1", {token, number}, {number}, false, true},
          {"tape reach 1 3", {token, number}, {number}, false, true},
          {"tape mark 1 3", {token, number, number}, {token}, true},
          {"step count", {x}, {number}},
          {"step zeros", {"f32[4,3,2]", step}, {"f32[4,3,2]"}},
          {"step zero state", {"f32[4,3,2]", step}, {x}},
          {"step take", {x, number}, {step}},
          {"step put", {x, step, number}, {x}},
          {"step add", {x, step, number}, {x}},
          {"step alone", {step, number, x}, {x}}};
}

/// The text of a graph that calls the function with symbols of these forms; "_" is left out.
std::string calling(const std::string& name, const std::vector<std::string>& inputs,
                    const std::vector<std::string>& outputs) {
  std::string header, given, declared, written;
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    const std::string symbol = inputs[k] == "_" ? "_" : "x" + std::to_string(k);
    given += (k == 0 ? "" : ", ") + symbol;
    if (inputs[k] != "_") header += (header.empty() ? "" : ", ") + symbol + " " + inputs[k];
  }
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    const std::string symbol = outputs[k] == "_" ? "_" : "y" + std::to_string(k);
    written += (k == 0 ? "" : ", ") + symbol;
    if (outputs[k] != "_") declared += "  " + symbol + " = tensor " + outputs[k] + "\n";
  }
  if (!written.empty()) written += " <- ";
  return "graph g(" + header + ") -> ()\n" + declared + "  " + written + "function \"" + name +
         "\"(" + given + ")\n";
}

std::string error_of_call(const std::string& name, const std::vector<std::string>& inputs,
                          const std::vector<std::string>& outputs) {
  return error_of([&] { parse_graph(calling(name, inputs, outputs)); });
}

TEST(TextFunctions, TakeWhatTheirNamesSay) {
  for (const Called& f : all_called()) EXPECT_EQ(error_of_call(f.name, f.inputs, f.outputs), "");
}

/// Calls with 0 to 7 symbols: those that the function takes, and more of the last one.
void check_counts(const Called& f, bool of_inputs) {
  const std::vector<std::string>& taken = of_inputs ? f.inputs : f.outputs;
  const bool takes_more = of_inputs ? f.takes_more_inputs : f.takes_more_outputs;
  const bool may_lack = of_inputs ? f.last_input_may_lack : f.last_output_may_lack;
  for (std::size_t count = 0; count < 8; ++count) {
    std::vector<std::string> given = taken;
    given.resize(count, taken.back());
    const std::string error = of_inputs ? error_of_call(f.name, given, f.outputs)
                                        : error_of_call(f.name, f.inputs, given);
    if (count == taken.size() || (count > taken.size() && takes_more) ||
        (count + 1 == taken.size() && may_lack)) {
      EXPECT_EQ(error, "") << f.name;
      continue;
    }
    const std::string what = of_inputs ? " inputs, got " : " outputs, got ";
    EXPECT_NE(error.find("function " + f.name + ": expected "), std::string::npos) << error;
    EXPECT_NE(error.find(what + std::to_string(count)), std::string::npos) << f.name << error;
  }
}

TEST(TextFunctions, RefuseTooFewAndTooManyInputsAndOutputs) {
  for (const Called& f : all_called()) {
    check_counts(f, true);
    check_counts(f, false);
  }
  EXPECT_NE(error_of_call("step count", {}, {"i64[]"})
                .find("function step count: expected 1 inputs, got 0"),
            std::string::npos);
}

TEST(TextFunctions, RefuseWhatIsLeftOut) {
  for (const Called& f : all_called()) {
    for (std::size_t k = 0; k < f.inputs.size(); ++k) {
      std::vector<std::string> inputs = f.inputs;
      inputs[k] = "_";
      EXPECT_NE(error_of_call(f.name, inputs, f.outputs).find("got none for number"),
                std::string::npos)
          << f.name;
    }
    for (std::size_t k = 0; k < f.outputs.size(); ++k) {
      std::vector<std::string> outputs = f.outputs;
      outputs[k] = "_";
      EXPECT_NE(error_of_call(f.name, f.inputs, outputs).find("got none for number"),
                std::string::npos)
          << f.name;
    }
  }
}

/// Each symbol whose form matters gets others. A tape keeps values of any form.
TEST(TextFunctions, RefuseOtherForms) {
  for (const Called& f : all_called()) {
    const bool is_tape = f.name.starts_with("tape");
    for (const std::string form : {"f32[]", "bool[]", "i64[1]", "i32[]", "f64[2,9]", "f32[7,5]"}) {
      for (std::size_t k = 0; k < f.inputs.size(); ++k) {
        if (f.inputs[k] == form || (is_tape && f.inputs[k].starts_with("f32"))) continue;
        if (f.name == "step count" && form != "f32[]" && form.find("[]") == std::string::npos)
          continue;
        std::vector<std::string> inputs = f.inputs;
        inputs[k] = form;
        EXPECT_NE(
            error_of_call(f.name, inputs, f.outputs).find("function " + f.name + ": expected "),
            std::string::npos)
            << calling(f.name, inputs, f.outputs);
      }
      for (std::size_t k = 0; k < f.outputs.size(); ++k) {
        if (f.outputs[k] == form || (is_tape && f.outputs[k].starts_with("f32"))) continue;
        std::vector<std::string> outputs = f.outputs;
        outputs[k] = form;
        EXPECT_NE(
            error_of_call(f.name, f.inputs, outputs).find("function " + f.name + ": expected "),
            std::string::npos)
            << calling(f.name, f.inputs, outputs);
      }
    }
  }
  EXPECT_EQ(error_of_call("step put", {"f32[3,2]", "f32[3]", "i64[]"}, {"f32[3,2]"}),
            "graph text: line 3, column 9: function step put: expected f32[2] for a step of "
            "f32[3,2], got f32[3], in y0 f32[3,2] <- step put(x0 f32[3,2], x1 f32[3], x2 i64[])");
}

TEST(TextFunctions, AFormThatIsKnownLaterIsCheckedThen) {
  SymbolicGraph g = parse_graph(calling("step count", {"f32[?]"}, {"i64[]"}));
  const TensorSymbol x = g.find("x0");
  EXPECT_NE(
      error_of([&] {
        g.set_form(x, {DType::f32, {}});
      }).find("function step count: expected a sequence, which has an axis of steps, got f32[]"),
      std::string::npos);
  g.set_form(x, {DType::f32, {4}});
  const std::vector<std::pair<TensorSymbol, TensorForm>> scalar = {{x, {DType::f32, {}}}};
  EXPECT_NE(
      error_of([&] { g.with_forms(scalar); }).find("function step count: expected a sequence"),
      std::string::npos);
}

/// The error of a graph's outputs for tokens and numbers; each input is one of the two.
std::string error_of_run(const SymbolicGraph& g, double token, std::int64_t position) {
  std::vector<TensorBinding> inputs;
  for (std::uint32_t k = 0; k < g.symbol_count(); ++k) {
    const SymbolInfo& info = g.symbols()[k];
    if (info.kind != SymbolOrigin::input) continue;
    Tensor x(info.form->dtype, info.form->shape);
    if (info.form->dtype == DType::i64)
      x.set({}, position);
    else
      fill(x, token);
    inputs.emplace_back(g.at(k), x);
  }
  return error_of([&] { evaluate(g, inputs, g.outputs()); });
}

TEST(TextFunctions, NumbersThatNoTapeHasAreErrorsWhenItRuns) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const Called& f : all_called()) {
    if (!f.name.starts_with("tape") || f.name == "tape push 1" || f.name == "tape keep 1 sqrt")
      continue;
    SymbolicGraph g = parse_graph(calling(f.name, f.inputs, f.outputs));
    g.set_outputs({g.find("y0")});
    for (const double token : {-1.0, 0.5, 1.0, 7.0, 16777217.0, 1e18, 1e300, kInfinity, -kInfinity,
                               std::numeric_limits<double>::quiet_NaN()})
      EXPECT_NE(error_of_run(g, token, 0).find("tape: "), std::string::npos) << f.name << token;
  }
}

TEST(TextFunctions, NumbersThatNoStepHasAreErrorsWhenItRuns) {
  for (const Called& f : all_called()) {
    if (!f.name.starts_with("step") || f.name == "step count" || f.name.starts_with("step zero"))
      continue;
    SymbolicGraph g = parse_graph(calling(f.name, f.inputs, f.outputs));
    g.set_outputs({g.find("y0")});
    EXPECT_EQ(error_of_run(g, 0, 2), "");
    for (const std::int64_t t :
         {std::int64_t{-1}, std::int64_t{3}, std::numeric_limits<std::int64_t>::max(),
          std::numeric_limits<std::int64_t>::min()})
      EXPECT_NE(error_of_run(g, 0, t).find("expected a step of 0 to 2, got " + std::to_string(t)),
                std::string::npos)
          << f.name;
  }
}

/// The error of what follows a push of x f32[2] and of nothing else, at position p.
std::string error_behind_push(const std::string& statements, std::int64_t position = 0) {
  const SymbolicGraph g = parse_graph(
      "graph g(none f64[], p i64[], x f32[2]) -> (y)\n"
      "  t = tensor f64[]\n  at = tensor i64[]\n  t, at <- function \"tape push 1\"(none, x)\n" +
      statements);
  return error_of_run(g, 0, position);
}

TEST(TextFunctions, WhatATapeHasIsReadInItsOwnFormAlone) {
  const auto reading = [](const std::string& form, const std::string& value) {
    return "  y = tensor " + form + "\n  y <- function \"tape get 1 v " + value + "\"(t, p)\n";
  };
  EXPECT_EQ(error_behind_push(reading("f32[2]", "0")), "");
  EXPECT_NE(error_behind_push(reading("f32[4096]", "0"))
                .find("tape: value 0 is f32[2], but f32[4096] is read"),
            std::string::npos);
  EXPECT_NE(
      error_behind_push(reading("f64[2]", "0")).find("tape: value 0 is f32[2], but f64[2] is read"),
      std::string::npos);
  EXPECT_NE(
      error_behind_push(reading("f32[2]", "5")).find("tape: expected one of 1 values, got value 5"),
      std::string::npos);
  EXPECT_NE(error_behind_push(reading("f32[2]", "0"), 3)
                .find("tape: expected an entry of 0 to 1 - 1, got 3"),
            std::string::npos);
}

TEST(TextFunctions, AListIsOneOfPushesOrOneOfCheckpoints) {
  const std::string keep = "  y = tensor f64[]\n  y <- function \"tape keep 1 2\"(t, x)\n";
  EXPECT_NE(error_behind_push(keep).find("are not the same"), std::string::npos);
  const SymbolicGraph kept = parse_graph(
      "graph g(none f64[], x f32[2]) -> (y)\n  t = tensor f64[]\n  y = tensor f64[]\n"
      "  t <- function \"tape keep 1 2\"(none, x)\n  y <- function \"tape push 1\"(t, x)\n");
  EXPECT_NE(error_of_run(kept, 0, 0).find("are not the same"), std::string::npos);
}

/// The error of what takes a state of one value that was kept before.
std::string error_behind_keep(const std::string& statements, std::int64_t end) {
  return error_of_run(
      parse_graph("graph g(none f64[], end i64[], x f32[2]) -> (y)\n  t = tensor f64[]\n"
                  "  t <- function \"tape keep 1 2\"(none, x)\n  y = tensor i64[]\n" +
                  statements),
      0, end);
}

TEST(TextFunctions, AStateIsReadInItsOwnFormAlone) {
  for (const std::string function : {"tape take 1", "tape reach 1 2", "tape reach 1 1"}) {
    const auto taking = [&](const std::string& forms) {
      std::string declared, written;
      for (std::size_t k = 0; k < forms.size(); k += 6) {
        const std::string name = "v" + std::to_string(k);
        declared += "  " + name + " = tensor " + forms.substr(k, 6) + "\n";
        written += ", " + name;
      }
      return declared + "  y" + written + " <- function \"" + function + "\"(t, end)\n";
    };
    EXPECT_EQ(error_behind_keep(taking("f32[2]"), 1), "") << function;
    EXPECT_NE(error_behind_keep(taking("f32[9]"), 1).find("is read"), std::string::npos)
        << function;
    EXPECT_NE(error_behind_keep(taking("f32[2]f32[2]"), 1).find("expected one of 1 values"),
              std::string::npos)
        << function;
    EXPECT_NE(error_behind_keep(taking("f32[2]"), 0).find("tape: expected"), std::string::npos);
    if (function != "tape take 1") {
      EXPECT_NE(error_behind_keep(taking("f32[2]"), std::numeric_limits<std::int64_t>::max())
                    .find("expected 1 to 1 iterations left, got 9223372036854775807"),
                std::string::npos);
    }
  }
}

}  // namespace
}  // namespace mote
