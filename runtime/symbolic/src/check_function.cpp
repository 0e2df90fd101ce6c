// SPDX-License-Identifier: Apache-2.0
#include "check_function.h"

#include <algorithm>
#include <string>
#include <vector>

#include "fail.h"
#include "mote/runtime/error_under_way.h"

namespace mote {
namespace {

std::string to_string(const CountRange& range) {
  if (range.least == range.most) return std::to_string(range.least);
  if (range.most == CountRange{}.most) return "at least " + std::to_string(range.least);
  return std::to_string(range.least) + " to " + std::to_string(range.most);
}

/// Throws StatusError if there are too few or too many, or if one is left out.
void check_given(const NamedFunction& function, const char* what, const CountRange& taken,
                 std::span<const std::uint32_t> symbols) {
  check_count(function, what, taken, symbols.size());
  const auto left_out = std::ranges::find(symbols, kNoIndex);
  if (left_out != symbols.end())
    fail_graph("function " + function.name + ": expected " + to_string(taken) + " " + what +
               ", got none for number " + std::to_string(left_out - symbols.begin()));
}

/// Returns "y <- step count(x f32[])".
std::string call_text(const SymbolicGraph& graph, const NamedFunction& function,
                      std::span<const std::uint32_t> inputs,
                      std::span<const std::uint32_t> outputs) {
  const auto list = [&](std::span<const std::uint32_t> symbols) {
    std::string text;
    for (const std::uint32_t k : symbols) {
      if (!text.empty()) text += ", ";
      text +=
          k == kNoIndex ? "_" : graph.text(graph.at(k)) + " " + to_string(*graph.symbols()[k].form);
    }
    return text;
  };
  return list(outputs) + " <- " + function.name + "(" + list(inputs) + ")";
}

/// Appends the forms of the symbols. False if one is not known yet.
bool add_forms(const SymbolicGraph& graph, std::span<const std::uint32_t> symbols,
               std::vector<TensorForm>& forms) {
  for (const std::uint32_t symbol : symbols) {
    if (symbol != kNoIndex && !graph.symbols()[symbol].has_form) return false;
    forms.push_back(symbol == kNoIndex ? TensorForm() : *graph.symbols()[symbol].form);
  }
  return true;
}

}  // namespace

void check_count(const NamedFunction& function, const char* what, const CountRange& taken,
                 std::size_t count) {
  if (count < taken.least || count > taken.most)
    fail_graph("function " + function.name + ": expected " + to_string(taken) + " " + what +
               ", got " + std::to_string(count));
}

void check_function(const SymbolicGraph& graph, const NamedFunction& function,
                    std::span<const std::uint32_t> inputs, std::span<const std::uint32_t> outputs) {
  if (function.counts) {
    check_given(function, "inputs", function.counts->inputs, inputs);
    check_given(function, "outputs", function.counts->outputs, outputs);
  }
  std::vector<TensorForm> read, written;
  if (!function.check || !add_forms(graph, inputs, read) || !add_forms(graph, outputs, written))
    return;
  try {
    function.check(read, written);
  } catch (...) {
    const auto [status, what] = error_under_way();
    fail_graph("function " + function.name + ": " + what + ", in " +
                   call_text(graph, function, inputs, outputs),
               status);
  }
}

void expect_number(const char* what, const TensorForm& got, DType dtype) {
  const TensorForm expected(dtype, AxisList{});
  if (got != expected)
    throw StatusError(MOTE_INVALID, "expected an " + to_string(expected) + " for " + what +
                                        ", got " + to_string(got));
}

}  // namespace mote
