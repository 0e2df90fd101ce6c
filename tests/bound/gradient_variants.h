// SPDX-License-Identifier: Apache-2.0
// Gradients, and a few ops, in float as libraries write them: correct formulas that differ from the
// catalogue's. Each computes one output from the op's inputs, in the program's order. A formula
// leaves the list only with a derivation that it is not correct.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "mote/uops/evaluate.h"
#include "variant_parts.h"

namespace mote::test {

struct GradientProblem {
  std::int64_t rows = 0;     ///< R or K of the op
  std::int64_t columns = 0;  ///< N or L of the op
  std::vector<Floats> inputs;
};
/// Stand for the problem's sizes: its rows, its columns, or every second column.
inline constexpr std::int64_t kRows = -1, kColumns = -2, kHalfColumns = -3;

struct GradientVariant {
  std::string output;
  std::string name;
  std::function<Floats(const GradientProblem&)> run;
  /// True if it makes NaN from infinities or NaN where the definition does not.
  bool finite_only = false;
};

struct GradientVariants {
  std::string op;
  std::vector<GradientVariant> correct;
  /// The sizes of the op by name; by default R and K are rows, N and L columns, all others 1.
  std::map<std::string, std::int64_t> sizes = {};
  std::map<std::string, Number> params = {};
  std::int64_t most_columns = 64;
  /// Turns the drawn data into valid inputs of the op: an output of the op, or values that are not
  /// negative.
  std::function<void(GradientProblem&)> prepare = {};
};

/// Makes a variant that computes each element from the inputs at that element.
GradientVariant pointwise(std::string output, std::string name,
                          const std::function<float(Row inputs)>& f);

/// These functions return the lists by theme.
std::vector<GradientVariants> activation_gradients();
std::vector<GradientVariants> elementwise_gradients();
std::vector<GradientVariants> row_gradients();
std::vector<GradientVariants> norm_gradients();
std::vector<GradientVariants> linear_gradients();
std::vector<GradientVariants> attention_gradients();

}  // namespace mote::test
